//! What a trace has of a block when it is sampled.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{LocationCode, SamplerId, Size};

/// The birth of a sampled block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth<'a> {
    /// As the program asked for it, in words of a heap that is sampled by words, else in bytes; of a growth, what
    /// was added.
    pub(crate) size: Size,
    pub(crate) samples: u64,
    pub(crate) source: Source,
    pub(crate) sampler: SamplerId,
    /// Whether outermost frames are missing; a frame that says so is in their place.
    pub(crate) is_truncated: bool,
    /// Outermost frame first; the last is [`GROWTH`](lifetrace_trace::event::GROWTH) if these are
    /// bytes added to a block.
    pub(crate) backtrace: &'a [LocationCode],
    /// So many leading frames are those of the last birth's backtrace.
    pub(crate) common_prefix: usize,
}
