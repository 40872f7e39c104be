//! How long blocks live, if some are still alive when the trace ends.
//!
//! The share `S(t)` of blocks that live longer than `t` is the product, over all lifetimes up to
//! `t`, of the share that outlived each among those who reached it (Kaplan and Meier 1958). A block
//! that is alive at the end counts among those who reached an age for as long as it was watched.
//! Blocks are weighted by what they stand for.
//!
//! Lifetimes are kept in the bins of [`Histogram`], so in time the curve is right to within a bin:
//! 6.25 %. Within a bin deaths and ends of watching count as evenly spread, so those who are last
//! seen in it count as watched for half of it (the life table of Cutler and Ederer 1958).
//!
//! The variance treats blocks as an independent draw from what the callsite makes: for equal
//! weights it is Greenwood's (1926), for others the sum of `(weight * influence)^2` over the
//! blocks, with the derivative of `ln S(t)` by the block's weight for the influence (Binder 1992;
//! Williams 1995, "Product-limit survival functions with correlated survival times"). It is never
//! less than that of sampling alone, and not 0 at rate 1: other blocks might live otherwise. It
//! does not know of blocks that always die together; few such groups make the interval too narrow.

use std::ops::AddAssign;

use super::histogram::{Bin, Histogram, Quantile, Step, invert, share_at_most};
use super::mass::{Mass, Sums, Unit};
use super::proportion::Proportion;

/// Lifetimes of sampled blocks, in any unit of time: microseconds, collections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survival {
    died: Histogram,
    watched: Histogram,
}

impl Survival {
    /// Takes a block that died at this age.
    pub fn died(&mut self, age: u64, mass: &Mass) {
        self.died.add(age, mass);
    }

    /// Takes a block that was alive when it was last seen, at this age.
    pub fn survived(&mut self, age: u64, mass: &Mass) {
        self.watched.add(age, mass);
    }

    /// The lifetimes of those that died.
    pub fn deaths(&self) -> &Histogram {
        &self.died
    }

    /// The ages of those that did not.
    pub fn survivors(&self) -> &Histogram {
        &self.watched
    }

    /// The share of blocks that were alive when they were last seen, with the error of sampling; `None`
    /// without blocks.
    pub fn surviving(&self, unit: Unit) -> Option<Proportion> {
        let [died, watched] = [&self.died, &self.watched].map(|part| *part.total().sums(unit));
        let all = died.weight() + watched.weight();
        let share = watched.weight() / all;
        let [of_watched, of_died] = [(1.0 - share).powi(2), share.powi(2)];
        let variance = of_watched * watched.variance() + of_died * died.variance();
        let samples = all * all / (died.variance() + watched.variance());
        (all > 0.0).then(|| Proportion::new(share, variance / (all * all), samples))
    }

    /// The estimated distribution of lifetimes.
    pub fn curve(&self, unit: Unit) -> Curve {
        let exits = self.exits(unit);
        let mut risk = Risk::of(&exits);
        Curve { steps: exits.iter().map(|exit| risk.pass(exit)).collect() }
    }

    /// Deaths and ends of watching side by side, in order.
    fn exits(&self, unit: Unit) -> Vec<Exit> {
        let mut exits = Vec::new();
        let (mut died, mut watched) = (self.died.contents(), self.watched.contents());
        while let Some(bin) =
            [died.first(), watched.first()].into_iter().flatten().map(|c| c.bin).min()
        {
            let mut exit = Exit::new(bin);
            for (rest, is_death) in [(&mut died, true), (&mut watched, false)] {
                if let Some((content, others)) = rest.split_first()
                    && content.bin == bin
                {
                    *rest = others;
                    exit.least = exit.least.min(content.least);
                    exit.greatest = exit.greatest.max(content.greatest);
                    let sums = if is_death { &mut exit.died } else { &mut exit.watched };
                    *sums = *content.mass.sums(unit);
                }
            }
            exits.push(exit);
        }
        exits
    }
}

impl AddAssign<&Survival> for Survival {
    fn add_assign(&mut self, other: &Survival) {
        self.died += &other.died;
        self.watched += &other.watched;
    }
}

