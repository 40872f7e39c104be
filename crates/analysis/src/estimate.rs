//! From sampled blocks to amounts of memory, with the error to expect.
//!
//! The sampler hits each word independently with probability `rate`; a block is in the trace if one
//! of its words was hit. A block of `u` words is therefore included with probability
//! `p = 1 - (1 - rate)^u`, whatever happens to other blocks. The Horvitz-Thompson estimator (1952)
//! lets each included block stand for `1 / p` blocks like it: the sum of `y / p` has the
//! expectation of the sum of `y` over *all* blocks, for any property `y`. For independent inclusion
//! the sum of `(1 - p) / p^2 * y^2` over the included blocks is an unbiased estimate of its
//! variance. With `y` the block's bytes we get bytes, with `y = 1` objects.
//!
//! This has a lower variance than counting hits (`samples / rate`), and a block so large that it is
//! always included adds no variance at all. At rate 1 every number is exact.
//!
//! Words that the sampler sees: a managed runtime's blocks have a header word more than their
//! length; elsewhere a block has its length, but at least one word.

use std::ops::{AddAssign, SubAssign};

use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::ids::Words;

use crate::fixed::Fixed;

/// 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// How a trace was sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    rate: f64,
    /// Logarithm of the probability that a word is not hit.
    ln_miss: f64,
    word_bytes: u64,
}

/// A trace whose samples mean nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InvalidSampling {
    /// Not in (0, 1].
    Rate(f64),
    /// Neither 32 nor 64.
    WordBits(u8),
}

impl std::fmt::Display for InvalidSampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rate(rate) => {
                write!(f, "sampling rate {rate} is not greater than 0 and at most 1")
            }
            Self::WordBits(bits) => write!(f, "word size of {bits} bits is neither 32 nor 64"),
        }
    }
}

impl std::error::Error for InvalidSampling {}

impl Sampling {
    /// The sampling that `info` describes.
    ///
    /// # Errors
    /// If nothing can be estimated from such a trace.
    pub fn new(info: &TraceInfo) -> Result<Self, InvalidSampling> {
        let rate = info.sample_rate;
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(InvalidSampling::Rate(rate));
        }
        if !matches!(info.word_bits, 32 | 64) {
            return Err(InvalidSampling::WordBits(info.word_bits));
        }
        Ok(Self { rate, ln_miss: (-rate).ln_1p(), word_bytes: u64::from(info.word_bits) / 8 })
    }

    /// Whether every block is in the trace.
    pub fn is_exact(&self) -> bool {
        self.rate == 1.0
    }

    /// Probability that a word is hit.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Mean number of bytes from one hit to the next.
    pub fn interval_bytes(&self) -> f64 {
        self.word_bytes as f64 / self.rate
    }

    /// What one sampled block adds to the sums.
    pub fn weigh(&self, source: Source, length: Words) -> Tally {
        let units = sampled_words(source, length);
        let log_excluded = units as f64 * self.ln_miss;
        let (excluded, included) = (log_excluded.exp(), -log_excluded.exp_m1());
        let bytes = held_words(source, length) as f64 * self.word_bytes as f64;
        let weight = 1.0 / included;
        let variance = excluded * weight * weight;
        Tally {
            samples: 1,
            bytes: Sum::new(bytes * weight, variance * bytes * bytes),
            objects: Sum::new(weight, variance),
        }
    }
}

fn held_words(source: Source, length: Words) -> u64 {
    match source {
        Source::External => length.0,
        Source::Minor | Source::Major => length.0.saturating_add(1),
    }
}

fn sampled_words(source: Source, length: Words) -> u64 {
    held_words(source, length).max(1)
}

/// An unbiased estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The estimated number.
    pub value: f64,
    /// Its estimated variance, in the unit squared; 0 if the value is exact.
    pub variance: f64,
}

impl Estimate {
    /// Half the width of the 95 % confidence interval, by the normal approximation.
    pub fn interval95(&self) -> f64 {
        Z95 * self.variance.sqrt()
    }
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Sampled blocks that the estimates rest on. If 0, and the trace is not exact, then the
    /// estimates are 0 and their variance says nothing.
    pub samples: u64,
    /// Bytes, a runtime's header words included, in whole words.
    pub bytes: Estimate,
    /// Number of blocks.
    pub objects: Estimate,
}

/// A growing and shrinking set of sampled blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    samples: u64,
    bytes: Sum,
    objects: Sum,
}

impl Tally {
    /// What the blocks stand for.
    pub fn amount(&self) -> Amount {
        Amount {
            samples: self.samples,
            bytes: self.bytes.estimate(),
            objects: self.objects.estimate(),
        }
    }

    /// The same bytes, as part of objects that are counted elsewhere.
    pub fn without_objects(self) -> Self {
        Self { objects: Sum::default(), ..self }
    }

