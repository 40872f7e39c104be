//! When sampling begins, and when the recording ends by itself.

use std::time::Duration;

use crate::switch::Switch;
use crate::wakeup::Wakeup;

/// Both are counted from the recording's start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Nothing is sampled before.
    pub delay: Duration,
    /// Recording ends so long after the delay.
    pub duration: Option<Duration>,
}

impl Schedule {
    /// Waits for both moments; true when the recording is to end, false when it was stopped first.
    pub(crate) fn follow(&self, switch: &Switch, stop: &Wakeup) -> bool {
        if !self.delay.is_zero() {
            if stop.wait(Some(self.delay)) {
                return false;
            }
            switch.set_paused(false);
        }
        self.duration.is_some_and(|duration| !stop.wait(Some(duration)))
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.delay.is_zero() && self.duration.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn delay_then_duration() {
        let (switch, stop) = (Switch::default(), Wakeup::new().unwrap());
        switch.set_paused(true);
        assert!(Schedule { delay: SHORT, duration: Some(SHORT) }.follow(&switch, &stop));
        assert!(!switch.is_paused());
        assert!(!Schedule { delay: SHORT, duration: None }.follow(&switch, &stop));
    }

    #[test]
    fn a_stop_comes_first() {
        let (switch, stop) = (Switch::default(), Wakeup::new().unwrap());
        switch.set_paused(true);
        stop.raise();
        assert!(!Schedule { delay: LONG, duration: Some(SHORT) }.follow(&switch, &stop));
        assert!(switch.is_paused());
        assert!(!Schedule { delay: Duration::ZERO, duration: Some(LONG) }.follow(&switch, &stop));
    }
}
