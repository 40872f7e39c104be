//! How large or how old blocks are: a histogram whose bins are narrow in proportion.
//!
//! Each power of two is divided into [`SUBDIVISIONS`] bins, so a bin is narrower than 1/16 (6.25 %)
//! of its least value, and all values below 32 have a bin of their own. A bin remembers the least and
//! greatest value it has seen: where all its values are equal, as sizes often are, nothing is lost.
//! There are [`Bin::COUNT`] bins at most, and only those that were hit are stored. (The bins are those
//! of HdrHistogram; Masson, Rim and Lee 2019 show for DDSketch that a bound in proportion survives
//! merging.)
//!
//! Quantiles get their interval by inverting that of the share below (Woodruff 1952; Francisco and
//! Fuller 1991, "Quantile estimation with a complex survey design"). The error is that of sampling
//! alone: at rate 1 the interval is the width of a bin, or nothing.

use std::ops::AddAssign;

use super::mass::{Mass, Sums, Unit};
use super::proportion::Proportion;

/// Bins in each power of two.
pub const SUBDIVISIONS: u64 = 16;
const SUBDIVISION_BITS: u32 = SUBDIVISIONS.ilog2();

/// A range of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bin(u16);

impl Bin {
    /// How many there are.
    pub const COUNT: usize = Self::of(u64::MAX).0 as usize + 1;

    /// The one that holds this value.
    pub const fn of(value: u64) -> Self {
        if value < SUBDIVISIONS {
            return Self(value as u16);
        }
        let shift = value.ilog2() - SUBDIVISION_BITS;
        Self((shift as u16) * SUBDIVISIONS as u16 + (value >> shift) as u16)
    }

    /// Its least value.
    pub fn least(self) -> u64 {
        let index = u64::from(self.0);
        let shift = (index / SUBDIVISIONS).saturating_sub(1);
        (index - shift * SUBDIVISIONS) << shift
    }

    /// Its greatest value.
    pub fn greatest(self) -> u64 {
        let shift = (u64::from(self.0) / SUBDIVISIONS).saturating_sub(1);
        self.least() + ((1u64 << shift) - 1)
    }
}

/// What was seen of one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Which.
    pub bin: Bin,
    /// The least value seen.
    pub least: u64,
    /// The greatest value seen.
    pub greatest: u64,
    /// The blocks.
    pub mass: Mass,
}

/// Sampled blocks by a property of theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bin.
    contents: Vec<Content>,
}

/// The value below which a given share lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The estimate.
    pub value: f64,
    /// The least that it may be; `None` if it may be less than all that was seen.
    pub low: Option<f64>,
    /// The most that it may be; `None` if it may be more than all that was seen.
    pub high: Option<f64>,
}

impl Histogram {
    /// Takes a block that has this value.
    pub fn add(&mut self, value: u64, mass: &Mass) {
        let content = Content { bin: Bin::of(value), least: value, greatest: value, mass: *mass };
        self.add_content(&content);
    }

    /// The bins that were hit, in order.
    pub fn contents(&self) -> &[Content] {
        &self.contents
    }

    /// Whether it has no block.
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// All blocks.
    pub fn total(&self) -> Mass {
        let mut total = Mass::default();
        self.contents.iter().for_each(|content| total += &content.mass);
        total
    }

    /// The share of blocks (or of their bytes) with at most this value; `None` without blocks. Within
    /// a bin values count as evenly spread.
    pub fn share_at_most(&self, unit: Unit, value: u64) -> Option<Proportion> {
        share_at_most(&self.steps(unit), value)
    }

    /// The value that a share `q` of blocks (or of their bytes) does not exceed; `None` without blocks.
    pub fn quantile(&self, unit: Unit, q: f64) -> Option<Quantile> {
        invert(&self.steps(unit), q)
    }

    fn add_content(&mut self, content: &Content) {
        match self.contents.binary_search_by_key(&content.bin, |known| known.bin) {
            Ok(at) => {
                let known = &mut self.contents[at];
                known.least = known.least.min(content.least);
                known.greatest = known.greatest.max(content.greatest);
                known.mass += &content.mass;
            }
            Err(at) => self.contents.insert(at, *content),
        }
    }

