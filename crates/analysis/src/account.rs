//! How much one backtrace allocated, has live, and had live when the whole program had most.
//!
//! The third needs care: the program's peak moves thousands of times while a trace is read, and
//! each time every account would have to note what it has live. Instead peaks are numbered, and an
//! account notes its live amount lazily: before it changes, and at the end, if a peak has passed
//! since it changed last. In between its live amount was that of all those peaks.
//!
//! ```text
//!   peak number    1   2       3               4
//!   account    ──+───────────────────-──────────────── end
//!                │                   │                 └ settle: at_peak = live (of peak 4)
//!                │                   └ settle: at_peak = live (of 2 and 3, overwritten later); then change
//! ```

use crate::estimate::{Estimate, Tally};
use crate::history::Block;
use crate::replay::since;
use lifetrace_trace::ids::Timestamp;

/// Counts the maxima of the program's live bytes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeakNumber(u64);

impl PeakNumber {
    /// The number of the next peak.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The amounts of one backtrace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    allocated: Tally,
    live: Tally,
    at_peak: Tally,
    lives: Lives,
    /// The peak that `at_peak` is of.
    settled: PeakNumber,
}

/// An account when all is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// All blocks ever allocated.
    pub allocated: Tally,
    /// Those that live at the end.
    pub live: Tally,
    /// Those that lived at the program's peak.
    pub peak: Tally,
    /// How long all of them lived.
    pub lives: Lives,
}

/// How long blocks lived, until their ends or the trace's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lives {
    /// Each block's bytes times the seconds that it lived.
    pub byte_seconds: Estimate,
    /// The seconds that blocks lived.
    pub object_seconds: Estimate,
}

impl Lives {
    /// A block's life is over, or the trace is.
    pub fn end(&mut self, block: &Block, time: Timestamp) {
        let seconds = since(block.born, time).as_secs_f64();
        self.byte_seconds += block.weight.estimate(block.bytes as f64 * seconds);
        if !block.is_growth {
            self.object_seconds += block.weight.estimate(seconds);
        }
    }
}

impl std::ops::AddAssign<&Lives> for Lives {
    fn add_assign(&mut self, other: &Lives) {
        self.byte_seconds += other.byte_seconds;
        self.object_seconds += other.object_seconds;
    }
}

impl Account {
    /// A block is born; `last_peak` is the peak before that.
    pub fn allocate(&mut self, block: &Tally, last_peak: PeakNumber) {
        self.settle(last_peak);
        self.allocated += block;
        self.live += block;
    }

    /// A block lives that was allocated before all this; `last_peak` is the peak before that.
    pub fn inherit(&mut self, block: &Tally, last_peak: PeakNumber) {
        self.settle(last_peak);
        self.live += block;
    }

    /// A block dies; `last_peak` is the peak before that.
    pub fn collect(&mut self, block: &Tally, last_peak: PeakNumber) {
        self.settle(last_peak);
        self.live -= block;
    }

    /// How long its blocks lived, so far.
    pub fn lives_mut(&mut self) -> &mut Lives {
        &mut self.lives
    }

    /// The amounts, where `last_peak` is the highest.
    pub fn balance(mut self, last_peak: PeakNumber) -> Balance {
        self.settle(last_peak);
        Balance {
            allocated: self.allocated,
            live: self.live,
            peak: self.at_peak,
            lives: self.lives,
        }
    }

    fn settle(&mut self, last_peak: PeakNumber) {
        if self.settled != last_peak {
            self.at_peak = self.live;
            self.settled = last_peak;
        }
    }
}

impl std::ops::AddAssign<&Balance> for Balance {
    fn add_assign(&mut self, other: &Balance) {
        self.allocated += &other.allocated;
        self.live += &other.live;
        self.peak += &other.peak;
        self.lives += &other.lives;
    }
}
