//! Births, as they are given to the writer.

use crate::event::Source;
use crate::ids::{AllocationId, LocationCode, SamplerId, Size};

/// The birth of a sampled block, to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBirth<'a> {
    /// Its size.
    pub size: Size,
    /// How many of its units the sampler hit.
    pub samples: u64,
    /// Where it lives.
    pub source: Source,
    /// Who sampled it.
    pub sampler: SamplerId,
    /// Whether the outermost frames of the backtrace are missing.
    pub is_truncated: bool,
    /// Outermost frame first; the last is [`GROWTH`](crate::event::GROWTH) if these are bytes that were added to a block.
    pub backtrace: &'a [LocationCode],
    /// As many leading frames as are known to be those of the previous birth's backtrace, whoever that
    /// was of; 0 when nothing is known. The writer doesn't look at them, so the trace is wrong if
    /// this is.
    pub common_prefix: usize,
    /// For copies of traces: the name it has there. Otherwise it is the next number.
    pub id: Option<AllocationId>,
}
