//! How long blocks live, of which nobody knows when they died, only between which ages.
//!
//! A young block that a collection finds dead died at some age up to that moment; one that it finds
//! alive dies later. The curve that makes what was seen most likely is found by the self-consistency
//! of Efron (1967) and Turnbull (1976): each block's death is shared out over the ages at which it may
//! have been, by the curve so far; that gives the next curve. Where the data do not tell one age from
//! another, what the first curve said remains: as many deaths in each doubling of the age as in the
//! next, since nothing says on which scale to look.
//!
//! Ages are put into bins, eight for each doubling, so it costs the same however many blocks there are.

use std::collections::BTreeMap;

/// Bins for each doubling of the age.
const FINENESS: usize = 8;
/// The first bin ends so many doublings below the unit, the last but one so many above it.
const BELOW: usize = 6;
const ABOVE: usize = 20;
const BINS: usize = 2 + (BELOW + ABOVE) * FINENESS;
const STEPS: usize = 300;

/// Blocks by the bins of the ages between which they died.
#[derive(Clone, Debug, Default)]
pub struct Censored {
    cells: BTreeMap<(usize, usize), f64>,
}

/// What part of blocks is alive at which age.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// At the beginnings of the bins.
    alive: Vec<f64>,
}

impl Censored {
    /// Blocks that died after one age and not after the other, in units; [`f64::INFINITY`] if they may
    /// live for ever.
    pub fn add(&mut self, after: f64, until: f64, weight: f64) {
        // An age counts as that of the nearest beginning of a bin, so that no bin is both before and
        // after it.
        let first = nearest(after).min(BINS - 1);
        let last = nearest(until).saturating_sub(1).max(first);
        *self.cells.entry((first, last)).or_default() += weight;
    }

    /// The most likely curve; nothing without blocks.
    pub fn curve(&self) -> Option<Curve> {
        let total: f64 = self.cells.values().sum();
        if total.is_nan() || total <= 0.0 {
            return None;
        }
        let mut deaths = first_guess();
        for _ in 0..STEPS {
            deaths = self.shared_out(&deaths);
        }
        let mut alive = 1.0;
        let before = |&deaths: &f64| {
            let before = alive;
            alive = f64::max(alive - deaths / total, 0.0);
            before
        };
        Some(Curve { alive: deaths.iter().map(before).collect() })
    }

    /// The deaths in each bin if they are spread as these were.
    fn shared_out(&self, deaths: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; BINS + 1];
        for (at, deaths) in deaths.iter().enumerate() {
            sums[at + 1] = sums[at] + deaths;
        }
        // What each bin gets of a cell is in proportion to its deaths; the factors change at the cells'
        // ends.
        let mut changes = vec![0.0; BINS + 1];
        for (&(first, last), weight) in &self.cells {
            let within = sums[last + 1] - sums[first];
            let factor = if within > 0.0 { weight / within } else { 0.0 };
            changes[first] += factor;
            changes[last + 1] -= factor;
        }
        let mut factor = 0.0;
        let share = |(deaths, change): (&f64, &f64)| {
            factor += change;
            deaths * f64::max(factor, 0.0)
        };
        deaths.iter().zip(&changes).map(share).collect()
    }
}

impl Curve {
    /// The mean number of units that a block is alive between two ages.
    pub fn area(&self, from: f64, to: f64) -> f64 {
        let parts = (0..BINS).map(|bin| {
            let (left, right) = (begin(bin), begin(bin + 1));
            let (low, high) = (from.max(left), to.min(right));
            if low < high { (high - low) * self.between((low + high) / 2.0, bin) } else { 0.0 }
        });
        parts.sum()
    }

    /// The part that is alive at an age.
    pub fn at(&self, age: f64) -> f64 {
        self.between(age, bin(age))
    }

    fn between(&self, age: f64, bin: usize) -> f64 {
        let (left, right) = (begin(bin), begin(bin + 1));
        let Some(after) = self.alive.get(bin + 1) else { return self.alive[bin] };
        self.alive[bin] + (after - self.alive[bin]) * (age - left) / (right - left)
    }
}

/// Deaths in each bin before anything is known. Those before the first doubling and after the last
/// count as one each.
fn first_guess() -> Vec<f64> {
    let guess = |bin| if bin == 0 || bin == BINS - 1 { FINENESS as f64 } else { 1.0 };
    (0..BINS).map(guess).collect()
}

