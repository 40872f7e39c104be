//! Random numbers and sampled blocks for the tests, from fixed seeds.

use crate::estimate::{Amount, Weight};
use crate::statistics::Mass;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0xD1B5_4A32_D192_ED03);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }

    /// Exponentially distributed.
    pub(crate) fn waiting(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// How many of `trials` succeed, by leaping from success to success.
    pub(crate) fn binomial(&mut self, trials: u64, probability: f64) -> u64 {
        if probability >= 1.0 {
            return trials;
        }
        let (mut successes, mut at) = (0, 0.0);
        loop {
            at += (self.unit().ln() / (-probability).ln_1p()).floor() + 1.0;
            if at > trials as f64 {
                return successes;
            }
            successes += 1;
        }
    }

    /// Normally distributed (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Probability that a block of so many bytes is sampled, at one hit in `interval` bytes.
pub(crate) fn inclusion(bytes: f64, interval: f64) -> f64 {
    -(-bytes / interval).exp_m1()
}

/// What a sampled block stands for.
pub(crate) fn amount(bytes: f64, inclusion: f64) -> Amount {
    let weight = Weight::of_inclusion(inclusion);
    Amount { samples: 1, bytes: weight.estimate(bytes), objects: weight.estimate(1.0) }
}

pub(crate) fn mass(bytes: f64, inclusion: f64) -> Mass {
    Mass::of_block(&amount(bytes, inclusion))
}

/// A test of coverage fails if of `runs` intervals fewer or more hold the truth than this many standard
/// deviations from 95 %: an honest one once in some 10,000 tests.
const SIGMAS: f64 = 4.0;

/// Whether 95 % intervals of which `held` of `runs` hold the truth can be right.
pub(crate) fn covers_95(held: usize, runs: usize) -> bool {
    let sigma = (0.95 * 0.05 * runs as f64).sqrt();
    (held as f64 - 0.95 * runs as f64).abs() <= SIGMAS * sigma
}

/// Whether `hits` of `runs` can be of a share of at most `share`.
pub(crate) fn at_most(hits: usize, runs: usize, share: f64) -> bool {
    let sigma = (share * (1.0 - share) * runs as f64).sqrt();
    hits as f64 <= share * runs as f64 + SIGMAS * sigma
}
