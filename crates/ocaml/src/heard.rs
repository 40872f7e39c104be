//! Since when the recorder may be told of the runtime, in a process that was attached to.

use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::session::{self, Session};

use crate::{attached, domains, memprof, yielding};

/// The session for which sampling has begun.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// Sampling begins for this session.
pub(crate) fn begin(session: &Session) {
    BEGUN.store(session.number, Ordering::Relaxed);
}

/// Whether the recorder may be told of the runtime: where it is heard from the program's start, or sampling has begun.
#[inline]
pub(crate) fn is_heard() -> bool {
    let has_begun = |it: &Session| BEGUN.load(Ordering::Relaxed) == it.number || has_inherited(it);
    !attached::is_attached() || session::current().is_some_and(has_begun)
}

/// A forked child goes on with what its parent has begun.
pub(crate) fn has_inherited(session: &Session) -> bool {
    let is_in_place = || memprof::is_in_place() || domains::get().is_some() && yielding::is_ours();
    session.is_of_fork && is_in_place()
}
