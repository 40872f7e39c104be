//! What a program says of itself, by frames that have names.

use std::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{Body, FrameName};

/// The last session that knows a name.
#[derive(Debug)]
pub(crate) struct Told(AtomicU32);

impl Told {
    /// None does.
    pub(crate) const fn new() -> Told {
        Told(AtomicU32::new(0))
    }

    /// Says the name, unless the session knows it.
    pub(crate) fn tell(&self, at: &mut Entered, name: FrameName<'_>) {
        let session = at.session().number;
        if self.0.load(Ordering::Relaxed) != session {
            let is_told = at.send(Body::FrameName(name));
            self.0.store(if is_told { session } else { 0 }, Ordering::Relaxed);
        }
    }
}
