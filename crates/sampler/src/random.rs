//! A small generator for the sampler: xoshiro256++ (Blackman and Vigna, 2019), seeded by
//! SplitMix64 as its authors advise. No thread-local state and no allocation.

/// A stream of random words.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The `stream`-th generator of `seed`; streams of one seed are independent for our purposes.
    pub const fn new(seed: u64, stream: u64) -> Self {
        let start = seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F);
        Random { state: [mixed(start, 1), mixed(start, 2), mixed(start, 3), mixed(start, 4)] }
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in (0, 1], a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// The `step`-th number of SplitMix64.
const fn mixed(start: u64, step: u64) -> u64 {
    let z = start.wrapping_add(step.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation, word for word in its order of statements.
    fn naive(s: &mut [u64; 4]) -> u64 {
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    #[test]
    fn equals_the_reference() {
        let mut random = Random::new(42, 7);
        let mut reference = random.state;
        for _ in 0..1000 {
            assert_eq!(random.word(), naive(&mut reference));
        }
    }

    /// The first numbers of SplitMix64 from 1234567, as its authors' program prints them.
    #[test]
    fn seeds_are_mixed_as_advised() {
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!(Random::new(1_234_567, 0).state[..3], expected);
    }

    #[test]
    fn streams_differ() {
        assert_ne!(Random::new(1, 0).word(), Random::new(1, 1).word());
        assert_ne!(Random::new(0, 1).word(), Random::new(1, 0).word());
    }
}
