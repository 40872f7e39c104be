//! Gaps between hits: geometric, by inversion of one random word, exactly.
//!
//! A word `w` stands for `u = w / 2^64` (its last bit is set: `u` is the middle of its step). With
//! `q = 1 - rate`, the gap is the largest `k` with `q^k >= u`, so `P(gap >= k)` is `q^k` to within
//! half a step, 2^-64. That definition names no rounding: the same word gives the same gap on every
//! machine.
//!
//! It takes two steps to compute it fast:
//!
//! 1. An *estimate*: `x = ln u / ln q`, with a logarithm that is off by at most 2^-44: the exponent
//!    is the number of leading zeros; the first six bits of the mantissa choose a [`Cell`], and a
//!    polynomial of degree 5 does the rest. One multiplication by `1 / -ln q`, and the gap is the
//!    whole part of `x`.
//! 2. A *proof*: only if `x` is so close to a whole number that the error could matter
//!    (at one sample in 512 KiB, once in a hundred million draws) it is decided by [`power`], in
//!    integers of 128 bits.
//!
//! Why not a table of the distribution (an alias table, or a ziggurat's layers)? A loop that does nothing
//! but draw may be faster with one. But an allocator draws once in a hundred kilobytes, when
//! none of the table is in the cache, and an alias table would be another for each rate: here, one line
//! of a table of 1 KiB that all rates share is touched. A draw takes exactly one random word, so streams
//! stay comparable; and there is no tail or rejection to get wrong.

use crate::power::power;

/// No gap is longer: keeps a countdown, in bytes, far from overflow.
pub const LONGEST_GAP: u64 = 1 << 58;

/// What the estimate may be off by, as a multiple of `1 / -ln q`: 2^-44 of the logarithm's, and as
/// much for what is rounded on the way.
const ERROR: f64 = 1.0 / (1u64 << 43) as f64;

/// From here on doubles are whole numbers, and the next one has the next bits: a sum with it is
/// rounded to the nearest. (What is not in doubt is below 2^48.)
const WHOLE: f64 = (1u64 << 52) as f64;

const CELL_BITS: u32 = 6;
const FRACTION: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;

/// Of the middle of a 64th of [1, 2).
#[derive(Clone, Copy)]
struct Cell {
    inverse: f64,
    ln: f64,
}

static CELLS: [Cell; 1 << CELL_BITS] = cells();

/// A rate, prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps {
    rate: f64,
    /// `1 / -ln q`
    scale: f64,
    /// An estimate that is no further from a whole number is in doubt.
    doubt: f64,
}

impl Gaps {
    /// `rate` in [0, 1).
    pub(crate) fn new(rate: f64) -> Self {
        let scale = -1.0 / libm::log1p(-rate);
        let error = scale * ERROR;
        Gaps { rate, scale, doubt: if error < 0.5 { error } else { f64::INFINITY } }
    }

    /// Hits everything.
    pub(crate) const ALWAYS: Gaps = Gaps { rate: 1.0, scale: 0.0, doubt: -1.0 };

    /// Hits nothing.
    pub(crate) const NEVER: Gaps = Gaps { rate: 0.0, scale: f64::INFINITY, doubt: f64::INFINITY };

    #[inline]
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// The gap that a random word stands for.
    #[inline]
    pub(crate) fn of(&self, word: u64) -> u64 {
        let estimate = minus_ln(word | 1) * self.scale;
        let near = estimate + WHOLE;
        let over = estimate - (near - WHOLE);
        if over.abs() > self.doubt {
            return near.to_bits() - WHOLE.to_bits() - u64::from(over < 0.0);
        }
        self.settle(word | 1, estimate)
    }

    /// The gap, if the estimate leaves a doubt: a binary search between what it may be at least and
    /// at most.
    #[cold]
    fn settle(&self, word: u64, estimate: f64) -> u64 {
        let error = self.scale * ERROR;
        let mut known = longest(estimate - error);
        let mut beyond = longest(estimate + error).saturating_add(1);
        while beyond - known > 1 {
            let middle = known + (beyond - known) / 2;
            if power(self.rate, middle) >= u128::from(word) << 64 {
                known = middle;
            } else {
                beyond = middle;
            }
        }
        known
    }
}

/// The whole part, at most [`LONGEST_GAP`]; of infinity less infinity as well.
fn longest(gap: f64) -> u64 {
    if gap < LONGEST_GAP as f64 { gap as u64 } else { LONGEST_GAP }
}

