//! Where an arena should seem to end, for allocators that only move a pointer.

use core::num::NonZeroU64;

use crate::random::Random;
use crate::rate::{Rate, WORD, words};

/// Which way an allocator's pointer moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// To higher addresses, as most bump allocators do.
    Up,
    /// To lower addresses, as OCaml's minor heap.
    Down,
}

/// What is to be done about a block that has not passed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does not fit: the arena is at its end. Nothing has been counted. Collect, or get another
    /// arena; then [`enter`](Arena::enter) that and allocate again.
    Full,
    /// It fits, and is not sampled. This happens when somebody else has moved the limit, as
    /// runtimes do to get a thread's attention.
    Passes,
    /// It fits, and so many of its words are hit.
    Sampled(NonZeroU64),
}

/// Samples the blocks of an arena by moving its end.
///
/// An allocator that bumps a pointer compares it with a limit, anyhow. [`enter`](Arena::enter) says
/// where the limit should be: at the next hit, if that is in the arena, else at the arena's end. When a
/// block does not pass the limit, the slow path [`ask`](Arena::ask)s which it is, places the block,
/// and takes the next [`limit`](Arena::limit). So a block that is not sampled costs nothing at all.
///
/// ```
/// use lifetrace_sampler::{Answer, Arena, Growth, Random, Rate};
///
/// # let (mut blocks, mut sampled) = (0, 0);
/// let mut arena = Arena::new(Growth::Up, Rate::every(4096), Random::new(1, 0));
/// let (mut at, end) = (0x1000_0000, 0x1010_0000);
/// let mut limit = arena.enter(at, end);
/// loop {
///     let size = 64;
///     if at + size > limit {
///         match arena.ask(at, size) {
///             Answer::Full => break,
///             Answer::Passes => {}
///             Answer::Sampled(_hits) => sampled += 1,
///         }
///         limit = arena.limit();
///     }
///     at += size;
///     # blocks += 1;
/// }
/// # assert_eq!(blocks, 16_384);
/// assert!((200..310).contains(&sampled)); // of 254 that are expected
/// ```
///
/// # What an allocator has to keep to
///
/// - A block that ends right at the limit passes.
/// - Sizes are those by which the pointer moves, multiples of 8 with headers and padding. (Of odd
///   ones, a block is sampled if a word begins in it that is hit.)
/// - Whenever the pointer moves other than past one block after the other — the arena is reset, emptied
///   by a collection, rewound to a mark, replaced — [`enter`](Arena::enter) it anew. The sampler need
///   not know how much was used: a hit that has not come yet is as far away as ever.
/// - Blocks that compilers have combined are asked about one by one, each with the address at which the
///   one before has ended.
/// - Several arenas at a time have an `Arena` each, with a stream of random numbers each.
#[derive(Clone, Debug)]
pub struct Arena {
    growth: Growth,
    /// Where it truly ends.
    end: usize,
    /// Where it ends if the next hit lies in it.
    hit: usize,
    rate: Rate,
    random: Random,
}

impl Arena {
    /// For arenas that grow so; there is none yet, so no block passes the limit. `random` is best a stream of this one's own.
    pub const fn new(growth: Growth, rate: Rate, random: Random) -> Self {
        let nowhere = match growth {
            Growth::Up => 0,
            Growth::Down => usize::MAX,
        };
        Arena { growth, end: nowhere, hit: nowhere, rate, random }
    }

    /// From now on blocks are placed from `at` to `end`; the limit to compare with.
    pub fn enter(&mut self, at: usize, end: usize) -> usize {
        self.end = end;
        let gap = self.rate.gap(&mut self.random);
        self.hit = self.advance(at, gap * WORD);
        self.limit()
    }

    /// From now on samples at another rate; blocks are placed from `at` to the arena's end. The limit to compare
    /// with. Where that is done biases nothing.
    pub fn set_rate(&mut self, rate: Rate, at: usize) -> usize {
        self.rate = rate;
        self.enter(at, self.end)
    }

    /// The rate at which it samples.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Where the arena should seem to end: at the next hit or at its end, whichever is nearer.
    #[inline]
    pub fn limit(&self) -> usize {
        match self.growth {
            Growth::Up => self.hit.min(self.end),
            Growth::Down => self.hit.max(self.end),
        }
    }

    /// What about the block of `size` bytes that begins at the pointer, `at`, and has not passed the
    /// limit? If it fits, the answer counts on it being placed there; there may be a new
    /// [`limit`](Arena::limit).
    #[cold]
    pub fn ask(&mut self, at: usize, size: usize) -> Answer {
        if size > self.distance(at, self.end) {
            return Answer::Full;
        }
        let unhit = self.distance(at, self.hit);
        if size <= unhit {
            return Answer::Passes;
        }
        let from_first_hit = ((size - unhit) as u64).div_ceil(WORD);
        let hits = self.rate.hits(&mut self.random, from_first_hit - 1);
        self.hit = self.advance(self.advance(at, size as u64), hits.gap * WORD);
        NonZeroU64::new(hits.count).map_or(Answer::Passes, Answer::Sampled)
    }

    /// If a block of `size` bytes that is placed elsewhere, as large ones are, is sampled: how many of
    /// its words are hit. It leaves the limit where it is, and costs a draw.
    pub fn elsewhere(&mut self, size: usize) -> Option<NonZeroU64> {
        let gap = self.rate.gap(&mut self.random);
        let from_first_hit = words(size).saturating_sub(gap);
        let hits = self.rate.hits(&mut self.random, from_first_hit.checked_sub(1)?);
        NonZeroU64::new(hits.count)
    }

    /// Bytes that can be allocated from `from` on before `to` is reached.
    fn distance(&self, from: usize, to: usize) -> usize {
        match self.growth {
            Growth::Up => to.saturating_sub(from),
            Growth::Down => from.saturating_sub(to),
        }
    }

    fn advance(&self, at: usize, bytes: u64) -> usize {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match self.growth {
            Growth::Up => at.saturating_add(bytes),
            Growth::Down => at.saturating_sub(bytes),
        }
    }
}