/// Those who leave at one age.
struct Exit {
    least: u64,
    greatest: u64,
    died: Sums,
    watched: Sums,
}

impl Exit {
    fn new(bin: Bin) -> Self {
        Self {
            least: bin.greatest(),
            greatest: bin.least(),
            died: Sums::default(),
            watched: Sums::default(),
        }
    }
}

/// A smaller part of a sum is nothing.
const ROUNDING: f64 = 1e-9;

/// Who is left, while one goes along the exits.
struct Risk {
    /// Weights and their squares of those who have not left.
    weight: f64,
    squares: f64,
    survival: f64,
    /// How `-ln S` grows with the weight of one who outlived all exits so far.
    outlived: f64,
    /// Sum of `(weight * influence)^2` over those who left.
    left: f64,
    /// What the last share between 0 and 1 rested on.
    samples: f64,
}

impl Risk {
    fn of(exits: &[Exit]) -> Self {
        let sum = |of: fn(&Sums) -> f64| -> f64 {
            exits.iter().map(|exit| of(&exit.died) + of(&exit.watched)).sum()
        };
        let (weight, squares) = (sum(Sums::weight), sum(Sums::squares));
        let samples = weight * weight / squares;
        Self { weight, squares, survival: 1.0, outlived: 0.0, left: 0.0, samples }
    }

    fn pass(&mut self, exit: &Exit) -> Step {
        let before = 1.0 - self.survival;
        let died = exit.died.weight();
        let exposed = (self.weight - exit.watched.weight() / 2.0).max(died);
        if died > 0.0 {
            self.die(exit, died, exposed);
        } else {
            self.leave(exit.watched.squares(), self.outlived);
        }
        if self.survival == 1.0 {
            self.samples = self.weight * self.weight / self.squares;
        }
        self.weight = (self.weight - died - exit.watched.weight()).max(0.0);
        self.squares = (self.squares - exit.died.squares() - exit.watched.squares()).max(0.0);
        self.step(exit, before)
    }

    fn die(&mut self, exit: &Exit, died: f64, exposed: f64) {
        let outliving = exposed - died;
        // The last of those that were watched, but for rounding: of thousands of weights that were taken away.
        if outliving <= exposed * ROUNDING {
            self.survival = 0.0;
            return;
        }
        self.survival *= outliving / exposed;
        let grows = died / (exposed * outliving);
        self.leave(exit.died.squares(), self.outlived + grows - 1.0 / outliving);
        self.leave(exit.watched.squares(), self.outlived + grows / 2.0);
        self.outlived += grows;
    }

    fn leave(&mut self, squares: f64, influence: f64) {
        self.left += squares * influence * influence;
    }

    fn step(&mut self, exit: &Exit, before: f64) -> Step {
        let log_variance = self.left + self.squares * self.outlived * self.outlived;
        let variance = self.survival * self.survival * log_variance;
        let step = Step {
            least: exit.least,
            greatest: exit.greatest,
            before,
            share: 1.0 - self.survival,
            variance,
            samples: self.samples,
        };
        if self.survival > 0.0 && self.survival < 1.0 {
            self.samples = step.proportion().effective_samples;
        }
        step
    }
}

/// The share of blocks that died, by age.
#[derive(Clone, Debug)]
pub struct Curve {
    steps: Vec<Step>,
}

impl Curve {
    /// The share that dies at this age or before, as far as blocks were watched: at greater ages it is
    /// the share at [`watched`](Self::watched). `None` without blocks.
    pub fn dying_within(&self, age: u64) -> Option<Proportion> {
        share_at_most(&self.steps, age)
    }

    /// The share that lives longer, likewise.
    pub fn living_longer(&self, age: u64) -> Option<Proportion> {
        self.dying_within(age).map(Proportion::complement)
    }

