//! How a program that waits is asked. \[UNSAFE\]
//!
//! Where the main thread waits in a system call nothing is made, so nobody looks. The recorder sends it a signal that is
//! ignored by whoever does not know it: the call is interrupted, as Ruby interrupts calls itself, the machine comes to a
//! safe point, and goes on waiting. A program that has something else done at that signal is not woken.

use core::ffi::c_int;
use core::ptr;

use lifetrace_agent::snapshot::is_wanted;

use super::job;
use crate::state;
use crate::symbols::function;

/// `SIGURG`, which the recorder sends.
const SIGNAL: c_int = 23;

/// `struct sigaction` of C libraries for Linux.
#[repr(C)]
struct Action {
    /// A function's address, or one of two small numbers.
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// `SIG_DFL`.
const NOTHING: usize = 0;

impl Action {
    /// With no flags: calls that are interrupted are not begun again by the system, but by the machine.
    fn of(handler: usize) -> Action {
        Action { handler, mask: [0; 16], flags: 0, restorer: 0 }
    }
}

/// From now on the signal is heard, unless somebody else has use for it.
///
/// # Safety
/// The machine is set up, and has run no Ruby code.
pub(crate) unsafe fn listen() {
    type Set = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;
    // SAFETY: libc's function has that type.
    let Some(set) = (unsafe { function::<Set>(c"sigaction") }) else { return };
    let hear: extern "C" fn(c_int) = hear;
    let (mut before, ours) = (Action::of(1), Action::of(hear as usize));
    // SAFETY: reads and writes such structures; the function may be called at any time.
    unsafe {
        if set(SIGNAL, ptr::null(), &raw mut before) == 0 && before.handler == NOTHING {
            set(SIGNAL, &raw const ours, ptr::null_mut());
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
