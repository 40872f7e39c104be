//! Births, as they are given to the writer.

use crate::event::Source;
use crate::ids::{AllocationId, LocationCode, Words};

/// The birth of a sampled block, to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAllocation<'a> {
    /// Its length.
    pub length: Words,
    /// How many of its words the sampler hit.
    pub samples: u64,
    /// Where it lives.
    pub source: Source,
    /// Outermost frame first. Codes have 63 bits, see [`LocationCode`].
    pub backtrace: &'a [LocationCode],
    /// As many leading frames as are known to be those of this domain's previous allocation; 0 when
    /// nothing is known. The writer doesn't look at them, so the trace is wrong if this is.
    pub common_prefix: usize,
    /// For copies of traces: the name it has there, below 2^62. Otherwise the writer finds one.
    pub id: Option<AllocationId>,
}