    /// The age at which a share `q` has died; `None` if no such age was reached, because too few died
    /// while they were watched. The median is that of 0.5.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        invert(&self.steps, q)
    }

    /// The greatest age at which a block was seen; `None` without blocks.
    pub fn watched(&self) -> Option<u64> {
        self.steps.last().map(|step| step.greatest)
    }

    /// The curve, for drawing: at each of these ages, in order, what has died.
    pub fn points(&self) -> impl Iterator<Item = (u64, Proportion)> {
        self.steps.iter().map(|step| (step.greatest, step.proportion()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::histogram::SUBDIVISIONS;
    use crate::statistics::simulation::{Random, covers_95, inclusion, mass};

    /// Age, whether it died, probability of inclusion.
    type Life = (u64, bool, f64);

    fn survival(lives: &[Life]) -> Survival {
        let mut survival = Survival::default();
        for &(age, died, p) in lives {
            let take = if died { Survival::died } else { Survival::survived };
            take(&mut survival, age, &mass(1.0, p));
        }
        survival
    }

    /// Freireich's leukaemia patients (1963), the textbook example: weeks in remission.
    const ENDED: [u64; 9] = [6, 6, 6, 7, 10, 13, 16, 22, 23];
    const LASTED: [u64; 12] = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];

    #[test]
    fn the_textbook_curve() {
        // Half weeks: as published, who is censored at a time of deaths counts as watched through it.
        let ended = ENDED.iter().map(|week| (2 * week, true, 1.0));
        let lasted = LASTED.iter().map(|week| (2 * week + 1, false, 1.0));
        let lives: Vec<Life> = ended.chain(lasted).collect();
        let curve = survival(&lives).curve(Unit::Objects);
        for (week, value) in
            [(5, 1.0), (6, 0.857), (7, 0.807), (10, 0.753), (13, 0.690), (22, 0.538), (35, 0.448)]
        {
            let found = curve.living_longer(2 * week).unwrap().value;
            assert!((found - value).abs() < 1e-3, "{week}: {found}");
        }
        let median = curve.quantile(0.5).unwrap();
        assert_eq!((median.value, median.high), (46.0, None));
        assert_eq!(curve.quantile(0.6), None);
        assert_eq!(curve.watched(), Some(71));
        // Greenwood's standard error at 22 weeks.
        let at = curve.living_longer(44).unwrap();
        let error = (at.value * (1.0 - at.value) / at.effective_samples).sqrt();
        assert!((error - 0.1282).abs() < 5e-4, "{error}");
    }

    #[test]
    fn few_blocks_promise_nothing() {
        let one = survival(&[(5, true, 0.1)]).curve(Unit::Objects);
        assert_eq!(one.quantile(0.5).unwrap(), Quantile { value: 5.0, low: None, high: None });
        let alive = survival(&[(5, false, 0.1)]).curve(Unit::Objects);
        assert_eq!(alive.quantile(0.5), None);
        assert!(alive.dying_within(5).unwrap().interval95().1 > 0.7);
        assert!(Survival::default().curve(Unit::Bytes).dying_within(1).is_none());
    }

    #[test]
    fn who_survives_is_a_share_of_all() {
        let exact = survival(&[(5, true, 1.0), (6, true, 1.0), (1, true, 1.0), (9, false, 1.0)]);
        let share = exact.surviving(Unit::Objects).unwrap();
        assert_eq!((share.value, share.interval95()), (0.25, (0.25, 0.25)));
        let one = survival(&[(5, false, 0.01)]).surviving(Unit::Bytes).unwrap();
        assert_eq!(one.value, 1.0);
        assert!(one.interval95().0 < 0.3);
        assert_eq!(Survival::default().surviving(Unit::Objects), None);
    }

    #[test]
    fn intervals_of_the_surviving_share_hold_that_of_all_blocks() {
        const RUNS: usize = 1000;
        let held = (0..RUNS as u64).filter(|&seed| {
            let mut random = Random::new(seed);
            let (mut exact, mut found) = (Survival::default(), Survival::default());
            for _ in 0..4000 {
                let survives = random.happens(0.3);
                let bytes = if survives { 64.0 + random.waiting(400.0) } else { 32.0 };
                let p = inclusion(bytes, 2000.0);
                let take = if survives { Survival::survived } else { Survival::died };
                take(&mut exact, 1, &mass(bytes, 1.0));
                if random.happens(p) {
                    take(&mut found, 1, &mass(bytes, p));
                }
            }
            let truth = exact.surviving(Unit::Objects).unwrap().value;
            let (low, high) = found.surviving(Unit::Objects).unwrap().interval95();
            low <= truth && truth <= high
        });
        let held = held.count();
        assert!(covers_95(held, RUNS), "{held}");
    }

    /// A program that allocates all along; lifetimes are a mixture, sizes go with them.
    fn run(seed: u64, blocks: usize, interval: f64) -> Survival {
        const END: f64 = 100_000.0;
        let mut random = Random::new(seed);
        let mut survival = Survival::default();
        for _ in 0..blocks {
            let born = END * random.unit();
            let long = random.happens(0.3);
            let lifetime = random.waiting(if long { 50_000.0 } else { 500.0 });
            let bytes = if long { 64.0 + random.waiting(400.0) } else { 32.0 };
            let p = inclusion(bytes, interval);
            if random.happens(p) {
                let mass = mass(bytes, p);
                if born + lifetime < END {
                    survival.died(lifetime as u64, &mass);
                } else {
                    survival.survived((END - born) as u64, &mass);
                }
            }
        }
        survival
    }

    #[test]
    fn intervals_hold_the_law_from_which_lifetimes_come() {
        const RUNS: usize = 1000;
        let share = |t: f64| 0.7 * (1.0 - (-t / 500.0).exp()) + 0.3 * (1.0 - (-t / 50_000.0).exp());
        // The share of bytes: long-lived blocks have 464 bytes on average.
        let bytes = |t: f64| {
            let (short, long) = (0.7 * 32.0, 0.3 * 464.0);
            (short * (1.0 - (-t / 500.0).exp()) + long * (1.0 - (-t / 50_000.0).exp()))
                / (short + long)
        };
        for (age, unit, truth) in [
            (1000, Unit::Objects, share(1000.0)),
            (40_000, Unit::Objects, share(40_000.0)),
            (40_000, Unit::Bytes, bytes(40_000.0)),
        ] {
            let held = (0..RUNS as u64).filter(|&seed| {
                let found = run(seed, 4000, 2000.0).curve(unit).dying_within(age).unwrap();
                let (low, high) = found.interval95();
                low <= truth && truth <= high
            });
            let held = held.count();
            assert!(covers_95(held, RUNS), "{age} {unit:?}: {held}");
        }
    }

    #[test]
    fn intervals_of_the_median_hold_it() {
        const RUNS: usize = 1000;
        // 0.7 exp(-t / 500) + 0.3 exp(-t / 50000) = 0.5 at t = 611.5 (by bisection).
        let truth = 611.5;
        let held = (0..RUNS as u64).filter(|&seed| {
            let median = run(seed, 4000, 2000.0).curve(Unit::Objects).quantile(0.5).unwrap();
            median.low.is_none_or(|low| low <= truth)
                && median.high.is_none_or(|high| truth <= high)
        });
        let held = held.count();
        assert!(held * 100 >= RUNS * 95 || covers_95(held, RUNS), "{held}");
        assert!(held < RUNS);
    }

    /// Kaplan-Meier as in the textbook, without bins: the share that lives longer than `age`.
    fn naive(lives: &[Life], age: u64) -> f64 {
        let mut deaths: Vec<u64> = lives.iter().filter(|life| life.1).map(|life| life.0).collect();
        deaths.sort_unstable();
        deaths.dedup();
        let weigh = |of: &dyn Fn(&Life) -> bool| -> f64 {
            lives.iter().filter(|life| of(life)).map(|life| 1.0 / life.2).sum()
        };
        let outlive = |at: u64| {
            let died = weigh(&|life| life.0 == at && life.1);
            1.0 - died / weigh(&|life| life.0 >= at)
        };
        deaths.into_iter().filter(|&at| at <= age).map(outlive).product()
    }

    proptest! {
        #[test]
        fn without_survivors_it_is_the_share_that_died(
            lives in prop::collection::vec((0u64..1_000_000, Just(true), 0.01f64..1.0), 1..80),
        ) {
            let survival = survival(&lives);
            let curve = survival.curve(Unit::Objects);
            for content in survival.deaths().contents() {
                let expected = naive(&lives, content.bin.greatest());
                let found = curve.living_longer(content.bin.greatest()).unwrap().value;
                prop_assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }

        #[test]
        fn bins_shift_the_textbooks_curve_by_a_bin_at_most(
            lives in prop::collection::vec((0u64..100_000, any::<bool>(), 0.01f64..1.0), 1..80),
            age in 0u64..100_000,
        ) {
            let found = survival(&lives).curve(Unit::Objects).living_longer(age).unwrap().value;
            // As if all who left in the bin had done so at its first or last moment, in the worst
            // order.
            let round = |to: fn(Bin) -> u64, early: bool| -> Vec<Life> {
                let shift = |&(age, died, p): &Life| (2 * to(Bin::of(age)) + u64::from(died != early), died, p);
                lives.iter().map(shift).collect()
            };
            let low = naive(&round(Bin::least, false), 2 * Bin::of(age).greatest() + 1);
            let low = low.min(naive(&round(Bin::least, true), 2 * Bin::of(age).greatest() + 1));
            let before = Bin::of(age).least().saturating_sub(1);
            let high = if Bin::of(age).least() == 0 { 1.0 } else {
                naive(&round(Bin::least, false), 2 * before + 1).max(naive(&round(Bin::least, true), 2 * before + 1))
            };
            prop_assert!(low - 1e-6 <= found && found <= high + 1e-6, "{low} {found} {high}");
        }

        #[test]
        fn equal_weights_have_greenwoods_variance(
            ages in prop::collection::vec((0u64..10, any::<bool>()), 4..60),
        ) {
            // Deaths in even, ends of watching in odd bins: no half counts.
            let lives: Vec<Life> = ages.iter().map(|&(a, died)| (2 * a + u64::from(!died), died, 1.0)).collect();
            let (mut survival_share, mut sum) = (1.0, 0.0);
            for at in 0..20 {
                let reached = lives.iter().filter(|life| life.0 >= at).count() as f64;
                let died = lives.iter().filter(|life| life.0 == at && life.1).count() as f64;
                if died > 0.0 {
                    survival_share *= 1.0 - died / reached;
                    sum += died / (reached * (reached - died));
                }
                if survival_share > 0.0 && survival_share < 1.0 {
                    let found = survival(&lives).curve(Unit::Objects).living_longer(at).unwrap();
                    let variance = survival_share * (1.0 - survival_share) / found.effective_samples;
                    let greenwood = survival_share * survival_share * sum;
                    prop_assert!((variance / greenwood - 1.0).abs() < 1e-6, "{variance} {greenwood}");
                }
            }
        }

        #[test]
        fn merging_is_adding_in_any_order(
            lives in prop::collection::vec((0u64..1_000_000, any::<bool>(), 0.01f64..1.0), 0..60),
            cut in 0usize..60,
        ) {
            let (left, right) = lives.split_at(cut.min(lives.len()));
            let mut merged = survival(right);
            merged += &survival(left);
            prop_assert_eq!(merged, survival(&lives));
        }

        #[test]
        fn quantile_and_share_are_inverse(
            lives in prop::collection::vec((0u64..100_000, any::<bool>(), 0.01f64..1.0), 1..60),
            q in 0.01f64..0.99,
        ) {
            let curve = survival(&lives).curve(Unit::Objects);
            if let Some(quantile) = curve.quantile(q) {
                prop_assert!(curve.dying_within(quantile.value.ceil() as u64).unwrap().value >= q - 1e-9);
                let before = quantile.value * (1.0 - 1.0 / SUBDIVISIONS as f64) - 1.0;
                if before >= 0.0 {
                    prop_assert!(curve.dying_within(before as u64).unwrap().value <= q + 1e-9);
                }
            }
        }
    }
}
