//! Simulated runs, equal and not.

use proptest::prelude::*;

use super::*;
use crate::estimate::Weight;
use crate::statistics::correction::{benjamini_hochberg, holm};
use crate::statistics::simulation::{Random, at_most, covers_95, inclusion};

const RUNS: usize = 1000;
const BLOCK: f64 = 100.0;

/// A program that allocates this many blocks, sampled.
fn run(random: &mut Random, blocks: f64, interval: f64) -> Run {
    let p = inclusion(BLOCK, interval);
    let weight = Weight::of_inclusion(p).estimate(BLOCK);
    let mut estimate = Estimate::default();
    (0..random.binomial(blocks.round() as u64, p)).for_each(|_| estimate += weight);
    Run { estimate, grain: weight.value }
}

/// Runs that vary by so much by themselves.
fn runs(random: &mut Random, count: usize, blocks: f64, deviation: f64, interval: f64) -> Vec<Run> {
    let vary = |random: &mut Random| (blocks * (1.0 + deviation * random.normal())).max(0.0);
    (0..count)
        .map(|_| {
            let blocks = vary(random);
            run(random, blocks, interval)
        })
        .collect()
}

/// Of `RUNS` comparisons, how many find a difference.
fn alarms(sides: impl Fn(&mut Random) -> [Vec<Run>; 2]) -> usize {
    let alarms = |&seed: &u64| {
        let [before, after] = sides(&mut Random::new(seed));
        Difference::of(&before, &after).unwrap().p_value() <= 0.05
    };
    (0..RUNS as u64).filter(alarms).count()
}

#[test]
fn equal_programs_alarm_in_5_percent_at_most() {
    for blocks in [500.0, 3000.0, 30_000.0, 300_000.0] {
        for intervals in [[10_000.0, 10_000.0], [100_000.0, 1000.0], [1000.0, 1.0]] {
            let found = alarms(|random| intervals.map(|i| vec![run(random, blocks, i)]));
            assert!(at_most(found, RUNS, 0.05), "{blocks} {intervals:?}: {found}");
        }
    }
}

#[test]
fn equal_programs_that_vary_alarm_in_5_percent_at_most() {
    for counts in [[2, 2], [1, 3], [4, 1], [3, 3], [5, 5], [2, 8]] {
        for deviation in [0.0, 0.05, 0.3] {
            let found = alarms(|random| {
                counts.map(|count| runs(random, count, 30_000.0, deviation, 10_000.0))
            });
            assert!(at_most(found, RUNS, 0.05), "{counts:?} {deviation}: {found}");
        }
    }
}

#[test]
fn sides_may_vary_differently() {
    for counts in [[3, 3], [5, 5], [3, 8]] {
        let found = alarms(|random| {
            let before = runs(random, counts[0], 30_000.0, 0.3, 10_000.0);
            [before, runs(random, counts[1], 30_000.0, 0.02, 10_000.0)]
        });
        assert!(at_most(found, RUNS, 0.05), "{counts:?}: {found}");
    }
}

#[test]
fn intervals_hold_the_change() {
    for (count, deviation) in [(1, 0.0), (3, 0.1), (6, 0.1)] {
        let holds = |&seed: &u64| {
            let random = &mut Random::new(seed);
            let before = runs(random, count, 30_000.0, deviation, 10_000.0);
            let after = runs(random, count, 45_000.0, deviation, 5000.0);
            let difference = Difference::of(&before, &after).unwrap();
            (difference.change() - 15_000.0 * BLOCK).abs() <= difference.interval95()
        };
        let held = (0..RUNS as u64).filter(holds).count();
        assert!(covers_95(held, RUNS) || held > RUNS * 95 / 100, "{count}: {held}");
    }
}

#[test]
fn a_tenth_more_is_found_in_8_of_10_of_comparisons_of_1600_samples() {
    let found = alarms(|random| [160_000.0, 176_000.0].map(|n| vec![run(random, n, 10_000.0)]));
    assert!(at_most(RUNS - found, RUNS, 0.2), "{found}");
    assert!(found < RUNS * 9 / 10, "the number of samples is understated: {found}");
}

#[test]
fn the_smallest_detectable_change_is_found_in_8_of_10() {
    for (count, deviation) in [(1, 0.0), (5, 0.05), (8, 0.05)] {
        let seeds = 0..RUNS as u64;
        let pilot = |seed: u64| {
            let random = &mut Random::new(seed + 1_000_000);
            let mut side = || runs(random, count, 100_000.0, deviation, 10_000.0);
            let (before, after) = (side(), side());
            Difference::of(&before, &after).unwrap().minimum_detectable(0.05, 0.8)
        };
        let change = seeds.map(pilot).sum::<f64>() / RUNS as f64;
        let found = alarms(|random| {
            let before = runs(random, count, 100_000.0, deviation, 10_000.0);
            let more = 100_000.0 + change / BLOCK;
            [before, runs(random, count, more, deviation * 100_000.0 / more, 10_000.0)]
        });
        assert!((700..=900).contains(&found), "{count}: {found}");
    }
}

