//! Which words are hit: a Bernoulli process over the words of all blocks, in the order in which a
//! thread allocates them.
//!
//! A block of `n` bytes has [`words`]`(n)` words, at least one, so that every block, even one of 0
//! bytes, can be sampled. With rate `r`, a block of `w` words is sampled with probability
//! `1 - (1 - r)^w`, and the number of its hits is binomial in `(w, r)`: exactly, because the gaps
//! between hits are geometric and the process has no memory. That also makes it sound to restart
//! the countdown at any time, for a new thread or after a fork.
//!
//! The thread keeps only the number of words that pass before the next hit ([`crate::tls`], counted
//! in bytes so that the fast path needs no shift). Everything here runs when that goes below zero.

use crate::random::Random;

/// Bytes of a word.
pub const WORD: u64 = 8;

/// Words of a block that the program asked for with `size` bytes: rounded up, at least one.
#[inline]
pub const fn words(size: usize) -> u64 {
    footprint(size) as u64 / WORD
}

/// [`words`] in bytes, as the countdown has it. Sizes above `isize::MAX`, which no allocator
/// grants, give garbage.
#[inline(always)]
pub const fn footprint(size: usize) -> usize {
    size.wrapping_add((size == 0) as usize).wrapping_add(7) & !7
}

/// Above this many expected hits in one block their number is drawn from the normal approximation;
/// its error there is far below the binomial's own spread.
const MANY_HITS: f64 = 4096.0;

/// No gap is longer: keeps the countdown, in bytes, far from overflow.
const LONGEST_GAP: f64 = (1u64 << 58) as f64;

/// The probability that a word is hit, prepared for drawing.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    rate: f64,
    /// 1 / ln(1 - rate); 0 when every word is hit.
    inverse_log: f64,
}

/// The outcome for a block whose words took the countdown below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hits {
    /// How many of its words are hit, at least 1.
    pub count: u64,
    /// Words that pass after the block before the next hit.
    pub gap: u64,
}

impl Rate {
    /// `rate` in (0, 1]; anything else is taken as 1, so nothing is ever missed by mistake.
    pub fn per_word(rate: f64) -> Self {
        if rate > 0.0 && rate < 1.0 {
            Rate { rate, inverse_log: 1.0 / libm::log1p(-rate) }
        } else {
            Rate { rate: 1.0, inverse_log: 0.0 }
        }
    }

    /// Number of words that pass unhit before the next hit: geometric from 0, by inversion.
    #[inline]
    pub fn gap(&self, random: &mut Random) -> u64 {
        let gap = libm::log(random.unit()) * self.inverse_log;
        if gap < LONGEST_GAP { gap as u64 } else { LONGEST_GAP as u64 }
    }

    /// Draws the rest of a block: its first hit is known, and `after` more words follow that one.
    pub fn hits(&self, random: &mut Random, after: u64) -> Hits {
        if self.rate >= 1.0 {
            return Hits { count: after + 1, gap: 0 };
        }
        let mut count = 1;
        let mut after = after;
        if after as f64 * self.rate > MANY_HITS {
            count += self.binomial(random, after);
            after = 0;
        }
        loop {
            let gap = self.gap(random);
            match after.checked_sub(gap.saturating_add(1)) {
                Some(rest) => {
                    count += 1;
                    after = rest;
                }
                None => return Hits { count, gap: gap - after },
            }
        }
    }

    /// Of `count` hits spread evenly over `of` words, how many lie in the first `kept`: exact by
    /// drawing each hit's place without replacement.
    pub fn thin(&self, random: &mut Random, count: u64, kept: u64, of: u64) -> u64 {
        if self.rate >= 1.0 || count >= of {
            return kept.min(count);
        }
        if count as f64 > MANY_HITS {
            return (count as f64 * kept as f64 / of as f64) as u64;
        }
        let (mut kept, mut of, mut remaining) = (kept, of, 0);
        for _ in 0..count {
            if random.unit() * of as f64 <= kept as f64 {
                remaining += 1;
                kept = kept.saturating_sub(1);
            }
            of = of.saturating_sub(1).max(1);
        }
        remaining
    }

    fn binomial(&self, random: &mut Random, trials: u64) -> u64 {
        let mean = trials as f64 * self.rate;
        let deviation = libm::sqrt(mean * (1.0 - self.rate));
        let value = libm::round(mean + deviation * normal(random));
        (value.max(0.0) as u64).min(trials)
    }
}

/// Standard normal, by Box and Muller (1958).
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(random.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * random.unit())
}