    /// The distribution function, with the variance of sampling.
    fn steps(&self, unit: Unit) -> Vec<Step> {
        let total = *self.total().sums(unit);
        let samples = effective_samples(&total);
        let mut below = Sums::default();
        let known = self.contents.iter().filter(|content| content.mass.sums(unit).weight() > 0.0);
        known
            .map(|content| {
                let before = below.weight() / total.weight();
                below += content.mass.sums(unit);
                let share = below.weight() / total.weight();
                let rest = (total.variance() - below.variance()).max(0.0);
                let inner = (1.0 - share).powi(2) * below.variance() + share * share * rest;
                let variance = inner / total.weight().powi(2);
                let (least, greatest) = (content.least, content.greatest);
                Step { least, greatest, before, share, variance, samples }
            })
            .collect()
    }
}

impl AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, other: &Histogram) {
        other.contents.iter().for_each(|content| self.add_content(content));
    }
}

/// So many equal samples would have this total's relative variance.
fn effective_samples(total: &Sums) -> f64 {
    total.weight().powi(2) / total.variance()
}

/// A distribution function over one bin: from `before` to `share`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) least: u64,
    pub(super) greatest: u64,
    pub(super) before: f64,
    pub(super) share: f64,
    /// Of `share`.
    pub(super) variance: f64,
    /// What `share` rests on where it is 0 or 1.
    pub(super) samples: f64,
}

impl Step {
    pub(super) fn proportion(&self) -> Proportion {
        Proportion::new(self.share, self.variance, self.samples)
    }

    fn share_at(&self, value: u64) -> Proportion {
        let width = (self.greatest - self.least) as f64 + 1.0;
        let part = ((value.saturating_sub(self.least)) as f64 + 1.0) / width;
        let share = self.before + (self.share - self.before) * part.min(1.0);
        Proportion::new(share, self.variance, self.samples)
    }

    fn value_at(&self, share: f64) -> f64 {
        let height = self.share - self.before;
        let part = if height > 0.0 { (share - self.before) / height } else { 0.0 };
        self.least as f64 + (self.greatest - self.least) as f64 * part.clamp(0.0, 1.0)
    }
}

/// A distribution function at one value.
pub(super) fn share_at_most(steps: &[Step], value: u64) -> Option<Proportion> {
    let reached = steps.partition_point(|step| step.least <= value);
    match reached.checked_sub(1) {
        Some(last) => Some(steps[last].share_at(value)),
        None => steps.first().map(|step| Proportion::new(0.0, 0.0, step.samples)),
    }
}

