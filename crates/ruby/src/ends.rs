//! What is done at a program's end. \[UNSAFE\]

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::host;

use crate::snapshot;
use crate::vm::{Value, Vm};

/// The machine will call [`leave`].
static LEAVES: AtomicBool = AtomicBool::new(false);

/// Has the machine call [`leave`] at the program's end; what is to be done before that asks for it later.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks.
pub(crate) unsafe fn leave_at_end(vm: &Vm) {
    if !LEAVES.swap(true, Ordering::Relaxed) {
        // SAFETY: by contract.
        unsafe { vm.at_end(leave) }
    }
}

/// At the program's end the machine gives its heap back, and with it all pointers to what it has from malloc: who looks
/// for them has to come before.
unsafe extern "C" fn leave(_: Value) {
    // SAFETY: the procedure has the lock, and there is no reference to the state.
    unsafe { snapshot::at_exit() }
    host::say_farewell();
}
