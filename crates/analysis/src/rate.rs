//! How densely to sample, to see so much memory so precisely.
//!
//! Each byte is hit with probability `1 / interval`, so a block of `b` bytes is in the trace with
//! probability `p = 1 - (1 - 1 / interval)^b`. An amount of `L` bytes in `L / b` such blocks is
//! estimated without bias, with a variance of `(1 - p) / p * b * L`. Within how much of the truth the
//! estimate is, in so many cases of a hundred, is `z` standard errors, divided by `L`:
//!
//! ```text
//! within = z * sqrt((1 - p) / p * b / L)
//! ```
//!
//! Any two of interval, amount and precision give the third. All else being equal, small blocks are
//! the worst: `(1 - p) / p * b` falls as `b` grows, and is at most `interval - 1`. That is for few
//! samples an approximation: below some ten of them, estimates are not normally distributed.

use crate::estimate::Estimate;
use crate::normal;

/// How sure to be of something: between 0 and 1, both excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    level: f64,
    /// So many standard errors on either side.
    z: f64,
}

impl Confidence {
    /// `None` unless the level lies between 0 and 1.
    pub fn new(level: f64) -> Option<Self> {
        let z = normal::quantile(0.5 + level / 2.0);
        (level > 0.0 && level < 1.0 && z > 0.0 && z.is_finite()).then_some(Self { level, z })
    }

    /// Between 0 and 1.
    pub fn level(self) -> f64 {
        self.level
    }
}

/// Blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    bytes: f64,
}

impl Blocks {
    /// The smallest; what holds for these holds for all.
    pub const SMALLEST: Self = Self { bytes: 1.0 };

    /// Blocks of so many bytes; `None` for 0.
    pub fn of_bytes(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self { bytes: bytes as f64 })
    }

    /// The interval, in bytes, with which so many bytes of these blocks are seen `within` that share
    /// of their amount.
    pub fn interval(self, amount: f64, within: f64, confidence: Confidence) -> f64 {
        let missed_per_hit = within * within * amount / (confidence.z * confidence.z * self.bytes);
        let ln_missed = -missed_per_hit.recip().ln_1p();
        -(ln_missed / self.bytes).exp_m1().recip()
    }

    /// Within what share of their amount so many bytes of these blocks are seen.
    pub fn within(self, amount: f64, interval: f64, confidence: Confidence) -> f64 {
        confidence.z * (self.missed_bytes_per_hit(interval) / amount).sqrt()
    }

    /// How many bytes of these blocks are seen `within` that share of their amount; of less, not so
    /// precisely.
    pub fn amount(self, interval: f64, within: f64, confidence: Confidence) -> f64 {
        self.missed_bytes_per_hit(interval) * (confidence.z / within).powi(2)
    }

    /// How many samples so many bytes of these blocks have, on average.
    pub fn samples(self, amount: f64, interval: f64) -> f64 {
        -self.ln_missed(interval).exp_m1() * amount / self.bytes
    }

    /// The probability that none of so many bytes is sampled. The size of blocks does not matter.
    pub fn missed(self, amount: f64, interval: f64) -> f64 {
        (self.ln_missed(interval) * amount / self.bytes).exp()
    }

    /// What a report says of so many bytes of these blocks if it is right.
    pub fn estimate(self, amount: f64, interval: f64) -> Estimate {
        let included = -self.ln_missed(interval).exp_m1();
        Estimate {
            value: amount,
            variance: self.missed_bytes_per_hit(interval) * amount,
            uncertain: amount * (1.0 - included.powi(4)).sqrt(),
        }
    }

    /// Logarithm of the probability that a block is not sampled.
    fn ln_missed(self, interval: f64) -> f64 {
        self.bytes * (-interval.recip()).ln_1p()
    }

    /// Bytes not seen for each block that is: `(1 - p) / p * b`.
    fn missed_bytes_per_hit(self, interval: f64) -> f64 {
        self.bytes / (-self.ln_missed(interval)).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sure(level: f64) -> Confidence {
        Confidence::new(level).unwrap()
    }

    #[test]
    fn small_blocks_are_counted_like_raindrops() {
        let interval = Blocks::SMALLEST.interval(10e6, 0.1, sure(0.95));
        let samples = Blocks::SMALLEST.samples(10e6, interval);
        assert!((samples - (1.96f64 / 0.1).powi(2)).abs() < 0.1, "{samples}");
        assert!((interval - 26_032.0).abs() < 1.0, "{interval}");
    }

    #[test]
    fn large_blocks_are_cheap() {
        let large = Blocks::of_bytes(1 << 20).unwrap();
        let interval = large.interval(10e6, 0.1, sure(0.95));
        assert!(interval > 100.0 * 1024.0, "{interval}");
        assert!(large.within(10e6, 65_536.0, sure(0.95)) < 1e-3);
    }

    #[test]
    fn everything_is_exact() {
        for bytes in [1, 64, 1 << 20] {
            let blocks = Blocks::of_bytes(bytes).unwrap();
            assert_eq!(blocks.within(1e6, 1.0, sure(0.95)), 0.0);
            assert_eq!(blocks.missed(1e6, 1.0), 0.0);
            assert_eq!(blocks.samples(1e6, 1.0), 1e6 / bytes as f64);
        }
    }

    #[test]
    fn impossible_confidence_is_refused() {
        for level in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Confidence::new(level), None, "{level}");
        }
        assert_eq!(Blocks::of_bytes(0), None);
    }

    proptest! {
        #[test]
        fn all_three_ways_agree(
            block in 1u64..1 << 24,
            amount in 1e3..1e13_f64,
            within in 1e-3..1.0_f64,
            level in 0.5..0.999_f64,
        ) {
            let (blocks, confidence) = (Blocks::of_bytes(block).unwrap(), sure(level));
            let interval = blocks.interval(amount, within, confidence);
            prop_assert!(interval >= 1.0);
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b;
            let back = blocks.within(amount, interval, confidence);
            prop_assert!(close(back, within), "within {within}, {back}");
            let back = blocks.amount(interval, within, confidence);
            prop_assert!(close(back, amount), "amount {amount}, {back}");
        }

        #[test]
        fn small_blocks_are_the_worst(
            block in 1u64..1 << 24,
            interval in 2.0..1e9_f64,
            amount in 1e3..1e13_f64,
        ) {
            let (blocks, confidence) = (Blocks::of_bytes(block).unwrap(), sure(0.95));
            let smallest = Blocks::SMALLEST.within(amount, interval, confidence);
            prop_assert!(blocks.within(amount, interval, confidence) <= smallest * (1.0 + 1e-9));
            let samples = Blocks::SMALLEST.samples(amount, interval);
            prop_assert!(blocks.samples(amount, interval) <= samples * (1.0 + 1e-9));
        }

        #[test]
        fn a_denser_sample_is_more_precise(
            block in 1u64..1 << 16,
            interval in 2.0..1e6_f64,
            amount in 1e3..1e13_f64,
        ) {
            let blocks = Blocks::of_bytes(block).unwrap();
            let precise = blocks.within(amount, interval, sure(0.95));
            let less = blocks.within(amount, interval * 1.5, sure(0.95));
            // Of large blocks next to none is missed at either interval: then both are exact, to the last bit.
            prop_assert!(precise < less || (precise, less) == (0.0, 0.0));
        }
    }
}
