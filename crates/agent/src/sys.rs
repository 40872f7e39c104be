//! The few system calls of the agent. \[UNSAFE\]
//!
//! Raw system calls where libc's wrapper would be a cancellation point: a thread that is cancelled
//! inside malloc would take our locks with it.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use lifetrace_transport::message::MonotonicNanos;

/// `CLOCK_MONOTONIC`, by the vDSO.
#[inline]
pub fn now() -> MonotonicNanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    MonotonicNanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The kernel's number of this thread, without asking the kernel: a sandbox may forbid it. libc knows
/// it, and says it in the name of the thread's clock, whose upper bits are the number's complement
/// (clock_gettime(2), `CPUCLOCK_PERTHREAD_MASK` of the kernel's posix-timers.h).
pub fn thread_os_id() -> u32 {
    const FLAG_BITS: u32 = 3;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes one clock id; the thread is the caller, and so alive.
    let known = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } == 0;
    if known { !(clock >> FLAG_BITS) as u32 } else { 0 }
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

/// Sleeps, unless a signal ends it earlier.
pub fn sleep_micros(micros: u32) {
    let time = libc::timespec {
        tv_sec: c_long::from(micros / 1_000_000),
        tv_nsec: c_long::from(micros % 1_000_000) * 1000,
    };
    // SAFETY: reads one timespec; the remaining time is not asked for.
    unsafe { libc::syscall(libc::SYS_nanosleep, &time, ptr::null::<c_void>()) };
}

/// Where this thread's `errno` is, as long as the thread lives.
pub fn errno_address() -> *mut c_int {
    // SAFETY: tells an address.
    unsafe { libc::__errno_location() }
}

/// This thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: libc's own thread-local, valid for the thread's life.
    unsafe { *errno_address() }
}

/// Puts `errno` back as the program knew it.
pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *errno_address() = value }
}

/// Fresh zeroed private memory, whole pages; `None` when there is none to be had.
pub fn map(bytes: usize) -> Option<NonNull<u8>> {
    map_with(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

/// Fresh zeroed private memory at `address`, if nothing else is there: never more than that.
pub fn map_at(address: usize, bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the flag makes the kernel refuse to disturb an existing mapping.
    let start = unsafe { libc::mmap(address as *mut c_void, bytes, READ_WRITE, flags, -1, 0) };
    let Some(start) = mapped(start) else { return false };
    if start.as_ptr() as usize == address {
        return true;
    }
    // A kernel before 4.17 takes the address for a hint.
    // SAFETY: mapped a line ago, and nobody knows it.
    unsafe { unmap(start, bytes) };
    false
}

/// The first `bytes` of the memory behind `descriptor`, shared.
pub fn map_shared(descriptor: &Descriptor, bytes: usize) -> Option<NonNull<u8>> {
    map_with(bytes, libc::MAP_SHARED, descriptor.0)
}

/// So many bytes of a file from `offset` on, which is a multiple of the page size, read-only; `None`
/// if the file has not so many.
pub fn map_file(path: &CStr, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: a C string; a fresh descriptor, closed below.
    let descriptor = unsafe {
        let opened = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
        Descriptor(c_int::try_from(opened).ok().filter(|opened| *opened >= 0)?)
    };
    let end = offset.checked_add(bytes as u64)?;
    (length(&descriptor)? >= end).then_some(())?;
    let (null, offset) = (core::ptr::null_mut(), offset as libc::off_t);
    // SAFETY: lets the kernel choose a free range.
    let start = unsafe {
        libc::mmap(null, bytes, libc::PROT_READ, libc::MAP_PRIVATE, descriptor.0, offset)
    };
    mapped(start)
}

/// Length of an open file.
fn length(file: &Descriptor) -> Option<u64> {
    // SAFETY: zero is a valid `stat`; the kernel writes to it.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        let result = libc::syscall(libc::SYS_fstat, file.0, &raw mut stat);
        (result == 0).then_some(stat.st_size as u64)
    }
}

/// Gives the memory of whole pages back; they read as zero from now on.
///
/// # Safety
/// The pages are the caller's, private and anonymous, and nobody needs what they hold.
pub unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// Gives the memory of whole shared pages back, for all who have mapped them; they read as zero.
///
/// # Safety
/// Nobody needs what they hold.
pub unsafe fn discard_shared(start: NonNull<u8>, bytes: usize) {
    // SAFETY: by this function's contract; where it is not possible, nothing happens.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_REMOVE) };
}

/// Asks for small pages only, so that a sparse region stays small.
pub fn avoid_huge_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: advice; changes no contents.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
}

