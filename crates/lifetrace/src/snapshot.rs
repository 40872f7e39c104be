//! What is live now.

use std::time::{Duration, SystemTime};

use lifetrace_pprof::heap::{First, encode, totals};
use lifetrace_recorder::heap::{self, Heap};

use crate::error::Error;

/// What is live, and what was allocated, at one moment; or what happened [since](Snapshot::since) another.
///
/// Amounts are estimated from the blocks that were sampled; at an interval of 1 they are exact.
///
/// ```no_run
/// let session = lifetrace::Recording::live().start()?;
/// let before = session.snapshot().expect("the session is under way");
/// serve_a_thousand_requests();
/// let after = session.snapshot().expect("the session is under way");
/// let grown = after.live().bytes - before.live().bytes;
/// std::fs::write("heap.pb.gz", after.to_pprof()?)?;
/// # fn serve_a_thousand_requests() {}
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot(heap::Snapshot);

/// An amount of memory; of what happened between two moments it may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Amount {
    /// Number of blocks.
    pub objects: f64,
    /// Bytes, as the program asked for them.
    pub bytes: f64,
}

impl Snapshot {
    /// Of this process.
    pub(crate) fn take(heap: &Heap) -> Option<Snapshot> {
        heap.snapshot(std::process::id()).map(Snapshot)
    }

    /// What was allocated, whether it lives or not.
    pub fn allocated(&self) -> Amount {
        let [objects, bytes, _, _] = totals(&self.0);
        Amount { objects, bytes }
    }

    /// What is live.
    pub fn live(&self) -> Amount {
        let [_, _, objects, bytes] = totals(&self.0);
        Amount { objects, bytes }
    }

    /// Sampled allocations that the amounts rest on.
    pub fn samples(&self) -> u64 {
        self.0.blocks.iter().map(|blocks| blocks.allocated.blocks).sum()
    }

    /// Events that should have been counted and were lost.
    pub fn lost(&self) -> u64 {
        self.0.lost
    }

    /// When it was taken.
    pub fn time(&self) -> SystemTime {
        self.0.until
    }

    /// Since when things were counted.
    pub fn duration(&self) -> Duration {
        self.0.duration()
    }

    /// What happened between `earlier` and this one, as a snapshot. `None` if that is no earlier one of the
    /// same session.
    pub fn since(&self, earlier: &Snapshot) -> Option<Snapshot> {
        self.0.since(&earlier.0).map(Snapshot)
    }

    /// As a gzipped profile for pprof, in which readers show first what is in use: what
    /// [`pprof::heap`](crate::pprof::heap) gives.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn to_pprof(&self) -> Result<Vec<u8>, Error> {
        Ok(encode(&self.0, First::InUse)?)
    }

    /// As a gzipped profile for pprof, in which readers show first what was allocated: what
    /// [`pprof::allocs`](crate::pprof::allocs) gives.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn to_pprof_allocs(&self) -> Result<Vec<u8>, Error> {
        Ok(encode(&self.0, First::Allocated)?)
    }
}
