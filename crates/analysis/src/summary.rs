//! The totals of a trace.

use std::time::Duration;

use crate::estimate::Amount;
use crate::sampling::Sampling;

/// What a trace amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How it was sampled.
    pub sampling: Sampling,
    /// From the start of the trace to its end.
    pub duration: Duration,
    /// Number of allocations sampled.
    pub samples: u64,
    /// Number of units hit in them: [`Birth::samples`](lifetrace_trace::record::Birth) summed.
    pub hits: u64,
    /// Number of samples promoted.
    pub promotions: u64,
    /// Number of samples freed or found dead.
    pub collections: u64,
    /// Events about blocks that did not live; a sound trace has none.
    pub unmatched: u64,
    /// All that was allocated.
    pub allocated: Amount,
    /// Of it, what is in no collected heap.
    pub outside: Amount,
    /// What was promoted to the major heap.
    pub promoted: Amount,
    /// The greatest amount that lived at once.
    pub peak: Peak,
    /// What lived when the trace ended.
    pub live: Amount,
    /// What of it was young: no collection had met it, so some of it may have been dead.
    pub young: Amount,
}

impl Summary {
    /// Number of events of all kinds.
    pub fn events(&self) -> u64 {
        self.samples + self.promotions + self.collections + self.unmatched
    }
}

/// The moment when the estimate of live bytes was highest.
///
/// The highest of many estimates is more likely too high than too low; where samples are few, the
/// true peak tends to lie in the lower half of the interval, and may be at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// What lived then.
    pub amount: Amount,
    /// What of it was young, likewise.
    pub young: Amount,
    /// Since the start of the trace.
    pub time: Duration,
}
