//! Whether samples are taken now, in all processes of a recording.

use std::sync::atomic::{AtomicBool, Ordering};

/// The receiver tells the agents at each of its passes, at least every 20 ms; one that arrives finds
/// it as it is.
#[derive(Debug, Default)]
pub(crate) struct Switch(AtomicBool);

impl Switch {
    pub(crate) fn set_paused(&self, paused: bool) {
        self.0.store(paused, Ordering::Relaxed);
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
