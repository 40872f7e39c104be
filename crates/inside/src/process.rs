//! What a process hears of itself: that it exits, that it has been forked. \[UNSAFE\]

use std::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::phase::{self, Phase};
use lifetrace_native::{forks, linked};

/// Does what there is to do once in a process, and has `at_exit` called when it leaves by `exit`. Only the
/// first call counts.
pub fn prepare(at_exit: extern "C" fn()) {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if !PREPARED.swap(true, Ordering::Relaxed) {
        linked::take_notes();
        // SAFETY: functions of this program.
        unsafe {
            libc::atexit(at_exit);
            libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
        }
    }
}

unsafe extern "C" fn before_fork() {
    forks::before();
}

unsafe extern "C" fn after_fork() {
    forks::after();
}

/// The recorder does not follow children: the child is recorded when it says so itself.
unsafe extern "C" fn in_child() {
    forks::in_child();
    if phase::current() == Phase::Forked
        && let Some(start) = phase::claim_start()
    {
        start.finish(false);
    }
}
