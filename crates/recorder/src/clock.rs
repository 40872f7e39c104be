//! The agents' clock and the trace's.

use std::time::Duration;

use lifetrace_trace::ids::Timestamp;
use lifetrace_transport::message::MonotonicNanos;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// One moment on both clocks. All of a recording's times go through the same anchor, so that a step
/// of the wall clock cannot disorder a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    monotonic: MonotonicNanos,
    wall_nanos: u64,
}

impl Anchor {
    pub(crate) fn now() -> Anchor {
        Anchor { monotonic: monotonic_now(), wall_nanos: nanos(clock_gettime(ClockId::Realtime)) }
    }

    pub(crate) fn wall(&self, time: MonotonicNanos) -> Timestamp {
        let wall = i128::from(self.wall_nanos) + i128::from(time.0) - i128::from(self.monotonic.0);
        Timestamp((wall / 1000).try_into().unwrap_or(0))
    }
}

/// The wall clock, which may be set forward and back while a trace's own goes on.
#[derive(Debug)]
pub(crate) struct WallClock {
    anchor: Anchor,
    /// By how much it was ahead of the trace's clock when that was last written, in microseconds.
    written: Option<i64>,
}

/// Differences below this are not written, in microseconds.
const WORTH_WRITING: u64 = 100_000;

impl WallClock {
    pub(crate) fn new(anchor: Anchor) -> WallClock {
        WallClock { anchor, written: None }
    }

    /// What it shows now, if that was never written or it has been set meanwhile.
    pub(crate) fn news(&mut self) -> Option<(MonotonicNanos, Timestamp)> {
        let (now, wall) = (monotonic_now(), nanos(clock_gettime(ClockId::Realtime)) / 1000);
        let ahead = wall.wrapping_sub(self.anchor.wall(now).0) as i64;
        let is_known = self.written.is_some_and(|written| written.abs_diff(ahead) < WORTH_WRITING);
        if is_known {
            return None;
        }
        self.written = Some(ahead);
        Some((now, Timestamp(wall)))
    }
}

/// `delay` later.
pub(crate) fn after(time: MonotonicNanos, delay: Duration) -> MonotonicNanos {
    let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    MonotonicNanos(time.0.saturating_add(nanos))
}

/// The clock that agents put into their messages.
pub(crate) fn monotonic_now() -> MonotonicNanos {
    MonotonicNanos(nanos(clock_gettime(ClockId::Monotonic)))
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_the_anchor() {
        let anchor = Anchor { monotonic: MonotonicNanos(5_000_000), wall_nanos: 9_000_000 };
        assert_eq!(anchor.wall(MonotonicNanos(5_000_000)), Timestamp(9_000));
        assert_eq!(anchor.wall(MonotonicNanos(7_001_999)), Timestamp(11_001));
        assert_eq!(anchor.wall(MonotonicNanos(1_000_000)), Timestamp(5_000));
    }

    #[test]
    fn the_wall_clock_is_told_once_and_when_it_was_set() {
        let mut clock = WallClock::new(Anchor::now());
        let (now, wall) = clock.news().unwrap();
        assert!(wall.0.abs_diff(clock.anchor.wall(now).0) < 1000);
        assert_eq!(clock.news(), None);
        clock.anchor.wall_nanos += 3_600_000_000_000;
        assert!(clock.news().is_some() && clock.news().is_none());
    }

    #[test]
    fn a_time_that_cannot_be_is_not_a_panic() {
        let anchor = Anchor { monotonic: MonotonicNanos(u64::MAX), wall_nanos: 0 };
        assert_eq!(anchor.wall(MonotonicNanos(0)), Timestamp(0));
    }
}
