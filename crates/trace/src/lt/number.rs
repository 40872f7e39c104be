//! Numbers whose distribution is learnt.
//!
//! A number's bit length is coded with learnt probabilities, and so are the highest of the bits
//! after its leading one, as many as a model cares about; the rest are coded as they are. Where most
//! numbers are 0, whether this one is comes first.

use super::coder::Coder;
use super::probability::{Probability, code_tree};

const LENGTH_BITS: u32 = 5;

/// Stands for all lengths from here on; 7 bits then tell which.
const LONG: usize = 31;

/// A distribution of numbers.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Asked first, if numbers are mostly 0.
    is_zero: Option<Probability>,
    lengths: [Probability; 1 << LENGTH_BITS],
    /// A tree for each length.
    tops: Box<[Probability]>,
    /// How many bits after the leading one are learnt.
    learnt: u32,
}

impl Number {
    /// Of whose bits after the leading one `learnt` are learnt; mostly 0.
    pub(super) fn mostly_zero(learnt: u32) -> Self {
        Self { is_zero: Some(Probability::EVEN), ..Self::new(learnt) }
    }

    /// Of whose bits after the leading one `learnt` are learnt.
    pub(super) fn new(learnt: u32) -> Self {
        let tops = vec![Probability::EVEN; 1 << LENGTH_BITS << learnt];
        let lengths = [Probability::EVEN; 1 << LENGTH_BITS];
        Self { is_zero: None, lengths, tops: tops.into_boxed_slice(), learnt }
    }

    #[inline]
    pub(super) fn code<C: Coder>(&mut self, coder: &mut C, value: u64) -> u64 {
        if let Some(is_zero) = &mut self.is_zero
            && is_zero.code(coder, value == 0)
        {
            return 0;
        }
        let length = 64 - value.leading_zeros() as usize;
        let length = match code_tree(&mut self.lengths, LENGTH_BITS, coder, length.min(LONG)) {
            0 => return 0,
            LONG => return code_long(coder, length as u64, value),
            length => length,
        };
        let after = length as u32 - 1;
        let learnt = after.min(self.learnt);
        let raw = after - learnt;
        let tree = &mut self.tops[length << self.learnt..][..1 << self.learnt];
        let top = (value >> raw) as usize & ((1 << learnt) - 1);
        let top = code_tree(tree, learnt, coder, top) as u64;
        let low = match raw {
            0 => 0,
            1..=16 => coder.raw(raw, value & ((1 << raw) - 1)),
            _ => coder.raw_bits(raw, value & ((1 << raw) - 1)),
        };
        (1 << learnt | top) << raw | low
    }

    /// A number of either sign: 0, -1, 1, -2, 2, …
    pub(super) fn code_signed<C: Coder>(&mut self, coder: &mut C, value: i64) -> i64 {
        let folded = self.code(coder, (value << 1 ^ value >> 63) as u64);
        (folded >> 1) as i64 ^ -((folded & 1) as i64)
    }
}

#[cold]
fn code_long<C: Coder>(coder: &mut C, length: u64, value: u64) -> u64 {
    let length = coder.raw_bits(7, length).min(64) as u32;
    coder.raw_bits(length, value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::coder::{Encoder, Paused};
    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        (0..=64u32, any::<u64>())
            .prop_map(|(bits, value)| value.checked_shr(64 - bits).unwrap_or(0))
    }

    proptest! {
        #[test]
        fn numbers_are_read(numbers in prop::collection::vec(number(), 0..200), learnt in 0..8u32, mostly_zero: bool) {
            let number = if mostly_zero { Number::mostly_zero(learnt) } else { Number::new(learnt) };
            let (mut writing, mut reading) = (number.clone(), number);
            let mut encoder = Encoder::new();
            for &number in &numbers {
                writing.code(&mut encoder, number);
                writing.code_signed(&mut encoder, number as i64);
            }
            let stream = encoder.finish();
            let mut decoder = Paused::start(&stream).resume(&stream);
            for number in numbers {
                prop_assert_eq!(reading.code(&mut decoder, 0), number);
                prop_assert_eq!(reading.code_signed(&mut decoder, 0), number as i64);
            }
        }
    }

    #[test]
    fn what_repeats_costs_little() {
        let (mut number, mut encoder) = (Number::new(6), Encoder::new());
        (0..1000).for_each(|_| {
            number.code(&mut encoder, 72);
        });
        assert!(encoder.finish().len() < 30);
    }
}
