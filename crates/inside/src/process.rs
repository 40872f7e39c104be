//! What a process hears of itself: that it exits, that it has been forked. \[UNSAFE\]

use std::sync::OnceLock;

use lifetrace_agent::phase::{self, Phase};
use lifetrace_native::{forks, linked};

/// What a library does when.
#[derive(Clone, Copy, Debug)]
pub struct Occasions {
    /// The process leaves by `exit`. Nothing is to be waited for that another thread may never do.
    pub at_exit: extern "C" fn(),
    /// It is the child of a fork: not recorded, and with one thread.
    pub in_child: fn(),
}

static OCCASIONS: OnceLock<Occasions> = OnceLock::new();

/// Does what there is to do once in a process. Only the first call counts.
pub fn prepare(occasions: Occasions) {
    if OCCASIONS.set(occasions).is_ok() {
        linked::take_notes();
        // SAFETY: functions of this program.
        unsafe {
            libc::atexit(occasions.at_exit);
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
    if let Some(occasions) = OCCASIONS.get() {
        (occasions.in_child)();
    }
}