/// P-values of many places, of which the first few really changed by a half.
fn places(random: &mut Random, changed: usize, count: usize) -> Vec<f64> {
    let p_value = |place: usize| {
        let blocks = 3000.0 * (1 + place % 20) as f64;
        let more = if place < changed { blocks * 1.5 } else { blocks };
        let sides = [blocks, more].map(|blocks| [run(random, blocks, 10_000.0)]);
        Difference::of(&sides[0], &sides[1]).unwrap().p_value()
    };
    (0..count).map(p_value).collect()
}

#[test]
fn holm_alarms_at_all_in_5_percent_at_most() {
    let any =
        |&seed: &u64| holm(&places(&mut Random::new(seed), 0, 200)).iter().any(|p| *p <= 0.05);
    let found = (0..RUNS as u64).filter(any).count();
    assert!(at_most(found, RUNS, 0.05), "{found}");
}

#[test]
fn of_the_alarms_of_benjamini_and_hochberg_5_percent_are_false() {
    const CHANGED: usize = 40;
    let (mut false_share, mut found) = (0.0, 0);
    for seed in 0..RUNS as u64 {
        let corrected = benjamini_hochberg(&places(&mut Random::new(seed), CHANGED, 200));
        let alarms = |range: &[f64]| range.iter().filter(|p| **p <= 0.05).count();
        let (right, wrong) = (alarms(&corrected[..CHANGED]), alarms(&corrected[CHANGED..]));
        false_share += wrong as f64 / (right + wrong).max(1) as f64 / RUNS as f64;
        found += right;
    }
    // The standard error of the mean over the runs is 0.0015.
    assert!(false_share < 0.05 + 4.0 * 0.0015, "{false_share}");
    assert!(found > RUNS * CHANGED / 2, "{found}");
}

#[test]
fn exact_runs_differ_as_soon_as_they_differ() {
    let exact = |value| [Run { estimate: Estimate::new(value, 0.0), grain: 0.0 }];
    let differ = Difference::of(&exact(100.0), &exact(101.0)).unwrap();
    assert_eq!((differ.p_value(), differ.interval95(), differ.between_runs), (0.0, 0.0, None));
    assert_eq!(differ.relative(), Some(0.01));
    let same = Difference::of(&exact(0.0), &exact(0.0)).unwrap();
    assert_eq!((same.p_value(), same.relative()), (1.0, None));
    assert_eq!(same.verdict(1.0, 0.05, 0.0), Verdict::Equal);
    assert_eq!(Difference::of(&exact(1.0), &[]), None);
}

#[test]
fn what_was_not_sampled_may_be_there() {
    let nothing = [Run { estimate: Estimate::default(), grain: 1e6 }];
    let some = [Run { estimate: Estimate::new(1e6, 1e10), grain: 1e4 }];
    assert!(Difference::of(&nothing, &some).unwrap().p_value() > 0.2);
    let much = [Run { estimate: Estimate::new(1e8, 1e12), grain: 1e4 }];
    assert!(Difference::of(&nothing, &much).unwrap().p_value() < 1e-6);
    let none = Difference::of(&nothing, &nothing).unwrap();
    assert_eq!(none.p_value(), 1.0);
}

#[test]
fn equality_needs_an_interval_within_the_margin() {
    let side = |value| [Run { estimate: Estimate::new(value, 100.0), grain: 1.0 }];
    let difference = Difference::of(&side(1000.0), &side(1010.0)).unwrap();
    let verdict = |margin| difference.verdict(difference.p_value(), 0.05, margin);
    // 10 + 1.645 * sqrt(200) = 33.3
    assert_eq!((verdict(33.0), verdict(34.0)), (Verdict::Open, Verdict::Equal));
    assert_eq!(difference.verdict(0.01, 0.05, 34.0), Verdict::Changed);
}

proptest! {
    #[test]
    fn sides_change_places(
        before in prop::collection::vec((0.0f64..1e9, 0.0f64..1e12), 1..5),
        after in prop::collection::vec((0.0f64..1e9, 0.0f64..1e12), 1..5),
    ) {
        let side = |side: &[(f64, f64)]| -> Vec<Run> {
            side.iter()
                .map(|&(value, variance)| Run { estimate: Estimate::new(value, variance), grain: 1e3 })
                .collect()
        };
        let there = Difference::of(&side(&before), &side(&after)).unwrap();
        let back = Difference::of(&side(&after), &side(&before)).unwrap();
        prop_assert_eq!(there.change(), -back.change());
        prop_assert!((there.p_value() - back.p_value()).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&there.p_value()));
        // The interval leaves out 0 exactly if the change is significant.
        let significant = there.p_value() <= 0.05;
        let away = (there.change().abs() / there.interval95() - 1.0).abs();
        prop_assert!(away < 1e-6 || significant == (there.change().abs() > there.interval95()));
    }
}
