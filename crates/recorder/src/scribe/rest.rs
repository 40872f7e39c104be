//! When a session has been idle for so long that memory is given back.

use std::time::{Duration, Instant};

/// For so long nothing is born before memory is given back that is for what is born.
const IDLE: Duration = Duration::from_secs(20);

/// Whether there is reason to give memory back.
#[derive(Debug)]
pub(super) struct Rest {
    /// How many there were when the last one was born.
    samples: u64,
    since: Instant,
    is_taken: bool,
}

impl Rest {
    pub(super) fn new() -> Rest {
        Rest { samples: 0, since: Instant::now(), is_taken: true }
    }

    /// Whether memory is to be given back now, where there have been so many samples; once, until there are more.
    pub(super) fn is_due(&mut self, samples: u64) -> bool {
        if samples != self.samples {
            *self = Rest { samples, since: Instant::now(), is_taken: false };
        }
        let is_due = !self.is_taken && self.since.elapsed() >= IDLE;
        self.is_taken |= is_due;
        is_due
    }

    /// Until it may be due, if it may.
    pub(super) fn patience(&self) -> Option<Duration> {
        (!self.is_taken).then(|| IDLE.saturating_sub(self.since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_after_the_last_birth() {
        let mut rest = Rest::new();
        assert!(!rest.is_due(0) && rest.patience().is_none());
        assert!(!rest.is_due(5) && rest.patience().is_some());
        rest.since = Instant::now().checked_sub(2 * IDLE).unwrap();
        assert!(rest.is_due(5) && !rest.is_due(5) && rest.patience().is_none());
        assert!(!rest.is_due(6) && rest.patience().is_some());
    }
}
