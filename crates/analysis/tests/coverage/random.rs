//! Numbers that look random, and a sampler that is driven by them.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A seed for each run, far from that of the next.
    pub fn of_run(run: u64) -> Self {
        Self(run.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// In (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Between the two, each order of magnitude as likely as the next.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }
}

/// Walks over the units of all blocks, from one hit to the next.
pub struct Sampler {
    random: Random,
    pub rate: f64,
    units_to_hit: u64,
}

impl Sampler {
    pub fn new(seed: u64, rate: f64) -> Self {
        let mut sampler = Self { random: Random(seed), rate, units_to_hit: 0 };
        sampler.units_to_hit = sampler.distance();
        sampler
    }

    /// Units without a hit before the next one: geometrically distributed.
    fn distance(&mut self) -> u64 {
        (self.random.unit().ln() / (1.0 - self.rate).ln()) as u64
    }

    /// How many of the next units are hit.
    pub fn hits(&mut self, units: u64) -> u64 {
        let (mut hits, mut left) = (0, units);
        while self.units_to_hit < left {
            left -= self.units_to_hit + 1;
            self.units_to_hit = self.distance();
            hits += 1;
        }
        self.units_to_hit -= left;
        hits
    }
}
