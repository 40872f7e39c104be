//! A stack of our own, for callbacks of OCaml 4. \[UNSAFE\]
//!
//! OCaml 4 calls back on the program's stack, which may be nearly at its end: a program that recurses
//! until `Stack_overflow` allocates all the way. So the thunks change stacks. One is enough: callbacks
//! hold the runtime's lock, and never call back into OCaml. A thunk takes the stack by putting 0 in place of
//! its top, and puts it back; one that finds 0 stays where it is. Nobody else does so meanwhile, but a signal
//! handler, who puts back what it has found: no atomic exchange is needed.

use core::sync::atomic::{AtomicUsize, Ordering};

use lifetrace_agent::sys;

/// More than the agent's deepest path, with room for a signal handler on top.
const BYTES: usize = 256 * 1024;
const PAGE: usize = 4096;

/// The top of the stack while nobody uses it, else 0. The thunks know it.
pub(crate) static TOP: AtomicUsize = AtomicUsize::new(0);

static START: AtomicUsize = AtomicUsize::new(0);

/// Makes the stack, once; false when there is no memory for it.
pub(crate) fn prepare() -> bool {
    if START.load(Ordering::Relaxed) != 0 {
        return true;
    }
    let Some(start) = sys::map(BYTES) else { return false };
    // SAFETY: the lowest page of a fresh mapping, which nobody uses.
    unsafe { sys::protect(start, PAGE, libc::PROT_NONE) };
    START.store(start.as_ptr() as usize, Ordering::Relaxed);
    TOP.store(start.as_ptr() as usize + BYTES, Ordering::Relaxed);
    true
}

/// In the only thread of a forked child: if it is not here, nobody is.
pub(crate) fn reset_after_fork() {
    let start = START.load(Ordering::Relaxed);
    if start != 0 && !is_here() {
        TOP.store(start + BYTES, Ordering::Relaxed);
    }
}

/// Whether the caller runs on it.
pub(crate) fn is_here() -> bool {
    (sys::stack_pointer() as usize).wrapping_sub(START.load(Ordering::Relaxed)) < BYTES
        && START.load(Ordering::Relaxed) != 0
}
