//! Simulated programs of known kinds, sampled as a trace is.

use proptest::prelude::*;

use super::*;
use crate::statistics::simulation::{Random, amount, at_most, covers_95, inclusion};

const RUNS: usize = 1000;
const BYTES: f64 = 1000.0;
/// Two hours.
const END: f64 = 7.2e9;

/// All blocks: when they were born, when they died if they did.
type Blocks = Vec<(f64, Option<f64>)>;

/// Births at random times from `from` on, so many an hour.
fn births(random: &mut Random, from: f64, per_hour: f64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut now = from;
    loop {
        now += random.waiting(MICROSECONDS_PER_HOUR / per_hour);
        if now >= END {
            return times;
        }
        times.push(now);
    }
}

fn die_at(born: f64, died: f64) -> (f64, Option<f64>) {
    (born, (died < END).then_some(died))
}

/// Blocks an hour.
const LEAK: f64 = 2000.0;

fn leak(random: &mut Random) -> Blocks {
    births(random, 0.0, LEAK).into_iter().map(|born| (born, None)).collect()
}

/// Mostly short-lived blocks from the same place.
fn leak_in_churn(random: &mut Random) -> Blocks {
    let mut blocks = leak(random);
    for born in births(random, 0.0, 20_000.0) {
        let died = born + random.waiting(END / 50.0);
        blocks.push(die_at(born, died));
    }
    blocks
}

fn evicting_at_random(random: &mut Random) -> Blocks {
    let lifetime = END / (6.0 + 30.0 * random.unit());
    let born = births(random, 0.0, 4000.0);
    born.into_iter().map(|born| die_at(born, born + random.waiting(lifetime))).collect()
}

fn evicting_the_oldest(random: &mut Random) -> Blocks {
    let born = births(random, 0.0, 4000.0);
    let capacity = born.len() / (3 + random.below(20) as usize);
    let died = |index: usize| born.get(index + capacity).copied();
    (0..born.len()).map(|index| (born[index], died(index))).collect()
}

fn collected_at_times(random: &mut Random) -> Blocks {
    let period = END * (0.02 + 0.28 * random.unit());
    let phase = period * random.unit();
    let next = |born: f64| phase + period * ((born - phase) / period).floor() + period;
    births(random, 0.0, 4000.0).into_iter().map(|born| die_at(born, next(born))).collect()
}

/// Requests that allocate many blocks at once and free them together.
fn in_bursts(random: &mut Random) -> Blocks {
    let mut blocks = Vec::new();
    for born in births(random, 0.0, 100.0) {
        let died = born + random.waiting(END / 20.0);
        blocks.extend((0..random.below(60)).map(|_| die_at(born, died)));
    }
    blocks
}

/// Tables that are filled as the program begins; a little is exchanged later.
fn burst_at_start(random: &mut Random) -> Blocks {
    let mut blocks: Blocks = (0..2000).map(|_| (END * 0.05 * random.unit(), None)).collect();
    for born in births(random, 0.0, 1000.0) {
        blocks.push(die_at(born, born + random.waiting(END / 100.0)));
    }
    blocks
}

/// A cache whose misses become rarer as it fills, and never evicts.
fn slow_fill(random: &mut Random) -> Blocks {
    let time = END * (0.2 + 0.15 * random.unit());
    let fills = (0..4000).map(|_| random.waiting(time)).filter(|&born| born < END);
    fills.map(|born| (born, None)).collect()
}

fn step_at_end(random: &mut Random) -> Blocks {
    let mut blocks = evicting_at_random(random);
    let at = END * (0.8 + 0.18 * random.unit());
    blocks.extend((0..4000).map(|_| (at, None)));
    blocks
}

fn leak_after_start(random: &mut Random) -> Blocks {
    let mut blocks = burst_at_start(random);
    blocks.extend(leak(random));
    blocks
}

fn sample(random: &mut Random, blocks: &[(f64, Option<f64>)], interval: f64) -> Lives {
    let p = inclusion(BYTES, interval);
    let mut lives = Lives::default();
    for &(born, died) in blocks {
        if random.happens(p) {
            let weight = amount(BYTES, p).bytes;
            lives.add(born as u64, died.map(|died| died as u64), &weight);
        }
    }
    lives
}

type Program = fn(&mut Random) -> Blocks;

/// Mean bytes between hits: everything is sampled; a fifth of the blocks; one in fifty.
const INTERVALS: [f64; 3] = [1.0, 4000.0, 50_000.0];

fn judge(program: Program, seed: u64, interval: f64) -> Option<Growth> {
    let mut random = Random::new(seed);
    let blocks = program(&mut random);
    Growth::of(&sample(&mut random, &blocks, interval), END as u64)
}

