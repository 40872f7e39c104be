//! Numbers that look random and are the same for the same seed, on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// In (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Exponentially distributed.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// Between the two, each order of magnitude as likely as the next.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

/// Some of the ranks from 0, of which rank k is chosen with a probability proportional to `1 / (k + 1)`.
pub struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    pub fn new(ranks: impl Iterator<Item = usize>) -> Self {
        let mut sum = 0.0;
        let cumulated = ranks.map(|rank| {
            sum += 1.0 / (rank + 1) as f64;
            sum
        });
        Self { cumulated: cumulated.collect() }
    }

    /// Which of them, from 0.
    pub fn draw(&self, random: &mut Random) -> usize {
        let total = self.cumulated.last().copied().unwrap_or(0.0);
        let at = random.unit() * total;
        self.cumulated.partition_point(|sum| *sum < at).min(self.cumulated.len() - 1)
    }
}
