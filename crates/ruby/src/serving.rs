//! For which session a machine has hooks that has not been heard from its start, or not by one recorder alone.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::Session;

use crate::terms;

/// Sessions may begin late: the process has been attached to, or its recorder may come and go.
static IS_LATE: AtomicBool = AtomicBool::new(false);

/// The session for which all that can be done has been done.
static SERVED: AtomicU32 = AtomicU32::new(0);

/// Sessions may begin late: nothing is sampled before one is [claimed](claim).
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

/// Whether the session wants objects, and the machine has not come to a safe point since it began.
pub(crate) fn is_awaited(session: &Session) -> bool {
    !serves(session) && session.header.settings().sources.of(terms::NAME).is_some()
}

/// Whether the session is over for which hooks are there.
pub(crate) fn is_over() -> bool {
    // Leaves one that is.
    phase::recording();
    IS_LATE.load(Ordering::Relaxed) && matches!(phase::current(), Phase::Off | Phase::Waiting)
}