fn bin(age: f64) -> usize {
    let place = (age.log2() + BELOW as f64) * FINENESS as f64;
    let is_after_first = place >= 0.0;
    if is_after_first { 1 + (place as usize).min(BINS - 2) } else { 0 }
}

/// The bin whose beginning is nearest.
fn nearest(age: f64) -> usize {
    if age == f64::INFINITY {
        return BINS;
    }
    let bin = bin(age);
    let middle = if bin == 0 { begin(1) / 2.0 } else { (begin(bin) * begin(bin + 1)).sqrt() };
    bin + usize::from(age >= middle)
}

/// The age at which a bin begins.
fn begin(bin: usize) -> f64 {
    match bin {
        0 => 0.0,
        BINS.. => f64::INFINITY,
        _ => ((bin - 1) as f64 / FINENESS as f64 - BELOW as f64).exp2(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::simulation::Random;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance
    }

    #[test]
    fn bins_follow_each_other() {
        for at in 0..BINS {
            let middle =
                if at == BINS - 1 { begin(at) * 2.0 } else { (begin(at) + begin(at + 1)) / 2.0 };
            assert_eq!(bin(middle), at);
        }
        assert_eq!([bin(f64::NAN), bin(-1.0), bin(0.0), bin(f64::INFINITY)], [0, 0, 0, BINS - 1]);
    }

    #[test]
    fn known_ages_give_the_curve_of_the_ages() {
        let mut blocks = Censored::default();
        for (age, weight) in [(0.5, 1.0), (2.0, 2.0), (f64::INFINITY, 1.0)] {
            blocks.add(age, age, weight);
        }
        let curve = blocks.curve().unwrap();
        let alive = [0.4, 0.6, 1.9, 2.3, 1000.0].map(|age| curve.at(age));
        let expected = [1.0, 0.75, 0.75, 0.25, 0.25];
        assert!(alive.iter().zip(expected).all(|(a, b)| close(*a, b, 1e-9)), "{alive:?}");
        assert!(close(curve.area(0.6, 1.8), 0.9, 1e-9));
    }

    #[test]
    fn blocks_that_are_looked_at_once_give_the_curve() {
        let mut random = Random::new(1);
        let mut blocks = Censored::default();
        for _ in 0..100_000 {
            let (age, look) = (random.waiting(1.0), 3.0 * random.unit());
            if age > look {
                blocks.add(look, f64::INFINITY, 1.0)
            } else {
                blocks.add(0.0, look, 1.0)
            }
        }
        let curve = blocks.curve().unwrap();
        for age in [0.25_f64, 0.5, 1.0, 2.0] {
            assert!(close(curve.at(age), (-age).exp(), 0.04), "{age}: {}", curve.at(age));
        }
        assert!(
            close(curve.area(0.0, 2.0) / (1.0 - (-2.0_f64).exp()), 1.0, 0.03),
            "{}",
            curve.area(0.0, 2.0)
        );
    }

    #[test]
    fn where_nothing_tells_doublings_are_alike() {
        let mut blocks = Censored::default();
        blocks.add(1.0, 16.0, 1.0);
        let curve = blocks.curve().unwrap();
        let alive = [1.0, 2.0, 4.0, 8.0, 16.0].map(|age| curve.at(age));
        assert!(alive.iter().zip([1.0, 0.75, 0.5, 0.25, 0.0]).all(|(a, b)| close(*a, b, 1e-9)));
        assert_eq!(Censored::default().curve(), None);
    }

    proptest! {
        #[test]
        fn curves_fall(
            blocks in prop::collection::vec((0.0..20.0, 0.0..1e7, 0.0..9.0), 1..40),
        ) {
            let mut all = Censored::default();
            for (after, longer, weight) in blocks {
                all.add(after, after + longer, weight);
            }
            if let Some(curve) = all.curve() {
                prop_assert_eq!(curve.at(0.0), 1.0);
                prop_assert!(curve.alive.windows(2).all(|pair| pair[1] <= pair[0]));
                let area = curve.area(1.0, 8.0);
                prop_assert!(7.0 * curve.at(8.0) - 1e-9 <= area && area <= 7.0 * curve.at(1.0) + 1e-9);
            }
        }
    }
}
