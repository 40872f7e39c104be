//! Against a simulated generational heap, whose young heap really is made larger.

use lifetrace_trace::event::{Allocation, Event, TraceInfo};
use lifetrace_trace::ids::{AllocationId, LocationCode, ThreadId, Words};
use lifetrace_trace::record::{Record, RecordKind};

use super::*;
use crate::Replay;
use crate::statistics::simulation::{Random, covers_95};

/// Bytes of the young heap that is traced.
const NURSERY: u64 = 8 * 2048;
/// As many young heaps are allocated.
const FILLS: u64 = 300;
const SEEDS: u64 = 4;

/// A block as the program allocates it; its lifetime is in bytes allocated after it.
#[derive(Clone, Copy)]
struct Planned {
    words: u64,
    lifetime: f64,
}

/// What a collector does with the plan.
enum Step {
    Birth(usize),
    Promotion(usize),
    Death(usize),
}

/// How old blocks become, in young heaps.
type Ages = fn(&mut Random) -> f64;

fn plan(seed: u64, ages: Ages) -> Vec<Planned> {
    let mut random = Random::new(seed);
    let (mut plan, mut bytes) = (Vec::new(), 0);
    while bytes < FILLS * NURSERY {
        let words = 1 + random.below(12);
        bytes += 8 * (words + 1);
        plan.push(Planned { words, lifetime: ages(&mut random) * NURSERY as f64 });
    }
    plan
}

/// A program's mixture: most die at once, some after a few collections, some stay.
fn mixture(random: &mut Random) -> f64 {
    match random.below(100) {
        0..80 => random.waiting(0.03),
        80..95 => 0.1 * random.unit().powi(-2),
        95..99 => random.waiting(20.0),
        _ => f64::INFINITY,
    }
}

fn even(random: &mut Random) -> f64 {
    random.waiting(1.0)
}

fn long(random: &mut Random) -> f64 {
    if random.happens(0.9) { random.waiting(0.01) } else { random.waiting(300.0) }
}

fn middling(random: &mut Random) -> f64 {
    4.0 * random.unit()
}

/// A copying young heap before a mark-and-sweep old one, which finds garbage late. A cycle takes
/// `cycle` young heaps, its second half to mark; 0: each minor collection finds all garbage.
fn collect(plan: &[Planned], nursery: u64, cycle: u64) -> Vec<Step> {
    let mut heap =
        SimulatedHeap { plan, steps: Vec::new(), young: Vec::new(), old: Vec::new(), now: 0 };
    let (mut filled, mut marked, mut next_mark) = (0, Vec::new(), cycle * NURSERY / 2);
    let mut next_end = cycle * NURSERY;
    for (at, block) in plan.iter().enumerate() {
        let bytes = 8 * (block.words + 1);
        if filled + bytes > nursery {
            heap.minor();
            filled = 0;
            if cycle == 0 {
                let dead = heap.dead();
                heap.tell_dead(dead);
            } else if heap.now >= next_end {
                heap.tell_dead(std::mem::take(&mut marked));
                next_end = heap.now + cycle * NURSERY;
                next_mark = heap.now + cycle * NURSERY / 2;
            } else if heap.now >= next_mark {
                marked = heap.dead();
                next_mark = u64::MAX;
            }
        }
        filled += bytes;
        heap.now += bytes;
        heap.young.push((at, heap.now));
        heap.steps.push(Step::Birth(at));
    }
    heap.steps
}

struct SimulatedHeap<'p> {
    plan: &'p [Planned],
    steps: Vec<Step>,
    /// Blocks, and when each was born.
    young: Vec<(usize, u64)>,
    old: Vec<(usize, u64)>,
    now: u64,
}