/// `-ln (word / 2^64)` of an odd word, to within 2^-44.
#[inline]
fn minus_ln(word: u64) -> f64 {
    let zeros = word.leading_zeros();
    let fraction = (word << zeros) >> 11 & FRACTION;
    let cell = CELLS[(fraction >> (52 - CELL_BITS)) as usize];
    let away = f64::from_bits(ONE | fraction) - f64::from_bits(ONE | middle(fraction));
    let ratio = away * cell.inverse;
    let square = ratio * ratio;
    let bend = (0.5 - ratio * (1.0 / 3.0)) + square * (0.25 - ratio * 0.2);
    f64::from(zeros + 1) * core::f64::consts::LN_2 - (cell.ln + (ratio - square * bend))
}

/// The fraction in the middle of its cell.
const fn middle(fraction: u64) -> u64 {
    let bit = 1 << (51 - CELL_BITS);
    fraction & !(2 * bit - 1) | bit
}

const fn cells() -> [Cell; 1 << CELL_BITS] {
    let mut cells = [Cell { inverse: 0.0, ln: 0.0 }; 1 << CELL_BITS];
    let mut index = 0;
    while index < cells.len() {
        let centre = f64::from_bits(ONE | middle((index as u64) << (52 - CELL_BITS)));
        cells[index] = Cell { inverse: 1.0 / centre, ln: ln(centre) };
        index += 1;
    }
    cells
}

/// Of a number in [1, 2), by the series of the inverse hyperbolic tangent.
const fn ln(number: f64) -> f64 {
    let ratio = (number - 1.0) / (number + 1.0);
    let (mut term, mut sum, mut odd) = (ratio, 0.0, 1.0);
    while term > 1e-20 {
        sum += term / odd;
        term *= ratio * ratio;
        odd += 2.0;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Largest power at least `u`, one by one.
    fn naive(rate: f64, word: u64) -> u64 {
        let mut gap = 0;
        while power(rate, gap + 1) >= u128::from(word | 1) << 64 {
            gap += 1;
        }
        gap
    }

    #[test]
    fn the_logarithm_keeps_its_promise() {
        let mut random = Random::new(1, 1);
        let edges = (0..64).flat_map(|shift| [1u64 << shift, !0 >> shift, (1 << shift) + 1]);
        let words: std::vec::Vec<u64> = edges.chain((0..500_000).map(|_| random.word())).collect();
        for word in words {
            let word = word >> (word % 50) | 1;
            let exact = -libm::log(word as f64 / 18_446_744_073_709_551_616.0);
            let error = (minus_ln(word) - exact).abs();
            // The other logarithm, of at most 44.4, has an error of its own.
            assert!(error < ERROR / 2.0 + 4e-15, "{word:#x}: off by {error:e}");
        }
    }

    #[test]
    fn a_certain_hit_has_no_gap_and_an_impossible_one_the_longest() {
        for word in [0, 1, 1 << 63, !0] {
            assert_eq!(Gaps::ALWAYS.of(word), 0);
            assert_eq!(Gaps::NEVER.of(word), LONGEST_GAP);
            assert_eq!(Gaps::new(0.0).of(word), LONGEST_GAP);
            assert_eq!(Gaps::new(1e-300).of(word), LONGEST_GAP);
        }
        assert_eq!(Gaps::new(1.0 - f64::EPSILON).of(!0), 0);
    }

    /// Words right at a power of q, where the estimate cannot know.
    #[test]
    fn what_lies_at_the_edge_is_settled() {
        for rate in [0.5, 0.25, 0.1, 1e-3, 1e-6, 1e-12] {
            for gap in [1, 2, 3, 10, 1000, 1_000_000, 1_000_000_000] {
                let edge = (power(rate, gap) >> 64) as u64;
                if edge < 1000 {
                    continue;
                }
                let (above, below) = ((edge | 1) + 2, (edge | 1) - 2);
                assert!(Gaps::new(rate).of(above) < gap, "{rate} {gap}");
                assert!(Gaps::new(rate).of(below) >= gap, "{rate} {gap}");
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_search_from_zero(word: u64, rate in 0.003..1.0f64) {
            prop_assert_eq!(Gaps::new(rate).of(word), naive(rate, word));
        }

        #[test]
        fn is_the_largest_power_that_is_no_less(word: u64, magnitude in -45.0..0.0f64) {
            let (rate, u) = (magnitude.exp(), u128::from(word | 1) << 64);
            let gap = Gaps::new(rate).of(word);
            prop_assert!(power(rate, gap) >= u, "gap {}", gap);
            prop_assert!(gap == LONGEST_GAP || power(rate, gap + 1) < u, "gap {}", gap);
        }
    }
}
