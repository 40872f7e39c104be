//! How a program that waits is asked. \[UNSAFE\]
//!
//! Where the main thread waits in a system call nothing is made, so nobody looks. The recorder sends it a signal that is
//! ignored by whoever does not know it: the call is interrupted, as Ruby interrupts calls itself, the machine comes to a
//! safe point, and goes on waiting. A program that has something else done at that signal is not woken.

use core::ffi::c_int;

use lifetrace_agent::snapshot::is_wanted;

use super::job;
use crate::state;
use crate::symbols::function;

/// `SIGURG`, which the recorder sends.
const SIGNAL: c_int = 23;

/// What is done with a signal: a function's address, or one of two small numbers.
type Action = usize;

/// `SIG_DFL`.
const NOTHING: Action = 0;

/// From now on the signal is heard, unless somebody else has use for it.
///
/// # Safety
/// The machine is set up, and has run no Ruby code.
pub(crate) unsafe fn listen() {
    type Set = unsafe extern "C" fn(c_int, Action) -> Action;
    // Calls that it interrupts are not begun again by the system, but by the machine.
    // SAFETY: of that type in all versions since 2.7.
    let Some(set) = (unsafe { function::<Set>(c"ruby_posix_signal") }) else { return };
    let hear: extern "C" fn(c_int) = hear;
    // SAFETY: the function may be called at any time.
    unsafe {
        let before = set(SIGNAL, hear as Action);
        if before != NOTHING {
            set(SIGNAL, before);
        }
    }
}

/// At any place of any thread.
extern "C" fn hear(_: c_int) {
    if is_wanted()
        && let Some(vm) = state::vm()
    {
        // SAFETY: it may be called in signal handlers, by the machine's own word.
        unsafe { vm.postpone(job) }
    }
}
