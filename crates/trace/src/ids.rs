//! Newtypes for ids and units. Raw integers appear only inside codecs.

/// A sampled block. In a trace of one domain blocks are numbered from 0 in the order of their
/// allocations; domains draw theirs in chunks, so where there are several the numbers have gaps.
/// Below 2^62.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationId(pub u64);

/// One frame of a backtrace, opaque: a name for zero or more [`Location`](crate::event::Location)s
/// (several where functions were inlined). Two codes may mean the same place. Memtrace's codes have
/// 63 bits: writing and reading replace the highest bit by a copy of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationCode(pub u64);

/// Microseconds since the Unix epoch, as the trace's own clock has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

/// A length in words of the traced machine, without a runtime's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Words(pub u64);

/// An OCaml 5 domain; 0 elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId(pub u16);

/// A length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A thread, numbered within a trace and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// One of a trace's sources of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SamplerId(pub u8);

/// A length, in the unit in which it is known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Of a runtime that counts in words.
    Words(Words),
    /// Of one that counts in bytes.
    Bytes(Bytes),
}

impl Size {
    /// In words of so many bits, rounded up.
    pub fn words(self, word_bits: u8) -> Words {
        match self {
            Self::Words(words) => words,
            Self::Bytes(Bytes(bytes)) => Words(bytes.div_ceil(u64::from(word_bits / 8).max(1))),
        }
    }

    /// In bytes, of words of so many bits.
    pub fn bytes(self, word_bits: u8) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Words(Words(words)) => Bytes(words.saturating_mul((word_bits / 8).into())),
        }
    }
}
