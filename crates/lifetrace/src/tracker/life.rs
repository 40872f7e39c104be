//! The life of a sampled block, as a tracker is told of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backtrace::Backtrace;
use crate::snapshot::Amount;

/// Is told of the life of each sampled block; see the [module](super).
///
/// A counter of large blocks by thread:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use lifetrace::tracker::{Allocation, Release, Tracker};
///
/// #[derive(Default)]
/// struct Large(Mutex<HashMap<u32, u64>>);
///
/// impl Tracker for Large {
///     type Meta = u32;
///
///     fn alloc(&self, allocation: &Allocation) -> Option<u32> {
///         let thread = (allocation.size >= 1 << 20).then_some(allocation.thread)?;
///         *self.0.lock().unwrap().entry(thread).or_default() += 1;
///         Some(thread)
///     }
///
///     fn free(&self, thread: u32, _: &Release) {
///         *self.0.lock().unwrap().entry(thread).or_default() -= 1;
///     }
/// }
/// ```
pub trait Tracker: Send + Sync + 'static {
    /// What it remembers of a block; anything.
    type Meta: Send + 'static;

    /// A sampled block is born. `None`: its fate is of no interest.
    fn alloc(&self, allocation: &Allocation) -> Option<Self::Meta>;

    /// It has moved to where blocks live longer ([`Token::promote`](crate::Token::promote)); Rust's own
    /// blocks never do. `None`: what becomes of it is of no interest.
    fn promote(&self, block: Self::Meta) -> Option<Self::Meta> {
        Some(block)
    }

    /// It is dead.
    fn free(&self, block: Self::Meta, release: &Release);
}

/// A sampled block at its birth.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Allocation {
    /// In bytes, as the program asked for it; of a growth, what was added.
    pub size: usize,
    /// How many of its words were hit, at least 1.
    pub n_samples: u64,
    /// What was allocated for this one to be found, on average: sums of these are unbiased estimates of all
    /// that was allocated, exact at an interval of 1.
    pub stands_for: Amount,
    /// Where it is.
    pub source: Source,
    /// Not a block of its own, but what a `realloc` has added to one. It dies like a block of that size,
    /// when the block shrinks or dies.
    pub is_growth: bool,
    /// The kernel's number for the thread that allocates.
    pub thread: u32,
    /// When.
    pub time: Instant,
    /// Who allocates.
    pub backtrace: Backtrace,
    /// In which span, as far as a [`SpanLayer`](crate::spans::SpanLayer) knows.
    #[cfg(feature = "tracing")]
    pub span: Option<crate::span::Span>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The global allocator's.
    Heap,
    /// What a [`Token`](crate::Token) of that kind stands for.
    External(&'static str),
}

/// The end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// When.
    pub time: Instant,
    /// How long it has lived.
    pub lived: Duration,
}

impl<T: Tracker> Tracker for Arc<T> {
    type Meta = T::Meta;

    fn alloc(&self, allocation: &Allocation) -> Option<T::Meta> {
        T::alloc(self, allocation)
    }

    fn promote(&self, block: T::Meta) -> Option<T::Meta> {
        T::promote(self, block)
    }

    fn free(&self, block: T::Meta, release: &Release) {
        T::free(self, block, release);
    }
}

/// Both, one after the other; of more, pairs of pairs.
impl<A: Tracker, B: Tracker> Tracker for (A, B) {
    type Meta = (Option<A::Meta>, Option<B::Meta>);

    fn alloc(&self, allocation: &Allocation) -> Option<Self::Meta> {
        either(self.0.alloc(allocation), self.1.alloc(allocation))
    }

    fn promote(&self, (first, second): Self::Meta) -> Option<Self::Meta> {
        let first = first.and_then(|block| self.0.promote(block));
        either(first, second.and_then(|block| self.1.promote(block)))
    }

    fn free(&self, (first, second): Self::Meta, release: &Release) {
        if let Some(block) = first {
            self.0.free(block, release);
        }
        if let Some(block) = second {
            self.1.free(block, release);
        }
    }
}

fn either<A, B>(first: Option<A>, second: Option<B>) -> Option<(Option<A>, Option<B>)> {
    (first.is_some() || second.is_some()).then_some((first, second))
}
