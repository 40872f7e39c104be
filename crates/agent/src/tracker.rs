//! What samples are reported to: the callbacks of OCaml's `Gc.Memprof`, for any runtime.
//!
//! A hook (malloc's, a runtime's) finds a sample, captures its backtrace into the thread's record, and
//! reports it to a tracker. What the tracker answers, its *metadata*, is kept with the block and given back with
//! what happens to the block next. Metadata never keeps a block alive, and is gone soon after it: at once
//! for malloc, at the runtime's next chance to call back where a collector finds blocks dead.
//!
//! A tracker runs inside the agent ([`Entered`]): what it allocates is not sampled, it may be called by
//! several threads at a time, and it must not wait without bound, nor panic.

use lifetrace_transport::message::{AllocationKind, SourceKind};

use crate::guard::Entered;

/// What a tracker remembers of a block, in the one word that a runtime has room for.
pub trait Word: Copy {
    /// At most 62 bits: OCaml keeps one for the tag of immediates.
    fn to_word(self) -> u64;

    /// The inverse.
    fn from_word(word: u64) -> Self;
}

impl Word for () {
    fn to_word(self) -> u64 {
        0
    }

    fn from_word(_: u64) -> Self {}
}

/// A sampled block at its birth. Its backtrace is in the thread's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// In bytes, without a header; of a growth, what was added.
    pub size: u64,
    /// How many of its sampling units were hit, at least 1.
    pub samples: u64,
    /// Where it lives. A managed source's backtrace is [`Thread::managed`](crate::thread::Thread::managed),
    /// malloc's [`Thread::backtraces`](crate::thread::Thread::backtraces).
    pub source: SourceKind,
    /// What kind of allocation it is.
    pub kind: AllocationKind,
}

/// What samples, and what becomes of them, are reported to.
pub trait Tracker {
    /// What it remembers of a block.
    type Metadata: Word;

    /// A sampled block is born, or about to be. `None`: its fate is of no interest.
    fn allocated(&self, at: &mut Entered, allocation: &Allocation) -> Option<Self::Metadata>;

    /// It has moved from the minor to the major heap. `None`: what becomes of it is of no interest.
    fn promoted(&self, at: &mut Entered, block: Self::Metadata) -> Option<Self::Metadata>;

    /// It is dead.
    fn freed(&self, at: &mut Entered, block: Self::Metadata);
}
