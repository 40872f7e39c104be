//! Totals of programs whose blocks are of one kind, sampled by words.

use lifetrace_analysis::{Estimate, Profile, Summary};
use lifetrace_trace::event::{Allocation, Event, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, DomainId, Timestamp, Words};

use super::RUNS;
use super::random::{Random, Sampler};
use super::score::Score;

/// Sizes in words of a program's blocks; every third one is freed again.
pub type Sizes = fn(&mut Random) -> u64;

#[derive(Default)]
pub struct Exact {
    pub allocated: f64,
    pub live: f64,
    pub objects: f64,
}

pub fn run(seed: u64, rate: f64, blocks: u64, sizes: Sizes) -> (Exact, Summary) {
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
    let mut profile = Profile::new(&info).unwrap();
    let (mut sampler, mut random) = (Sampler::new(!seed, rate), Random(seed));
    let mut exact = Exact::default();
    for block in 0..blocks {
        let length = sizes(&mut random);
        let bytes = 8.0 * length as f64;
        let dies = block % 3 == 0;
        exact.allocated += bytes;
        exact.objects += 1.0;
        exact.live += if dies { 0.0 } else { bytes };
        let samples = sampler.hits(length.max(1));
        if samples > 0 {
            record(&mut profile, AllocationId(block), Words(length), samples, dies);
        }
    }
    (exact, profile.summary())
}

fn record(profile: &mut Profile, id: AllocationId, length: Words, samples: u64, dies: bool) {
    let allocation = Allocation {
        id,
        length,
        samples,
        source: Source::External,
        domain: DomainId(0),
        backtrace: &[],
        common_prefix: 0,
    };
    profile.record(Timestamp(id.0), &Event::Allocation(allocation));
    if dies {
        profile.record(Timestamp(id.0), &Event::Collection(id));
    }
}

fn check(rate: f64, blocks: u64, sizes: Sizes) {
    let (mut allocated, mut live, mut objects) = <(Score, Score, Score)>::default();
    for seed in 0..RUNS {
        let (exact, summary) = run(Random::of_run(seed).0, rate, blocks, sizes);
        allocated.add(&summary.allocated.bytes, exact.allocated);
        live.add(&summary.live.bytes, exact.live);
        objects.add(&summary.allocated.objects, exact.objects);
    }
    for (score, what) in [(allocated, "allocated"), (live, "live"), (objects, "objects")] {
        score.check(what);
        score.check_unbiased(what);
    }
}

#[test]
fn blocks_of_one_size() {
    check(0.01, 5_000, |_| 4);
}

#[test]
fn blocks_of_every_size() {
    check(0.02, 4_000, |random| random.next() % 64);
}

#[test]
fn few_large_blocks_among_many_small_ones() {
    check(0.02, 4_000, |random| if random.next() % 100 == 0 { 500 } else { 1 + random.next() % 8 });
}

#[test]
fn empty_blocks_are_counted() {
    check(0.05, 4_000, |random| random.next() % 3);
}

#[test]
fn everything_is_exact() {
    let (exact, summary) = run(1, 1.0, 10_000, |random| random.next() % 100);
    assert_eq!(
        summary.allocated.bytes,
        Estimate { value: exact.allocated, variance: 0.0, uncertain: 0.0 }
    );
    assert_eq!(
        summary.allocated.objects,
        Estimate { value: exact.objects, variance: 0.0, uncertain: 0.0 }
    );
    assert_eq!(summary.live.bytes, Estimate { value: exact.live, variance: 0.0, uncertain: 0.0 });
}
