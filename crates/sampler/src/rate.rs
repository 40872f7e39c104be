//! How densely to sample, and the draws that a rate leads to.

use crate::gap::Gaps;
use crate::random::Random;

/// Bytes of a word.
pub const WORD: u64 = 8;

/// Words of a block that the program asked for with `size` bytes: rounded up, at least one.
#[inline]
pub const fn words(size: usize) -> u64 {
    footprint(size) as u64 / WORD
}

/// [`words`] in bytes, as countdowns have it. Sizes above `isize::MAX`, which no allocator
/// grants, give garbage.
#[inline(always)]
pub const fn footprint(size: usize) -> usize {
    size.wrapping_add((size == 0) as usize).wrapping_add(7) & !7
}

/// Above this many expected hits in one block their number is drawn from the normal approximation;
/// its error there is far below the binomial's own spread.
const MANY_HITS: f64 = 4096.0;

/// The probability that a word is hit, prepared for drawing.
///
/// ```
/// use lifetrace_sampler::Rate;
///
/// let rate = Rate::every(512 << 10);
/// assert!((rate.probability() * 65_536.0 - 1.0).abs() < 1e-4);
/// assert!((rate.chance(512 << 10) - 0.632).abs() < 1e-3);
/// assert_eq!(Rate::ALWAYS.chance(1), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rate(Gaps);

/// What is hit of a block, and where the next hit lies.
///
/// For those who keep a countdown by themselves, as words of thread-local storage, say;
/// [`Countdown`](crate::Countdown) and [`Arena`](crate::Arena) do it for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hits {
    /// How many of its words are hit, at least 1.
    pub count: u64,
    /// Words that pass after the block before the next hit.
    pub gap: u64,
}

impl Rate {
    /// Every word is hit: all blocks are sampled, and what is counted is exact.
    pub const ALWAYS: Rate = Rate(Gaps::ALWAYS);

    /// No word is hit.
    pub const NEVER: Rate = Rate(Gaps::NEVER);

    /// One hit in `bytes` on average: [`per_byte`](Rate::per_byte) of the inverse. 0 and 1 are
    /// [`ALWAYS`](Rate::ALWAYS).
    pub fn every(bytes: u64) -> Self {
        Rate::per_byte(1.0 / bytes as f64)
    }

    /// From the probability that a byte is hit: a word is if one of its eight bytes is. Unless it
    /// is in (0, 1], it is taken as 1.
    pub fn per_byte(probability: f64) -> Self {
        Rate::per_word(-libm::expm1(8.0 * libm::log1p(-probability)))
    }

    /// From the probability that a word is hit. Unless it is in (0, 1], it is taken as 1, so that
    /// nothing is ever missed by mistake. Below 2^-75 it is not met exactly.
    pub fn per_word(probability: f64) -> Self {
        if probability > 0.0 && probability < 1.0 {
            Rate(Gaps::new(probability))
        } else {
            Rate::ALWAYS
        }
    }

    /// The probability that a word is hit.
    #[inline]
    pub fn probability(&self) -> f64 {
        self.0.rate()
    }

    /// The probability that a block of `size` bytes is sampled: that one of its [`words`] is hit.
    ///
    /// A sampled block stands for `1 / chance` blocks, and for `size / chance` bytes (Horvitz and
    /// Thompson, 1952): these sums are unbiased, and as precise as the sample allows.
    pub fn chance(&self, size: usize) -> f64 {
        -libm::expm1(words(size) as f64 * libm::log1p(-self.probability()))
    }

    /// Number of words that pass unhit before the next hit: geometric from 0, at most 2^58. It takes
    /// one random word.
    ///
    /// ```
    /// use lifetrace_sampler::{Random, Rate};
    ///
    /// let (rate, mut random) = (Rate::per_word(0.01), Random::new(1, 0));
    /// let sum: u64 = (0..100_000).map(|_| rate.gap(&mut random)).sum();
    /// assert!((sum as f64 / 100_000.0 - 99.0).abs() < 1.0);
    /// ```
    #[inline]
    pub fn gap(&self, random: &mut Random) -> u64 {
        self.0.of(random.word())
    }

    /// Draws the rest of a block: its first hit is known, and `after` more words follow that one.
    #[inline(always)]
    pub fn hits(&self, random: &mut Random, after: u64) -> Hits {
        if self.is_certain() {
            return Hits { count: after + 1, gap: 0 };
        }
        let mut count = 1;
        let mut after = after;
        if after as f64 * self.probability() > MANY_HITS {
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
        if self.is_certain() || count >= of {
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

    pub(crate) fn is_never(&self) -> bool {
        self.probability() <= 0.0
    }

    fn is_certain(&self) -> bool {
        self.probability() >= 1.0
    }

    #[cold]
    #[inline(never)]
    fn binomial(&self, random: &mut Random, trials: u64) -> u64 {
        let mean = trials as f64 * self.probability();
        let deviation = libm::sqrt(mean * (1.0 - self.probability()));
        let value = libm::round(mean + deviation * normal(random));
        (value.max(0.0) as u64).min(trials)
    }
}

/// Standard normal, by Box and Muller (1958).
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(random.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * random.unit())
}
