//! A probability that learns: fast at first, ever more slowly, never to a standstill.
//!
//! ```text
//! bits 31..10  probability of yes, in 1/2^22
//! bits  9..0   how many decisions it has seen, up to a limit
//! ```
//!
//! After the n-th decision it moves by 2/(2n+3) of the distance to the answer, or nearly so: to what is
//! as certain as anything ever gets.

use super::coder::Coder;

/// Decisions after which learning gets no slower.
const LIMIT: u8 = u8::MAX;

const COUNT_BITS: u32 = 10;
/// Nothing is thought more certain than this, in 1/65536ths.
const LEAST: i64 = 32;

/// Where a probability moves after *yes* and after *no*, in 1/2^22. It never goes beyond.
const YES: i64 = (65_536 - LEAST) << 6;
const NO: i64 = LEAST << 6;

/// 2/(2n+3) in 1/65536ths.
const STEPS: [i64; LIMIT as usize + 1] = {
    let mut steps = [0; LIMIT as usize + 1];
    let mut n = 0;
    while n < steps.len() {
        steps[n] = 131_072 / (2 * n as i64 + 3);
        n += 1;
    }
    steps
};

/// One adaptive probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probability(u32);

impl Probability {
    /// Nothing known.
    pub(super) const EVEN: Self = Self(1 << 31);

    /// So many of which nothing is known.
    pub(super) fn table<const N: usize>() -> Box<[Self; N]> {
        let table = vec![Self::EVEN; N].into_boxed_slice();
        table.try_into().unwrap_or_else(|_| unreachable!("it has N of them"))
    }

    /// Of *yes*, in 1/65536ths.
    #[inline]
    pub(super) fn value(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Learns from an answer.
    #[inline]
    pub(super) fn learn(&mut self, bit: bool) {
        // All of the count: it never exceeds its limit.
        let count = self.0 as u8;
        let target = if bit { YES } else { NO };
        let distance = target - i64::from(self.0 >> COUNT_BITS);
        let moved = (distance * STEPS[usize::from(count)]) >> 16;
        // Both parts at once: neither leaves its bits.
        let counted = u32::from(count < LIMIT);
        self.0 = self.0.wrapping_add((moved as u32) << COUNT_BITS).wrapping_add(counted);
    }

    /// Codes a decision with it alone.
    #[inline]
    pub(super) fn code<C: Coder>(&mut self, coder: &mut C, bit: bool) -> bool {
        let bit = coder.bit(self.value(), bit);
        self.learn(bit);
        bit
    }
}

/// Codes a number of `bits` bits, highest first. Each bit's probability depends on those before it:
/// `tree` has 2^bits of them.
#[inline]
pub(super) fn code_tree<C: Coder>(
    tree: &mut [Probability],
    bits: u32,
    coder: &mut C,
    value: usize,
) -> usize {
    let mut node = 1;
    for bit in (0..bits).rev() {
        let probability = &mut tree[node];
        let answer = coder.surprising_bit(probability.value(), value >> bit & 1 == 1);
        probability.learn(answer);
        node = node << 1 | usize::from(answer);
    }
    node - (1 << bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(answers: impl IntoIterator<Item = bool>) -> u16 {
        let mut probability = Probability::EVEN;
        answers.into_iter().for_each(|answer| probability.learn(answer));
        probability.value()
    }

    #[test]
    fn it_learns_and_stays_possible() {
        assert_eq!(after([]), 1 << 15);
        assert!((54_000..55_000).contains(&after([true])));
        assert!((65_400..=65_504).contains(&after([true; 5000])));
        assert!((32..=64).contains(&after([false; 5000])));
    }

    #[test]
    fn it_comes_near_the_true_frequency() {
        let third = after((0..3000).map(|n| n % 3 == 0));
        assert!((21_000..23_000).contains(&third), "{third}");
    }

    #[test]
    fn it_never_leaves_its_bits() {
        let mut state = 1u32;
        let mut probability = Probability::EVEN;
        for _ in 0..100_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            probability.learn(state >> 24 < 200);
            assert!(probability.0 & ((1 << COUNT_BITS) - 1) <= LIMIT.into());
        }
    }
}