/// Where a distribution function reaches `q`, and the first and last place where it may.
pub(super) fn invert(steps: &[Step], q: f64) -> Option<Quantile> {
    let q = q.clamp(0.0, 1.0);
    // Rounding must not hide that a share of 0.5 is reached.
    let reached = |share: f64| share >= q - 1e-12;
    let step = steps.iter().find(|step| reached(step.share))?;
    let intervals = || steps.iter().map(|step| (step, step.proportion().interval95()));
    let low = intervals().find(|(_, (_, high))| reached(*high));
    let high = intervals().find(|(_, (low, _))| reached(*low));
    let open_below = steps.first().is_some_and(|first| {
        let nothing = Proportion::new(0.0, 0.0, first.samples);
        reached(nothing.interval95().1)
    });
    Some(Quantile {
        value: step.value_at(q),
        low: low.filter(|_| !open_below).map(|(step, _)| step.least as f64),
        high: high.map(|(step, _)| step.greatest as f64),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::simulation::{Random, covers_95, inclusion, mass};

    fn histogram(values: &[(u64, f64)]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&(value, p)| histogram.add(value, &mass(value as f64, p)));
        histogram
    }

    #[test]
    fn bins_follow_each_other() {
        let mut next = 0u128;
        for index in 0..Bin::COUNT as u16 {
            let bin = Bin(index);
            assert_eq!(u128::from(bin.least()), next);
            assert_eq!((Bin::of(bin.least()), Bin::of(bin.greatest())), (bin, bin));
            let width = (bin.greatest() - bin.least()) as f64;
            assert!(width <= bin.least() as f64 / SUBDIVISIONS as f64);
            next = u128::from(bin.greatest()) + 1;
        }
        assert_eq!(next, 1 << 64);
        const { assert!(Bin::COUNT < 1000) };
    }

    #[test]
    fn equal_sizes_are_exact() {
        let histogram = histogram(&[(4096, 0.1), (4096, 0.1), (5_000_000, 1.0)]);
        assert_eq!(histogram.quantile(Unit::Objects, 0.5).unwrap().value, 4096.0);
        assert_eq!(histogram.quantile(Unit::Bytes, 0.5).unwrap().value, 5_000_000.0);
        assert_eq!(histogram.share_at_most(Unit::Objects, 4095).unwrap().value, 0.0);
        assert_eq!(histogram.share_at_most(Unit::Objects, 4096).unwrap().value, 20.0 / 21.0);
    }

    #[test]
    fn few_samples_promise_nothing() {
        let one = histogram(&[(100, 0.001)]).quantile(Unit::Objects, 0.5).unwrap();
        assert_eq!(one, Quantile { value: 100.0, low: None, high: None });
        let exact = histogram(&[(100, 1.0)]).quantile(Unit::Objects, 0.5).unwrap();
        assert_eq!(exact, Quantile { value: 100.0, low: Some(100.0), high: Some(100.0) });
        assert_eq!(Histogram::default().quantile(Unit::Objects, 0.5), None);
        assert_eq!(Histogram::default().share_at_most(Unit::Objects, 5), None);
    }

    /// Lengths of a simulated program's blocks: many small, few large.
    fn lengths(random: &mut Random, blocks: usize) -> Vec<u64> {
        (0..blocks).map(|_| (16.0 * random.waiting(1.0).exp()).min(1e6) as u64 + 8).collect()
    }

    #[test]
    fn intervals_of_quantiles_hold_the_whole_programs() {
        const RUNS: usize = 1000;
        let cases = [
            (0.5, Unit::Objects, 1000.0),
            (0.9, Unit::Objects, 1000.0),
            (0.5, Unit::Bytes, 5000.0),
        ];
        for (q, unit, interval) in cases {
            let mut held = 0;
            for seed in 0..RUNS as u64 {
                let mut random = Random::new(seed);
                let (mut exact, mut sampled) = (Histogram::default(), Histogram::default());
                for length in lengths(&mut random, 4000) {
                    let p = inclusion(length as f64, interval);
                    exact.add(length, &mass(length as f64, 1.0));
                    if random.happens(p) {
                        sampled.add(length, &mass(length as f64, p));
                    }
                }
                let truth = exact.quantile(unit, q).unwrap().value;
                let found = sampled.quantile(unit, q).unwrap();
                let low = found.low.is_none_or(|low| low <= truth);
                held += usize::from(low && found.high.is_none_or(|high| truth <= high));
            }
            // Bins widen the interval, so it may hold the truth more often, never less.
            assert!(held > RUNS * 95 / 100 || covers_95(held, RUNS), "{q} {unit:?}: {held}");
            assert!(held < RUNS, "{q} {unit:?}: an interval that always holds says nothing");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            values in prop::collection::vec((0u64..100_000, 0.01f64..1.0), 1..60),
            q in 0.01f64..0.99,
        ) {
            let found = histogram(&values).quantile(Unit::Objects, q).unwrap();
            let mut sorted = values.clone();
            sorted.sort_by_key(|pair| pair.0);
            let total: f64 = sorted.iter().map(|pair| 1.0 / pair.1).sum();
            let mut below = 0.0;
            let naive = sorted.iter().find(|pair| {
                below += 1.0 / pair.1;
                below >= total * q * (1.0 - 1e-9)
            });
            let naive = naive.unwrap().0 as f64;
            prop_assert!((found.value - naive).abs() <= naive / SUBDIVISIONS as f64 + 1e-9);
            prop_assert!(found.low.is_none_or(|low| low <= found.value));
            prop_assert!(found.high.is_none_or(|high| found.value <= high));
        }

        #[test]
        fn merging_is_adding_in_any_order(
            values in prop::collection::vec((0u64..1_000_000, 0.01f64..1.0), 0..60),
            cut in 0usize..60,
        ) {
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = histogram(right);
            merged += &histogram(left);
            prop_assert_eq!(merged, histogram(&values));
        }
    }
}
