//! The intervals hold what they promise: over many runs of a program whose exact amounts are known,
//! 95 % of the intervals contain them. The programs and the sampler are simulated with fixed seeds;
//! the sampler marks words one by one, so it does not share the estimator's formula.

use lifetrace_analysis::{Estimate, Profile, Summary};
use lifetrace_trace::event::{Allocation, Event, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, DomainId, Timestamp, Words};

const RUNS: u64 = 1500;

/// Of so many runs, an honest interval is outside these bounds once in some 2000 tests (3.5 sigma).
const COVERAGE: std::ops::RangeInclusive<f64> = 0.93..=0.97;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// Walks over the words of all blocks, from one hit to the next.
struct Sampler {
    random: Random,
    rate: f64,
    words_to_hit: u64,
}

impl Sampler {
    fn new(seed: u64, rate: f64) -> Self {
        let mut sampler = Self { random: Random(seed), rate, words_to_hit: 0 };
        sampler.words_to_hit = sampler.distance();
        sampler
    }

    /// Words without a hit before the next one: geometrically distributed.
    fn distance(&mut self) -> u64 {
        (self.random.unit().ln() / (1.0 - self.rate).ln()) as u64
    }

    fn hits(&mut self, words: u64) -> u64 {
        let (mut hits, mut left) = (0, words);
        while self.words_to_hit < left {
            left -= self.words_to_hit + 1;
            self.words_to_hit = self.distance();
            hits += 1;
        }
        self.words_to_hit -= left;
        hits
    }
}

/// Sizes in words of a program's blocks; every third one is freed again.
type Sizes = fn(&mut Random) -> u64;

#[derive(Default)]
struct Exact {
    allocated: f64,
    live: f64,
    objects: f64,
}

fn run(seed: u64, rate: f64, blocks: u64, sizes: Sizes) -> (Exact, Summary) {
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

/// How often intervals contain the truth, and how far the mean of the estimates is from it, in
/// standard errors.
#[derive(Default)]
struct Score {
    contained: u64,
    deviation: f64,
    variance: f64,
}

impl Score {
    fn add(&mut self, estimate: Estimate, truth: f64) {
        self.contained += u64::from((estimate.value - truth).abs() <= estimate.interval95());
        self.deviation += estimate.value - truth;
        self.variance += estimate.variance;
    }

    fn check(&self, what: &str) {
        let coverage = self.contained as f64 / RUNS as f64;
        assert!(COVERAGE.contains(&coverage), "{what}: {coverage}");
        let bias = self.deviation / self.variance.sqrt();
        assert!(bias.abs() < 4.0, "{what}: off by {bias} standard errors");
    }
}

fn check(rate: f64, blocks: u64, sizes: Sizes) {
    let (mut allocated, mut live, mut objects) = <(Score, Score, Score)>::default();
    for seed in 0..RUNS {
        let (exact, summary) = run(seed.wrapping_mul(0xD134_2543_DE82_EF95), rate, blocks, sizes);
        allocated.add(summary.allocated.bytes, exact.allocated);
        live.add(summary.live.bytes, exact.live);
        objects.add(summary.allocated.objects, exact.objects);
    }
    allocated.check("allocated");
    live.check("live");
    objects.check("objects");
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