/// Has the kernel zero these pages in any forked child; false on kernels before 4.14.
///
/// # Safety
/// The pages are the caller's, private and anonymous.
pub unsafe fn wipe_on_fork(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_WIPEONFORK) == 0 }
}

/// Removes a mapping.
///
/// # Safety
/// The pages are the caller's and nobody uses them any more.
pub unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: by this function's contract.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// Has [`call_at_thread_end`] arrange for `function`. Only the first call counts.
pub fn prepare_thread_ends(function: fn()) {
    unsafe extern "C" fn at_end(_value: *mut c_void) {
        let function = THREAD_END.load(Ordering::Relaxed);
        if !function.is_null() {
            // SAFETY: only functions of this type are stored there.
            unsafe { core::mem::transmute::<*mut c_void, fn()>(function)() }
        }
    }
    let first = THREAD_END.swap(function as *mut c_void, Ordering::Relaxed).is_null();
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: writes one key; the destructor is never unloaded.
    if first && unsafe { libc::pthread_key_create(&mut key, Some(at_end)) } == 0 {
        THREAD_END_KEY.store(key, Ordering::Relaxed);
    }
}

/// Has the function called when this thread ends. It is not called at the end of the process.
pub fn call_at_thread_end() {
    let key = THREAD_END_KEY.load(Ordering::Relaxed);
    if key != NO_KEY {
        // SAFETY: a key of ours; any value other than null will do.
        unsafe { libc::pthread_setspecific(key, NonNull::<c_void>::dangling().as_ptr()) };
    }
}

const NO_KEY: u32 = u32::MAX;
static THREAD_END: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static THREAD_END_KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// 64 bits that differ from process to process; 0 when the kernel has none to give.
pub fn entropy() -> u64 {
    let mut word = 0u64;
    // SAFETY: writes one word.
    unsafe { libc::syscall(libc::SYS_getrandom, &raw mut word, 8, libc::GRND_NONBLOCK) };
    word
}

/// Whether the 8 bytes at `address` can be read, found out without a fault: the kernel copies the
/// new signal mask in before it finds that the operation asked for does not exist. `None` if a sandbox
/// forbids to ask.
pub fn probe(address: u64) -> Option<bool> {
    const NO_OPERATION: c_int = -1;
    // SAFETY: an invalid operation changes no mask; the kernel checks the pointer.
    let result = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, NO_OPERATION, address, ptr::null::<c_void>(), 8)
    };
    match (result, errno()) {
        (-1, libc::EINVAL) => Some(true),
        (-1, libc::EFAULT) => Some(false),
        _ => None,
    }
}

/// Whether the 8 bytes at `address` are known to be readable.
pub fn is_readable(address: u64) -> bool {
    probe(address) == Some(true)
}

/// Where the main thread's stack may be under its present limit; `None` if it has none.
pub fn main_stack() -> Option<core::ops::Range<u64>> {
    const PAGE: u64 = 4096;
    let limit = stack_limit();
    // SAFETY: the highest thing on the stack is the name of the executed file, a C string, and a word of zero
    // bytes after it.
    let (name, length) = unsafe {
        let name = libc::getauxval(libc::AT_EXECFN);
        if name == 0 {
            return None;
        }
        (name, libc::strlen(name as *const libc::c_char) as u64)
    };
    let end = (name + length).next_multiple_of(PAGE);
    (limit < end).then(|| end - limit..end)
}

/// The present limit of the main thread's stack, in bytes.
pub fn stack_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: the kernel fills the structure, or leaves it alone.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    limit.rlim_cur
}

/// Roughly this thread's stack pointer: an address in the caller's frame or just below.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let here = 0u8;
    core::hint::black_box(&raw const here) as u64
}

/// The stack that this thread's signal handlers run on, if it has given them one.
pub fn signal_stack() -> Option<core::ops::Range<u64>> {
    // SAFETY: all-zero is a valid stack_t.
    let mut stack: libc::stack_t = unsafe { core::mem::zeroed() };
    // SAFETY: writes one stack_t.
    let asked = unsafe { libc::sigaltstack(ptr::null(), &mut stack) };
    let start = stack.ss_sp as u64;
    let used = asked == 0 && stack.ss_flags & libc::SS_DISABLE == 0;
    used.then(|| start..start + stack.ss_size as u64)
}

/// The environment is there: libc's own constructor has run.
pub fn environment_is_ready() -> bool {
    // SAFETY: reads libc's pointer.
    unsafe { !environ.is_null() }
}

/// The value of an environment variable, as it is now.
pub fn environment_variable(name: &str) -> Option<&'static [u8]> {
    environment().find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Removes the first entry that `unwanted` picks, in place. Only for when the process has a single