    /// Whether no block is in the set.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Whether this set stands for more bytes than the other.
    pub fn exceeds(&self, other: &Self) -> bool {
        self.bytes.value > other.bytes.value
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        self.samples = self.samples.saturating_add(other.samples);
        self.bytes += other.bytes;
        self.objects += other.objects;
    }
}

impl SubAssign<&Tally> for Tally {
    fn sub_assign(&mut self, other: &Tally) {
        self.samples = self.samples.saturating_sub(other.samples);
        self.bytes -= other.bytes;
        self.objects -= other.objects;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    value: Fixed,
    variance: Fixed,
}

impl Sum {
    fn new(value: f64, variance: f64) -> Self {
        Self { value: Fixed::from_f64(value), variance: Fixed::from_f64(variance) }
    }

    fn estimate(self) -> Estimate {
        Estimate { value: self.value.to_f64(), variance: self.variance.to_f64() }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.variance += other.variance;
    }
}

impl SubAssign for Sum {
    fn sub_assign(&mut self, other: Self) {
        self.value -= other.value;
        self.variance -= other.variance;
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::ids::{DomainId, Timestamp};

    use super::*;

    fn info(sample_rate: f64, word_bits: u8) -> TraceInfo {
        TraceInfo {
            sample_rate,
            word_bits,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        }
    }

    fn sampling(rate: f64) -> Sampling {
        Sampling::new(&info(rate, 64)).unwrap()
    }

    fn check(rate: f64, source: Source, length: u64, bytes: f64, objects: f64) {
        let amount = sampling(rate).weigh(source, Words(length)).amount();
        let close = |a: f64, b: f64| (a - b).abs() <= b * 1e-9 + 1e-9;
        assert!(close(amount.bytes.value, bytes), "{} bytes", amount.bytes.value);
        assert!(close(amount.objects.value, objects), "{} objects", amount.objects.value);
    }

    #[test]
    fn a_block_stands_for_those_that_were_missed() {
        check(0.5, Source::External, 1, 16.0, 2.0);
        check(0.5, Source::External, 2, 16.0 / 0.75, 1.0 / 0.75);
        check(1e-9, Source::External, 1, 8e9, 1e9);
        check(1e-3, Source::External, 10_000_000, 8e7, 1.0);
    }

    #[test]
    fn a_header_counts_and_an_empty_block_can_be_hit() {
        check(0.5, Source::Minor, 1, 16.0 / 0.75, 1.0 / 0.75);
        check(0.5, Source::Major, 0, 16.0, 2.0);
        check(0.5, Source::External, 0, 0.0, 2.0);
    }

    #[test]
    fn variance_is_that_of_independent_inclusion() {
        let amount = sampling(0.25).weigh(Source::External, Words(1)).amount();
        assert_eq!(amount.objects.variance, 0.75 * 16.0);
        assert_eq!(amount.bytes.variance, 0.75 * 16.0 * 64.0);
        assert!((amount.objects.interval95() - 1.96 * 12f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn rate_one_is_exact() {
        let mut tally = Tally::default();
        for length in 0..1000 {
            tally += &sampling(1.0).weigh(Source::External, Words(length));
        }
        let amount = tally.amount();
        assert_eq!(amount.bytes, Estimate { value: 999.0 * 1000.0 / 2.0 * 8.0, variance: 0.0 });
        assert_eq!(amount.objects, Estimate { value: 1000.0, variance: 0.0 });
        assert!(sampling(1.0).is_exact());
    }

    #[test]
    fn what_is_freed_leaves_nothing() {
        let sampling = sampling(1.37e-5);
        let mut tally = Tally::default();
        for length in 0..1000 {
            tally += &sampling.weigh(Source::Minor, Words(length * 31));
        }
        for length in (0..1000).rev() {
            tally -= &sampling.weigh(Source::Minor, Words(length * 31));
        }
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn impossible_samplings_are_refused() {
        for rate in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert!(
                matches!(Sampling::new(&info(rate, 64)), Err(InvalidSampling::Rate(_))),
                "{rate}"
            );
        }
        assert_eq!(Sampling::new(&info(0.1, 63)), Err(InvalidSampling::WordBits(63)));
    }

    #[test]
    fn enormous_blocks_and_tiny_rates_do_not_panic() {
        for source in [Source::Minor, Source::External] {
            for rate in [f64::MIN_POSITIVE, 1e-12, 1.0] {
                let amount = sampling(rate).weigh(source, Words(u64::MAX)).amount();
                assert!(amount.bytes.value.is_finite() && amount.bytes.variance.is_finite());
            }
        }
    }

    #[test]
    fn the_interval_is_in_bytes() {
        assert_eq!(sampling(1.0 / 65536.0).interval_bytes(), 524_288.0);
        assert_eq!(Sampling::new(&info(0.5, 32)).unwrap().interval_bytes(), 8.0);
    }
}
