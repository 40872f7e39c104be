//! A countdown, for allocators that have a function called for each block.

use core::num::NonZeroU64;

use crate::random::Random;
use crate::rate::{Rate, WORD, footprint};

/// Says of each block of a thread whether it is sampled.
///
/// It is a subtraction and a branch that is nearly always the same; what happens once in a sampling
/// interval is out of line. One per thread, or one per thing that allocates: processes of hits have
/// no memory, so they add up however the blocks are spread over them.
///
/// ```
/// use lifetrace_sampler::{Countdown, Random, Rate};
///
/// let mut countdown = Countdown::new(Rate::every(4096), Random::new(1, 0));
/// let sampled = (0..100_000).filter(|_| countdown.take(64).is_some()).count();
/// assert!((1400..1700).contains(&sampled)); // of 1550 that are expected
/// ```
#[derive(Clone, Debug)]
pub struct Countdown {
    /// Bytes that pass before the next hit.
    left: i64,
    rate: Rate,
    random: Random,
}

impl Countdown {
    /// Begins at `rate`; `random` is best a stream of this countdown's own.
    pub fn new(rate: Rate, random: Random) -> Self {
        let mut countdown = Countdown::idle(random);
        countdown.set_rate(rate);
        countdown
    }

    /// Samples nothing until [`set_rate`](Countdown::set_rate); for statics and thread-locals.
    pub const fn idle(random: Random) -> Self {
        Countdown { left: i64::MAX / 4, rate: Rate::NEVER, random }
    }

    /// Counts a block of `size` bytes, rounded up to words (see [`words`](crate::words)); if it is
    /// sampled, how many of them are hit.
    #[inline(always)]
    pub fn take(&mut self, size: usize) -> Option<NonZeroU64> {
        self.take_rounded(footprint(size))
    }

    /// Counts a block of `bytes`, which its caller has rounded to a multiple of 8 and is not 0; if it is sampled, how
    /// many words are hit. Of other sizes, the countdown still adds up to the same bytes.
    #[inline(always)]
    pub fn take_rounded(&mut self, bytes: usize) -> Option<NonZeroU64> {
        self.left = self.left.wrapping_sub(bytes as i64);
        if self.left < 0 { self.ended() } else { None }
    }

    /// The rate at which it samples.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Goes on at another rate, from the next block on. To do that at any time biases nothing.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.left = (rate.gap(&mut self.random) * WORD) as i64;
    }

    #[cold]
    #[inline(never)]
    fn ended(&mut self) -> Option<NonZeroU64> {
        if self.rate.is_never() {
            self.set_rate(Rate::NEVER);
            return None;
        }
        let from_first_hit = self.left.unsigned_abs().div_ceil(WORD);
        let hits = self.rate.hits(&mut self.random, from_first_hit - 1);
        self.left = (hits.gap * WORD) as i64;
        NonZeroU64::new(hits.count)
    }
}
