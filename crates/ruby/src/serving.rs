//! For which session a machine that was attached to has hooks.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::Session;

/// The process has been attached to.
static IS_LATE: AtomicBool = AtomicBool::new(false);

/// The session for which all that can be done has been done.
static SERVED: AtomicU32 = AtomicU32::new(0);

/// The process has been attached to: nothing is sampled before a session is [claimed](claim).
pub(crate) fn begin_late() {
    IS_LATE.store(true, Ordering::Release);
}

/// What is sampled is for this session from now on; whether it was for another one before.
pub(crate) fn claim(session: &Session) -> bool {
    SERVED.swap(session.number, Ordering::Relaxed) != session.number
}

/// Whether what is sampled now is for this session: always where the machine is heard from its start. A forked child has its
/// parent's hooks.
pub(crate) fn serves(session: &Session) -> bool {
    !IS_LATE.load(Ordering::Relaxed)
        || SERVED.load(Ordering::Relaxed) == session.number
        || session.is_of_fork
}

/// Whether the session is over for which a process that was attached to had hooks.
pub(crate) fn is_over() -> bool {
    // Leaves one that is.
    phase::recording();
    IS_LATE.load(Ordering::Relaxed) && phase::current() == Phase::Off
}