/// thread: before main.
pub fn remove_environment_variable(unwanted: impl Fn(&[u8]) -> bool) {
    let Some(index) = environment().position(unwanted) else { return };
    // SAFETY: `environment` has just walked these pointers up to the final null; they move down
    // by one, the null included.
    unsafe {
        let mut at = environ.add(index);
        while !(*at).is_null() {
            *at = *at.add(1);
            at = at.add(1);
        }
    }
}

/// Overwrites an environment entry with a shorter one, in place; same condition.
pub fn shorten_environment_variable(name: &str, value: impl Fn(&[u8]) -> Option<usize>) {
    let Some(old) = environment_variable(name) else { return };
    let Some(skip) = value(old) else { return };
    let start = old.as_ptr().cast_mut();
    // SAFETY: the string is the process's own writable memory; what moves is its tail and the
    // terminating zero, towards its front.
    unsafe { ptr::copy(start.add(skip), start, old.len() - skip + 1) };
}

/// A file descriptor, closed when dropped.
#[derive(Debug)]
pub struct Descriptor(c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: we opened it, within this same call chain, and nobody else knows it.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Where a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// In the file system.
    Path(&'a [u8]),
    /// In the network namespace.
    Abstract(&'a [u8]),
}

impl Address<'_> {
    /// With its length; `None` if the name is too long.
    fn encode(self) -> Option<(libc::sockaddr_un, usize)> {
        // The first byte of an abstract name is zero.
        let (name, skipped) = match self {
            Address::Path(path) => (path, 0),
            Address::Abstract(name) => (name, 1),
        };
        // SAFETY: all-zero is a valid sockaddr_un.
        let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let room = address.sun_path.get_mut(skipped..)?;
        if name.len() >= room.len() {
            return None;
        }
        for (to, from) in room.iter_mut().zip(name) {
            *to = *from as c_char;
        }
        let length = core::mem::offset_of!(libc::sockaddr_un, sun_path) + skipped + name.len();
        Some((address, length))
    }
}

/// Connects to a `SOCK_SEQPACKET` socket; every operation on it ends after `patience_millis`.
pub fn connect(address: Address<'_>, patience_millis: u64) -> Option<Descriptor> {
    let (address, length) = address.encode()?;
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: plain numbers.
    let socket = unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, kind, 0) };
    let socket = (socket >= 0).then_some(Descriptor(socket as c_int))?;
    let patience = libc::timeval {
        tv_sec: (patience_millis / 1000) as _,
        tv_usec: (patience_millis % 1000 * 1000) as _,
    };
    // SAFETY: each call reads one struct of the length given with it.
    let connected = unsafe {
        for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
            libc::setsockopt(
                socket.0,
                libc::SOL_SOCKET,
                option,
                (&raw const patience).cast(),
                size_of_val(&patience) as libc::socklen_t,
            );
        }
        libc::syscall(libc::SYS_connect, socket.0, &raw const address, length)
    };
    (connected == 0).then_some(socket)
}

/// Sends one packet; whether all of it went.
pub fn send(socket: &Descriptor, bytes: &[u8]) -> bool {
    // SAFETY: reads `bytes`.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.0,
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            ptr::null::<c_void>(),
            0,
        )
    };
    sent == bytes.len() as c_long
}

/// Receives one packet and the descriptor that must come with it; `None` on anything else.
pub fn receive(socket: &Descriptor, bytes: &mut [u8]) -> Option<(usize, Descriptor)> {
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the message describes the two buffers above.
    let received =
        unsafe { libc::syscall(libc::SYS_recvmsg, socket.0, &mut message, libc::MSG_CMSG_CLOEXEC) };
    let received = usize::try_from(received).ok()?;
    // SAFETY: the kernel filled `control` with whole headers, which these macros walk.
    let descriptor = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        Descriptor(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned())
    };
    Some((received, descriptor))
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

fn environment() -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: `environ` is null or an array of C strings that ends with a null pointer.
    let mut at = unsafe { environ };
    core::iter::from_fn(move || {
        // SAFETY: as above; `at` has not passed the final null.
        unsafe {
            if at.is_null() || (*at).is_null() {
                return None;
            }
            let entry = core::ffi::CStr::from_ptr(*at).to_bytes();
            at = at.add(1);
            Some(entry)
        }
    })
}

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

fn map_with(bytes: usize, flags: c_int, descriptor: c_int) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    mapped(unsafe { libc::mmap(ptr::null_mut(), bytes, READ_WRITE, flags, descriptor, 0) })
}

fn mapped(start: *mut c_void) -> Option<NonNull<u8>> {
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}
