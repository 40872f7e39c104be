//! What libc knows of threads, and nobody else. \[UNSAFE\]
//!
//! Its functions are in another library before glibc 2.34 than since then. So they are found by name, or
//! brought by the program that the agent is linked into ([`use_functions`]). None of them waits for anybody;
//! `pthread_setspecific` may allocate.

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::raw;
use crate::{loader, room};

type KeyCreate = unsafe extern "C" fn(
    *mut libc::pthread_key_t,
    Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int;
type SetSpecific = unsafe extern "C" fn(libc::pthread_key_t, *const c_void) -> c_int;
type ThreadSelf = unsafe extern "C" fn() -> libc::pthread_t;
type ThreadClock = unsafe extern "C" fn(libc::pthread_t, *mut libc::clockid_t) -> c_int;

/// libc's functions.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// `pthread_key_create`
    pub key_create: KeyCreate,
    /// `pthread_setspecific`
    pub set_specific: SetSpecific,
    /// `pthread_self`
    pub this: ThreadSelf,
    /// `pthread_getcpuclockid`
    pub clock: ThreadClock,
}

static KEY_CREATE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static SET_SPECIFIC: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static SELF: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

const NO_KEY: u32 = u32::MAX;
static THREAD_END: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static THREAD_END_KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// To be called before a session begins, where the agent is linked into the program.
pub fn use_functions(functions: Functions) {
    KEY_CREATE.store(functions.key_create as *mut c_void, Ordering::Relaxed);
    SET_SPECIFIC.store(functions.set_specific as *mut c_void, Ordering::Relaxed);
    SELF.store(functions.this as *mut c_void, Ordering::Relaxed);
    CLOCK.store(functions.clock as *mut c_void, Ordering::Relaxed);
}

/// To be called before a session begins, by an agent that was loaded into the program.
pub(super) fn find_functions() {
    let slots = [
        (&KEY_CREATE, c"pthread_key_create"),
        (&SET_SPECIFIC, c"pthread_setspecific"),
        (&SELF, c"pthread_self"),
        (&CLOCK, c"pthread_getcpuclockid"),
    ];
    for (slot, name) in slots {
        let found = loader::symbol(name).map_or(ptr::null_mut(), NonNull::as_ptr);
        slot.store(found, Ordering::Relaxed);
    }
}

/// The function in a slot.
///
/// # Safety
/// `T` is the type of the functions that are stored there.
unsafe fn function<T>(slot: &AtomicPtr<c_void>) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    let found = NonNull::new(slot.load(Ordering::Relaxed))?;
    // SAFETY: by contract.
    Some(unsafe { core::mem::transmute_copy(&found) })
}

/// The kernel's number of this thread. libc is asked first, as a sandbox may forbid to ask the kernel: libc
/// says it in the name of the thread's clock, whose upper bits are the number's complement
/// (clock_gettime(2), `CPUCLOCK_PERTHREAD_MASK` of the kernel's posix-timers.h). 0 if it can't be known.
pub fn thread_os_id() -> u32 {
    libcs_thread_id().or_else(kernels_thread_id).unwrap_or(0)
}

fn libcs_thread_id() -> Option<u32> {
    const FLAG_BITS: u32 = 3;
    let mut id: libc::clockid_t = 0;
    // SAFETY: functions of these types; writes one clock id; the thread is the caller, and so alive.
    let known = unsafe {
        let (clock, this) = (function::<ThreadClock>(&CLOCK)?, function::<ThreadSelf>(&SELF)?);
        clock(this(), &mut id) == 0
    };
    known.then_some(!(id >> FLAG_BITS) as u32)
}

fn kernels_thread_id() -> Option<u32> {
    // SAFETY: no arguments.
    let id = || unsafe { raw::call(libc::SYS_gettid, []) };
    (!room::is_sandbox_expected()).then(id)?.ok().map(|id| id as u32)
}

/// Has [`call_at_thread_end`] arrange for `function`. Only the first call counts.
pub fn prepare_thread_ends(at_end: fn()) {
    unsafe extern "C" fn ended(_value: *mut c_void) {
        let function = THREAD_END.load(Ordering::Relaxed);
        if !function.is_null() {
            // SAFETY: only functions of this type are stored there.
            unsafe { core::mem::transmute::<*mut c_void, fn()>(function)() }
        }
    }
    let first = THREAD_END.swap(at_end as *mut c_void, Ordering::Relaxed).is_null();
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: a function of this type.
    let Some(create) = (unsafe { function::<KeyCreate>(&KEY_CREATE) }) else { return };
    // SAFETY: writes one key; the destructor is never unloaded.
    if first && unsafe { create(&mut key, Some(ended)) } == 0 {
        THREAD_END_KEY.store(key, Ordering::Relaxed);
    }
}

/// Has the function called when this thread ends. It is not called at the end of the process. libc may
/// allocate for it.
pub fn call_at_thread_end() {
    let key = THREAD_END_KEY.load(Ordering::Relaxed);
    // SAFETY: a function of this type.
    let set = unsafe { function::<SetSpecific>(&SET_SPECIFIC) };
    if let Some(set) = set.filter(|_| key != NO_KEY) {
        // SAFETY: a key of ours; any value other than null will do.
        unsafe { set(key, NonNull::<c_void>::dangling().as_ptr()) };
    }
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: no arguments.
    let _ = unsafe { raw::call(libc::SYS_sched_yield, []) };
}

/// Sleeps, unless a signal ends it earlier.
pub fn sleep_micros(micros: u32) {
    let time = libc::timespec {
        tv_sec: (micros / 1_000_000).into(),
        tv_nsec: (micros % 1_000_000 * 1000).into(),
    };
    // SAFETY: reads one timespec; the remaining time is not asked for.
    let _ = unsafe { raw::call(libc::SYS_nanosleep, [&raw const time as usize]) };
}
