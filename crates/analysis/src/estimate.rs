//! From sampled blocks to amounts of memory, with the error to expect.
//!
//! A block is in the trace with probability `p` ([`sampling`](crate::sampling) says which), whatever
//! happens to other blocks. The Horvitz-Thompson estimator (1952) lets each included block stand for
//! `1 / p` blocks like it: the sum of `y / p` has the expectation of the sum of `y` over *all* blocks,
//! for any property `y`. For independent inclusion the sum of `(1 - p) / p^2 * y^2` over the included
//! blocks is an unbiased estimate of its variance. With `y` the block's bytes we get bytes, with
//! `y = 1` objects, with `y` its bytes times its age byte-seconds.
//!
//! This has a lower variance than counting hits (`samples / rate`), and a block so large that it is
//! always included adds no variance at all. At rate 1 every number is exact.

use std::ops::{AddAssign, SubAssign};

use crate::fixed::Fixed;

/// 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// How many blocks a sampled block stands for: the inverse of its probability of inclusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight(f64);

impl Weight {
    /// Of a block that is certain to be in the trace.
    pub const ONE: Self = Self(1.0);

    /// Of a block that is in the trace with this probability.
    pub fn of_inclusion(probability: f64) -> Self {
        Self((1.0 / probability).min(u64::MAX as f64))
    }

    /// The number of blocks.
    pub fn value(self) -> f64 {
        self.0
    }

    /// What the block adds to an estimate of the sum of a property that it has `amount` of.
    pub fn estimate(self, amount: f64) -> Estimate {
        // (1 - p) / p^2 = w^2 - w.
        let variance = self.0 * (self.0 - 1.0) * amount * amount;
        let value = self.0 * amount;
        Estimate { value, variance, uncertain: value * self.doubt() }
    }

    /// 1 for blocks that are seldom hit, 0 for those that always are, `sqrt(1 - p^4)` between.
    fn doubt(self) -> f64 {
        let is_seldom = self.0 > 100.0;
        if is_seldom { 1.0 } else { (1.0 - self.0.powi(-4)).sqrt() }
    }

    /// What a block of so many bytes adds to the sums.
    pub fn tally(self, bytes: u64) -> Tally {
        Tally {
            samples: 1,
            bytes: self.estimate(bytes as f64).into(),
            objects: self.estimate(1.0).into(),
        }
    }
}

/// An unbiased estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The estimated number.
    pub value: f64,
    /// Its estimated variance, in the unit squared; 0 if the value is exact.
    pub variance: f64,
    /// The part of the value that rests on blocks that might well have been missed; see
    /// [`interval`](Self::interval).
    pub uncertain: f64,
}

impl Estimate {
    /// An estimate that rests on blocks of which any might have been missed.
    pub fn new(value: f64, variance: f64) -> Self {
        Self { value, variance, uncertain: value }
    }

    /// Half the width of the 95 % confidence interval, by the normal approximation.
    pub fn interval95(&self) -> f64 {
        Z95 * self.variance.sqrt()
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.variance += other.variance;
        self.uncertain += other.uncertain;
    }
}

impl AddAssign<&Estimate> for Estimate {
    fn add_assign(&mut self, other: &Self) {
        *self += *other;
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

impl AddAssign<&Amount> for Amount {
    fn add_assign(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.bytes += other.bytes;
        self.objects += other.objects;
    }
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

    /// The set's bytes alone, as part of objects that are counted elsewhere.
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
    uncertain: Fixed,
}

impl From<Estimate> for Sum {
    fn from(Estimate { value, variance, uncertain }: Estimate) -> Self {
        let fixed = Fixed::from_f64;
        Self { value: fixed(value), variance: fixed(variance), uncertain: fixed(uncertain) }
    }
}

impl Sum {
    fn estimate(self) -> Estimate {
        Estimate {
            value: self.value.to_f64(),
            variance: self.variance.to_f64(),
            uncertain: self.uncertain.to_f64(),
        }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.variance += other.variance;
        self.uncertain += other.uncertain;
    }
}

impl SubAssign for Sum {
    fn sub_assign(&mut self, other: Self) {
        self.value -= other.value;
        self.variance -= other.variance;
        self.uncertain -= other.uncertain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_is_that_of_independent_inclusion() {
        let amount = Weight::of_inclusion(0.25).tally(8).amount();
        assert_eq!((amount.objects.value, amount.objects.variance), (4.0, 0.75 * 16.0));
        assert_eq!((amount.bytes.value, amount.bytes.variance), (32.0, 0.75 * 16.0 * 64.0));
        assert!((amount.objects.interval95() - 1.96 * 12f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn what_is_certain_is_exact() {
        let mut tally = Tally::default();
        (0..1000).for_each(|bytes| tally += &Weight::ONE.tally(bytes));
        let amount = tally.amount();
        assert_eq!(amount.bytes, Estimate { value: 999.0 * 500.0, variance: 0.0, uncertain: 0.0 });
        assert_eq!(amount.objects, Estimate { value: 1000.0, variance: 0.0, uncertain: 0.0 });
    }

    #[test]
    fn what_is_freed_leaves_nothing() {
        let block = |number: u64| Weight::of_inclusion(1.37e-5 * number as f64).tally(number * 31);
        let mut tally = Tally::default();
        (1..1000).for_each(|number| tally += &block(number));
        (1..1000).rev().for_each(|number| tally -= &block(number));
        assert_eq!(tally, Tally::default());
    }
}
