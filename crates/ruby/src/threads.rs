//! When a thread has left the machine. \[UNSAFE\]
//!
//! From 3.3 on a thread that has ended still looks as if it had the machine's lock, until the operating system's thread
//! is gone; its own object may be gone before that. What it allocates in between, in destructors of thread-local
//! variables, must have no Ruby frames.

use core::ffi::c_void;

use lifetrace_agent::guard;

use crate::entry::enter;
use crate::vm::Vm;

/// `RUBY_INTERNAL_THREAD_EVENT_RESUMED`: the thread has the lock again.
const RESUMED: u32 = 1 << 2;
/// `RUBY_INTERNAL_THREAD_EVENT_EXITED`.
const EXITED: u32 = 1 << 4;

/// Watches for it, where the version needs that; false if it cannot.
///
/// # Safety
/// The machine is set up, and its lock the caller's.
pub(crate) unsafe fn watch(vm: &Vm) -> bool {
    // SAFETY: by contract.
    !vm.version().keeps_ended_threads() || unsafe { vm.watch_threads(changed, RESUMED | EXITED) }
}

/// Called on the thread itself.
unsafe extern "C" fn changed(event: u32, _: *const c_void, _: *mut c_void) {
    if event == EXITED {
        if let Some(mut entered) = enter() {
            entered.has_left_runtime = true;
        }
    } else if let Some(mut entered) = guard::try_enter_fast() {
        // The operating system's thread may serve another one of the machine's. One that we do not know has left nothing.
        entered.has_left_runtime = false;
    }
}