/// The judgements of all runs.
struct Judged {
    growths: Vec<Option<Growth>>,
    name: String,
}

impl Judged {
    fn new(program: Program, interval: f64) -> Self {
        let growths = (0..RUNS as u64).map(|seed| judge(program, seed, interval)).collect();
        Self { growths, name: format!("one hit in {interval} bytes") }
    }

    fn count(&self, holds: impl Fn(&Growth) -> bool) -> usize {
        self.growths.iter().flatten().filter(|growth| holds(growth)).count()
    }

    /// At least this share has the shape.
    fn has(&self, share: f64, shape: Shape) -> &Self {
        let found = self.count(|growth| growth.shape == shape);
        assert!(at_most(RUNS - found, RUNS, 1.0 - share), "{}: {found} {shape:?}", self.name);
        self
    }

    /// At most this share has the shape.
    fn hardly_has(&self, share: f64, shape: Shape) -> &Self {
        let found = self.count(|growth| growth.shape == shape);
        assert!(at_most(found, RUNS, share), "{}: {found} {shape:?}", self.name);
        self
    }

    /// 95 % of the intervals, or a few more, hold this rate.
    fn holds(&self, rate: f64) -> &Self {
        let held = self.count(|growth| growth.rate.low <= rate && rate <= growth.rate.high);
        assert!(is_honest(held), "{}: {held}", self.name);
        self
    }

    /// At least 95 % of the intervals hold 0.
    fn does_not_grow(&self) -> &Self {
        let missed = self.count(|growth| growth.rate.low > 0.0 || growth.rate.high < 0.0);
        assert!(at_most(missed, RUNS, 0.05), "{}: {missed}", self.name);
        self
    }
}

/// Not too narrow, and not so wide that it always holds.
fn is_honest(held: usize) -> bool {
    covers_95(held, RUNS) || (held > RUNS * 95 / 100 && held < RUNS * 99 / 100)
}

#[test]
fn leaks_are_lines_with_their_rate() {
    for (interval, share) in INTERVALS.into_iter().zip([0.99, 0.99, 0.95]) {
        Judged::new(leak, interval).holds(LEAK * BYTES).has(share, Shape::Line);
    }
}

#[test]
fn leaks_are_found_in_churn_and_after_a_start() {
    Judged::new(leak_in_churn, 4000.0).holds(LEAK * BYTES).has(0.95, Shape::Line);
    Judged::new(leak_after_start, 4000.0).holds(LEAK * BYTES).has(0.99, Shape::Line);
    Judged::new(leak_after_start, 50_000.0).holds(LEAK * BYTES).has(0.95, Shape::Line);
}

#[test]
fn a_cache_that_evicts_at_random_is_no_line() {
    for interval in INTERVALS {
        Judged::new(evicting_at_random, interval).hardly_has(0.01, Shape::Line);
    }
    Judged::new(evicting_at_random, 4000.0).has(0.95, Shape::Plateau);
}

#[test]
fn a_cache_that_evicts_the_oldest_is_no_line() {
    for interval in INTERVALS {
        Judged::new(evicting_the_oldest, interval).does_not_grow().hardly_has(0.01, Shape::Line);
    }
    Judged::new(evicting_the_oldest, 4000.0).has(0.95, Shape::Plateau);
}

#[test]
fn what_is_collected_at_times_is_no_line() {
    for interval in INTERVALS {
        Judged::new(collected_at_times, interval).does_not_grow().hardly_has(0.01, Shape::Line);
    }
    Judged::new(collected_at_times, 4000.0).has(0.8, Shape::Plateau);
}

#[test]
fn work_in_bursts_is_no_line() {
    for interval in INTERVALS {
        Judged::new(in_bursts, interval).does_not_grow().hardly_has(0.01, Shape::Line);
    }
    Judged::new(in_bursts, 4000.0).has(0.7, Shape::Plateau);
}

#[test]
fn tables_of_the_start_are_no_leak() {
    for interval in INTERVALS {
        let judged = Judged::new(burst_at_start, interval);
        judged.does_not_grow().hardly_has(0.01, Shape::Line).has(0.9, Shape::StartUp);
    }
}

#[test]
fn a_step_is_a_step() {
    for interval in INTERVALS {
        Judged::new(step_at_end, interval).has(0.95, Shape::Steps);
    }
}

#[test]
fn a_cache_that_fills_ever_more_slowly_is_no_line_if_it_was_seen_often() {
    for (interval, share) in INTERVALS.into_iter().zip([0.01, 0.01, 0.25]) {
        Judged::new(slow_fill, interval).hardly_has(share, Shape::Line);
    }
    Judged::new(slow_fill, 4000.0).has(0.95, Shape::Plateau);
}

