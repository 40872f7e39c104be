//! Numbers that look random, the same in every run: xorshift64*, Vigna 2016.

/// The state; never 0.
pub struct Random(u64);

impl Random {
    /// The sequence number `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// The next number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        low + (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) % (high - low + 1)
    }
}
