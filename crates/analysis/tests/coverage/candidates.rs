//! Which interval is best where samples are few.
//!
//! A callsite has blocks that are in the trace with probability `p` each. Each candidate is tried at
//! each expected number of samples from 1 to 20, in steps of a quarter, and on callsites of all sizes,
//! each order of magnitude being as frequent as the next, sorted by how many samples they happen to
//! have. Docs/sampling.md has the table.

use lifetrace_analysis::{Estimate, Interval, Weight};

use super::random::Random;

const Z: f64 = 1.959_963_984_540_054;

/// Of a mean that is like a gamma variable's.
fn gamma(shape: f64, z: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    shape * root.max(0.0).powi(3)
}

struct Candidate {
    name: &'static str,
    interval: fn(&Estimate) -> Interval,
}

fn scaled(estimate: &Estimate, ends: fn(f64) -> (f64, f64)) -> Interval {
    let scale = estimate.variance / estimate.value;
    let (low, high) = ends(estimate.value / scale);
    Interval { low: scale * low, high: scale * high }
}

const CANDIDATES: &[Candidate] = &[
    Candidate {
        name: "normal",
        interval: |estimate| {
            let half = estimate.interval95();
            Interval { low: estimate.value - half, high: estimate.value + half }
        },
    },
    Candidate {
        name: "log-normal",
        interval: |estimate| {
            let sigma = (estimate.variance / estimate.value.powi(2)).ln_1p().sqrt();
            let factor = (Z * sigma).exp();
            Interval { low: estimate.value / factor, high: estimate.value * factor }
        },
    },
    Candidate {
        name: "score",
        interval: |estimate| {
            scaled(estimate, |count| {
                let half = Z * (count + Z * Z / 4.0).sqrt();
                (count + Z * Z / 2.0 - half, count + Z * Z / 2.0 + half)
            })
        },
    },
    Candidate {
        name: "exact",
        interval: |estimate| scaled(estimate, |count| (gamma(count, -Z), gamma(count + 1.0, Z))),
    },
    Candidate {
        name: "mid-P, whole",
        interval: |estimate| Estimate::new(estimate.value, estimate.variance).interval(),
    },
    Candidate { name: "ours", interval: Estimate::interval },
];

/// Blocks of one kind or two: words of each, and how many of the first come with one of the second.
struct Mix {
    name: &'static str,
    words: [f64; 2],
    first: u64,
    counts_objects: bool,
}

const MIXES: &[Mix] = &[
    Mix { name: "small blocks", words: [4.0, 4.0], first: 1, counts_objects: false },
    Mix { name: "half are sampled", words: [177.0, 177.0], first: 1, counts_objects: false },
    Mix { name: "small and large", words: [4.0, 5120.0], first: 1280, counts_objects: false },
    Mix { name: "mostly large", words: [4.0, 5120.0], first: 128, counts_objects: false },
    Mix { name: "objects, 1:8", words: [4.0, 32.0], first: 4, counts_objects: true },
    Mix { name: "objects, 1:64", words: [1.0, 64.0], first: 8, counts_objects: true },
];

const RATE: f64 = 1.0 / 256.0;

impl Mix {
    /// The sampled part of a callsite with so many samples on average, and the truth.
    fn run(&self, expected: f64, random: &mut Random) -> (u64, Estimate, f64) {
        let (mut samples, mut estimate, mut truth) = (0, Estimate::default(), 0.0);
        let mut left = expected;
        while left > 0.0 {
            let words = self.words[usize::from(random.below(self.first + 1) == 0)];
            let included = 1.0 - (1.0 - RATE).powf(words);
            let amount = if self.counts_objects { 1.0 } else { words };
            left -= included;
            truth += amount;
            if random.unit() <= included {
                samples += 1;
                estimate += Weight::of_inclusion(included).estimate(amount);
            }
        }
        (samples, estimate, truth)
    }
}

/// For each candidate how many cases were covered, and how many there were.
#[derive(Default)]
struct Tried {
    covered: Vec<u64>,
    cases: u64,
}

impl Tried {
    fn add(&mut self, estimate: &Estimate, truth: f64) {
        self.covered.resize(CANDIDATES.len(), 0);
        self.cases += 1;
        for (covered, candidate) in self.covered.iter_mut().zip(CANDIDATES) {
            let interval = (candidate.interval)(estimate);
            let rounding = 1e-9 * truth;
            let wider = Interval { low: interval.low - rounding, high: interval.high + rounding };
            *covered += u64::from(wider.contains(truth));
        }
    }

    fn share(&self, candidate: usize) -> f64 {
        self.covered[candidate] as f64 / self.cases as f64
    }

    fn print(&self, what: &str) {
        let shares = (0..CANDIDATES.len()).map(|at| format!("{:.1}", 100.0 * self.share(at)));
        println!("| {what} | {} |", shares.collect::<Vec<_>>().join(" | "));
    }
}

/// By the expected number of samples: 1 to 5, 5 to 20.
fn by_expectation(mix: &Mix) -> [Tried; 2] {
    let mut random = Random(0x5A3B);
    let mut tried = <[Tried; 2]>::default();
    for quarters in 4..=80 {
        for _ in 0..300 {
            let (samples, estimate, truth) = mix.run(f64::from(quarters) / 4.0, &mut random);
            if samples > 0 {
                tried[usize::from(quarters > 20)].add(&estimate, truth);
            }
        }
    }
    tried
}

/// By the number of samples that callsites have: 1, 2 to 4, 5 to 9, 10 to 20.
fn by_samples(mix: &Mix) -> [Tried; 4] {
    let mut random = Random(0xC0DE);
    let mut tried = <[Tried; 4]>::default();
    for _ in 0..20_000 {
        let expected = random.log_uniform(0.02, 60.0);
        let (samples, estimate, truth) = mix.run(expected, &mut random);
        let class = match samples {
            1 => 0,
            2..5 => 1,
            5..10 => 2,
            10..21 => 3,
            _ => continue,
        };
        tried[class].add(&estimate, truth);
    }
    tried
}

fn ours() -> usize {
    CANDIDATES.len() - 1
}

#[test]
fn ours_holds_where_blocks_are_alike() {
    let names: Vec<_> = CANDIDATES.iter().map(|candidate| candidate.name).collect();
    println!("| callsite | {} |", names.join(" | "));
    for mix in MIXES {
        for (tried, what) in by_expectation(mix).iter().zip(["1 to 5", "5 to 20"]) {
            tried.print(&format!("{}, {what} expected", mix.name));
            if !mix.counts_objects && mix.name != "mostly large" {
                let share = tried.share(ours());
                assert!((0.93..=0.975).contains(&share), "{}, {what}: {share}", mix.name);
            }
        }
    }
}

/// What is surely hit must not make the few others look like many.
#[test]
fn large_blocks_are_set_aside() {
    let mix = MIXES.iter().find(|mix| mix.name == "mostly large").unwrap();
    let [_, tried] = by_expectation(mix);
    let (whole, ours) = (tried.share(ours() - 1), tried.share(ours()));
    assert!(ours > 0.93 && ours > whole + 0.015, "{ours}, {whole}");
}

#[test]
fn ours_holds_for_what_a_report_lists() {
    for mix in MIXES {
        let classes = ["1 sample", "2 to 4", "5 to 9", "10 to 20"];
        for (tried, what) in by_samples(mix).iter().zip(classes) {
            tried.print(&format!("{}, {what}", mix.name));
            if mix.name == "small blocks" {
                let share = tried.share(ours());
                assert!((0.93..=0.97).contains(&share), "{}, {what}: {share}", mix.name);
            }
        }
    }
}