#[test]
fn intervals_hold_what_the_whole_trace_would_say() {
    for program in [slow_fill, step_at_end] {
        let (exact, sampled) = (Judged::new(program, 1.0), Judged::new(program, 4000.0));
        let pairs = exact.growths.iter().flatten().zip(sampled.growths.iter().flatten());
        let misses = |(exact, sampled): &(&Growth, &Growth)| {
            let truth = exact.rate.per_hour;
            truth < sampled.rate.low || sampled.rate.high < truth
        };
        let missed = pairs.filter(misses).count();
        assert!(at_most(missed, RUNS, 0.05), "{missed}");
    }
}

#[test]
fn the_time_to_a_limit_is_in_its_interval() {
    let limit = 50_000_000.0;
    let holds = |&seed: &u64| {
        let exact = judge(leak, seed, 1.0).unwrap();
        let truth = (limit - exact.live.value) / (LEAK * BYTES);
        let fill = judge(leak, seed, 4000.0).unwrap().fills(limit);
        assert!(fill.earliest <= fill.hours && fill.hours <= fill.latest, "{fill:?}");
        fill.earliest.unwrap() <= truth && truth <= fill.latest.unwrap()
    };
    let held = (0..RUNS as u64).filter(holds).count();
    println!("fill {held}");
    assert!(is_honest(held), "{held}");
}

#[test]
fn what_does_not_grow_may_never_fill_a_limit() {
    let growth = judge(evicting_the_oldest, 1, 4000.0).unwrap();
    assert_eq!(growth.fills(1e9).latest, None);
    assert!(growth.fills(1e9).earliest.unwrap() > 1.0);
    let full = Fill { hours: Some(0.0), earliest: Some(0.0), latest: Some(0.0) };
    assert_eq!(growth.fills(1.0), full);
}

#[test]
fn short_traces_say_nothing() {
    let weight = amount(BYTES, 0.1).bytes;
    for end in [0, 1, 1000, 2000, 3000, 5000] {
        let mut lives = Lives::default();
        lives.add(0, None, &weight);
        let Some(growth) = Growth::of(&lives, end) else { continue };
        assert_eq!(growth.shape, Shape::Unknown);
        assert!(growth.rate.low <= 0.0 && growth.rate.high >= 0.0, "{growth:?}");
        assert_eq!(growth.fills(1e9).latest, None);
        assert!(!growth.rate.per_hour.is_nan() && growth.fills(1e9).earliest.is_some());
    }
    assert_eq!(Growth::of(&Lives::default(), 1_000_000), None);
}

#[test]
fn one_block_that_stays_is_no_proof_of_a_leak() {
    let mut lives = Lives::default();
    lives.add(END as u64 / 3, None, &amount(BYTES, 0.1).bytes);
    let growth = Growth::of(&lives, END as u64).unwrap();
    assert!(growth.rate.low < 0.0 && growth.rate.high > 0.0, "{growth:?}");
    assert!(!matches!(growth.shape, Shape::Line | Shape::Steps));
    assert_eq!(growth.oldest, Some(END as u64 - END as u64 / 3));
}

#[test]
fn leaked_blocks_outlive_the_others() {
    let share = |program: Program| {
        let mut survival = Survival::default();
        for (born, died) in program(&mut Random::new(5)) {
            let mass = crate::statistics::simulation::mass(BYTES, 0.5);
            match died {
                Some(died) => survival.died((died - born) as u64, &mass),
                None => survival.survived((END - born) as u64, &mass),
            }
        }
        outliving(&survival, Unit::Bytes).unwrap().value
    };
    assert!(share(leak_in_churn) > 0.7, "{}", share(leak_in_churn));
    assert!(share(evicting_at_random) < 0.1, "{}", share(evicting_at_random));
    assert!(share(evicting_the_oldest) < 0.1, "{}", share(evicting_the_oldest));
}

proptest! {
    #[test]
    fn odd_lives_give_numbers(
        all in prop::collection::vec((0u64..1_000_000, prop::option::of(0u64..1_000_000), 0.01f64..=1.0), 0..40),
        end in 0u64..2_000_000,
    ) {
        let mut lives = Lives::default();
        for (born, died, p) in all {
            lives.add(born, died, &amount(BYTES, p).bytes);
        }
        if let Some(growth) = Growth::of(&lives, end) {
            prop_assert!(growth.rate.low <= growth.rate.per_hour && growth.rate.per_hour <= growth.rate.high);
            let fill = growth.fills(1e6);
            for hours in [fill.hours, fill.earliest, fill.latest].into_iter().flatten() {
                prop_assert!(hours >= 0.0, "{fill:?}");
            }
        }
    }
}