impl SimulatedHeap<'_> {
    fn is_dead(&self, &(at, born): &(usize, u64)) -> bool {
        (self.now - born) as f64 > self.plan[at].lifetime
    }

    fn minor(&mut self) {
        for block in std::mem::take(&mut self.young) {
            if self.is_dead(&block) {
                self.steps.push(Step::Death(block.0));
            } else {
                self.steps.push(Step::Promotion(block.0));
                self.old.push(block);
            }
        }
    }

    fn dead(&self) -> Vec<usize> {
        self.old.iter().filter(|block| self.is_dead(block)).map(|block| block.0).collect()
    }

    fn tell_dead(&mut self, dead: Vec<usize>) {
        let dead: FxHashSet<usize> = dead.into_iter().collect();
        self.old.retain(|block| !dead.contains(&block.0));
        self.steps.extend(dead.into_iter().map(Step::Death));
    }
}

fn promoted_bytes(plan: &[Planned], steps: &[Step]) -> f64 {
    let bytes = |step: &Step| match step {
        Step::Promotion(at) => 8 * (plan[*at].words + 1),
        _ => 0,
    };
    steps.iter().map(bytes).sum::<u64>() as f64
}

/// What a trace at this rate tells of it.
fn observed(plan: &[Planned], steps: &[Step], rate: f64, seed: u64) -> Promotions {
    let info = TraceInfo {
        sample_rate: rate,
        word_bits: 64,
        executable_name: String::new(),
        host_name: String::new(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(0),
        initial_domain: DomainId(0),
        context: None,
    };
    let mut random = Random::new(seed);
    let (mut promotions, mut replay) =
        (Promotions::new(NURSERY as f64), Replay::new(&info).unwrap());
    let mut sampled = FxHashSet::default();
    for step in steps {
        let kind = match step {
            Step::Birth(at) => {
                let samples = random.binomial(plan[*at].words + 1, rate);
                if samples == 0 {
                    continue;
                }
                sampled.insert(*at);
                RecordKind::from(&Event::Allocation(Allocation {
                    id: AllocationId(*at as u64),
                    length: Words(plan[*at].words),
                    samples,
                    source: Source::Minor,
                    domain: DomainId(0),
                    backtrace: &[LocationCode(1)],
                    common_prefix: 0,
                }))
            }
            Step::Promotion(at) if sampled.contains(at) => {
                RecordKind::Promotion(AllocationId(*at as u64))
            }
            Step::Death(at) if sampled.contains(at) => {
                RecordKind::Collection(AllocationId(*at as u64))
            }
            _ => continue,
        };
        let record = Record { time: Timestamp(0), thread: ThreadId(0), domain: DomainId(0), kind };
        replay.take(&record, &[LocationCode(1)], &mut promotions);
    }
    replay.finish(Timestamp(0), &mut promotions);
    promotions
}

/// How often the truth is between the ends, of how many; and the mean error of what is most likely, as
/// a share of what is promoted now.
fn outcome(ages: Ages, cycle: u64, rate: f64) -> (usize, usize, f64) {
    let (mut held, mut runs, mut error) = (0, 0, 0.0);
    for seed in 0..SEEDS {
        let plan = plan(seed, ages);
        let steps = collect(&plan, NURSERY, cycle);
        let now = promoted_bytes(&plan, &steps);
        for forecast in observed(&plan, &steps, rate, 100 + seed).forecasts() {
            let larger = collect(&plan, NURSERY * u64::from(forecast.times), 30);
            let truth = promoted_bytes(&plan, &larger);
            assert!(forecast.low <= forecast.bytes && forecast.bytes <= forecast.high);
            held += usize::from((forecast.low..=forecast.high).contains(&truth));
            error += (forecast.bytes - truth).abs() / now;
            runs += 1;
        }
    }
    (held, runs, error / runs as f64)
}

#[test]
fn larger_young_heaps_promote_what_is_forecast() {
    let (mut all_held, mut all_runs) = (0, 0);
    for ages in [mixture, even, long, middling] {
        for cycle in [0, 3, 30] {
            let (held, runs, error) = outcome(ages, cycle, 0.02);
            assert!(error < 0.17, "off by {error}, cycle {cycle}");
            all_held += held;
            all_runs += runs;
        }
    }
    assert_eq!(all_runs, 4 * 3 * SIZES.len() * SEEDS as usize);
    assert!(all_held as f64 >= 0.95 * all_runs as f64, "{all_held} of {all_runs}");
}

#[test]
fn few_samples_make_wide_ranges() {
    let (mut all_held, mut all_runs) = (0, 0);
    for ages in [mixture, even, long, middling] {
        let (held, runs, error) = outcome(ages, 30, 0.002);
        assert!(error < 0.3, "off by {error}");
        all_held += held;
        all_runs += runs;
    }
    assert!(all_held as f64 >= 0.9 * all_runs as f64, "{all_held} of {all_runs}");
}

#[test]
fn shares_have_honest_intervals() {
    let mut held = 0;
    for seed in 0..200 {
        let plan = &plan(seed, mixture)[..5000];
        let steps = collect(plan, NURSERY, 10);
        let bytes: u64 = plan.iter().map(|block| 8 * (block.words + 1)).sum();
        let truth = promoted_bytes(plan, &steps) / bytes as f64;
        let (low, high) = observed(plan, &steps, 0.01, seed).total().promoted_share().interval95();
        held += usize::from((low..=high).contains(&truth));
    }
    assert!(covers_95(held, 200), "{held}");
}

#[test]
fn the_young_heap_is_measured() {
    let plan = plan(1, mixture);
    let steps = collect(&plan, NURSERY, 10);
    for (rate, tolerance) in [(1.0, 0.01), (0.02, 0.05)] {
        let measured = observed(&plan, &steps, rate, 1).measured().unwrap();
        assert!((measured / NURSERY as f64 - 1.0).abs() < tolerance, "{measured}");
    }
}

#[test]
fn all_is_counted_where_all_is_told() {
    let plan = plan(2, mixture);
    let steps = collect(&plan, NURSERY, 10);
    let observed = observed(&plan, &steps, 1.0, 1);
    let total = observed.total();
    let bytes: u64 = plan.iter().map(|block| 8 * (block.words + 1)).sum();
    assert_eq!(total.young.amount().bytes, Estimate { value: bytes as f64, ..Estimate::default() });
    assert_eq!(total.promoted.amount().bytes.value, promoted_bytes(&plan, &steps));
    let share = total.promoted_share();
    assert_eq!(share.value, promoted_bytes(&plan, &steps) / bytes as f64);
    assert_eq!(share.interval95(), (share.value, share.value));
    assert_eq!(Sums::default().promoted_share().interval95(), (0.0, 1.0));
    assert_eq!((observed.domains(), observed.sums().count()), (1, 1));
}

/// Of blocks that die within a young heap's time after birth, none is seen alive by two collections.
#[test]
fn what_dies_soon_after_its_promotion_is_premature() {
    let short = plan(3, |random| random.unit());
    let observed_short = observed(&short, &collect(&short, NURSERY, 10), 1.0, 1);
    let total = observed_short.total();
    // The last were not found dead before the end.
    let share = total.premature.amount().bytes.value / total.promoted.amount().bytes.value;
    assert!((0.9..=1.0).contains(&share), "{share}");

    let long = plan(3, |random| 40.0 + random.unit());
    let observed_long = observed(&long, &collect(&long, NURSERY, 10), 1.0, 1);
    let total = observed_long.total();
    let share = total.premature.amount().bytes.value / total.promoted.amount().bytes.value;
    assert!(share < 0.3, "{share}");
}

#[test]
fn without_promotions_nothing_is_forecast() {
    let plan = plan(4, |_| -1.0);
    let observed = observed(&plan, &collect(&plan, NURSERY, 10), 0.02, 1);
    assert_eq!(observed.forecasts(), []);
    assert_eq!(Promotions::new(1.0).measured(), None);
}
