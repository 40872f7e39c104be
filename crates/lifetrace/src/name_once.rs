//! Names of frames that a program gives itself, sent once a session.

use std::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{Body, FrameName};

/// Whether a name has been sent: the last session that knows it.
#[derive(Debug)]
pub(crate) struct NameOnce(AtomicU32);

impl NameOnce {
    /// No session knows it.
    pub(crate) const fn new() -> NameOnce {
        NameOnce(AtomicU32::new(0))
    }

    /// Sends the name, unless the session knows it.
    pub(crate) fn send(&self, at: &mut Entered, name: FrameName<'_>) {
        let session = at.session().number;
        if self.0.load(Ordering::Relaxed) != session {
            let is_sent = at.send(Body::FrameName(name));
            self.0.store(if is_sent { session } else { 0 }, Ordering::Relaxed);
        }
    }
}
