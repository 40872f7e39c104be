//! Where stacks are, and what can be read. \[UNSAFE\]

use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use super::process::ask_for_copy;
use super::{auxiliary, raw};

/// Whether the kernel is asked to copy, and not to take a signal mask.
static BY_COPYING: AtomicBool = AtomicBool::new(false);

/// From now on a probe is a copy. Valgrind takes the operands of system calls for the program's, and reports whatever lies
/// below the stack pointer; where a copy comes from is not looked at.
pub fn probe_by_copying() {
    BY_COPYING.store(true, Ordering::Relaxed);
}

/// Whether the 8 bytes at `address` can be read, found out without a fault: the kernel copies the
/// new signal mask in before it finds that the operation asked for does not exist. `None` if a sandbox
/// forbids to ask.
pub fn probe(address: u64) -> Option<bool> {
    if BY_COPYING.load(Ordering::Relaxed) {
        return ask_for_copy(address, &mut [MaybeUninit::uninit(); 8]);
    }
    const NO_OPERATION: usize = usize::MAX;
    const MASK_BYTES: usize = 8;
    let arguments = [NO_OPERATION, address as usize, 0, MASK_BYTES];
    // SAFETY: an invalid operation changes no mask; the kernel checks the pointer.
    match unsafe { raw::call(libc::SYS_rt_sigprocmask, arguments) } {
        Err(libc::EINVAL) => Some(true),
        Err(libc::EFAULT) => Some(false),
        _ => None,
    }
}

/// Whether the 8 bytes at `address` are known to be readable.
pub fn is_readable(address: u64) -> bool {
    probe(address) == Some(true)
}

/// Where the main thread's stack may be under its present limit; `None` if it has none.
pub fn main_stack() -> Option<Range<u64>> {
    const PAGE: u64 = 4096;
    let limit = stack_limit();
    let name = auxiliary(libc::AT_EXECFN)?;
    // SAFETY: the highest thing on the stack is the name of the executed file, a C string, and a word of zero
    // bytes after it.
    let length = unsafe { libc::strlen(name as *const c_char) as u64 };
    let end = (name + length).next_multiple_of(PAGE);
    (limit < end).then(|| end - limit..end)
}

/// The present limit of the main thread's stack, in bytes.
pub fn stack_limit() -> u64 {
    const THIS_PROCESS: usize = 0;
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    let (which, new) = (libc::RLIMIT_STACK as usize, 0);
    // SAFETY: the kernel fills the structure, or leaves it alone.
    let _ = unsafe {
        raw::call(libc::SYS_prlimit64, [THIS_PROCESS, which, new, &raw mut limit as usize])
    };
    limit.rlim_cur
}

/// Roughly this thread's stack pointer: an address in the caller's frame or just below.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let here = 0u8;
    core::hint::black_box(&raw const here) as u64
}

/// The stack that this thread's signal handlers run on, if it has given them one.
pub fn signal_stack() -> Option<Range<u64>> {
    // SAFETY: all-zero is a valid stack_t, and the kernel writes one.
    let stack: libc::stack_t = unsafe {
        let mut stack = core::mem::zeroed();
        raw::call(libc::SYS_sigaltstack, [0, &raw mut stack as usize]).ok()?;
        stack
    };
    let start = stack.ss_sp as u64;
    let used: c_int = stack.ss_flags & libc::SS_DISABLE;
    (used == 0).then(|| start..start + stack.ss_size as u64)
}
