//! The records of a trace, one after the other, whatever its format.

use crate::event::{Allocation, Event, Source};
use crate::fact::Fact;
use crate::ids::{AllocationId, DomainId, SamplerId, Size, ThreadId, Timestamp};

/// An event or a fact of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was.
    pub time: Timestamp,
    /// In which thread it was.
    pub thread: ThreadId,
    /// In which domain it was.
    pub domain: DomainId,
    /// What happened.
    pub kind: RecordKind,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A block was allocated.
    Birth(Birth),
    /// It moved to the major heap.
    Promotion(AllocationId),
    /// It was freed, or found dead.
    Collection(AllocationId),
    /// Something beside these: seldom, and larger than the others.
    Fact(Box<Fact>),
}

/// The birth of a sampled block; its backtrace is with the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Its name.
    pub id: AllocationId,
    /// Its size.
    pub size: Size,
    /// How many of its units the sampler hit.
    pub samples: u64,
    /// Where it lives.
    pub source: Source,
    /// Who sampled it.
    pub sampler: SamplerId,
    /// Whether outermost frames of its backtrace are missing.
    pub is_truncated: bool,
    /// Whether it is no block of its own, but what was added to one: bytes, but no object. Its innermost
    /// frame is [`GROWTH`](crate::event::GROWTH).
    pub is_growth: bool,
    /// As many leading frames are surely those of the previous birth's backtrace.
    pub common_prefix: usize,
}

impl From<Fact> for RecordKind {
    fn from(fact: Fact) -> Self {
        Self::Fact(Box::new(fact))
    }
}

/// As Memtrace's format knows it.
impl From<&Event<'_>> for RecordKind {
    #[inline]
    fn from(event: &Event<'_>) -> Self {
        match event {
            Event::Promotion(id) => Self::Promotion(*id),
            Event::Collection(id) => Self::Collection(*id),
            Event::Allocation(allocation) => Self::Birth(Birth::from(allocation)),
        }
    }
}

/// As Memtrace's format knows it.
impl From<&Allocation<'_>> for Birth {
    #[inline]
    fn from(allocation: &Allocation<'_>) -> Self {
        let Allocation { id, length, samples, source, common_prefix, .. } = *allocation;
        let (size, sampler) = (Size::Words(length), SamplerId(0));
        let (is_growth, is_truncated) = (allocation.is_growth(), false);
        Self { id, size, samples, source, sampler, is_truncated, is_growth, common_prefix }
    }
}
