//! A snapshot, read.

use lifetrace_trace::lth::{Damage, Error, Header, Outcome, Sample, Site, Totals};

use crate::graph::{BlockId, TooLarge};
use crate::heap::Heap;

/// What has been read of a snapshot.
#[derive(Debug)]
pub struct Snapshot {
    /// The heap.
    pub heap: Heap,
    /// What it says about itself.
    pub header: Header,
    /// How making it went, and how much is in it, if it was finished.
    pub outcome: Option<(Outcome, Totals)>,
    /// References to blocks that the snapshot does not have.
    pub missing: u64,
    /// What could not be read.
    pub damages: Vec<Damage>,
    /// Where sampled blocks were allocated.
    pub sites: Vec<Site>,
    /// Sampled blocks, each with its block if that is in the snapshot.
    pub samples: Vec<(Sample, Option<BlockId>)>,
}

/// Why there is no heap.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read, or is none.
    #[error(transparent)]
    Snapshot(#[from] Error),
    /// It has too many blocks.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}
