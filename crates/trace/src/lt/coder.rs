//! The entropy coder: one binary decision at a time, each with the probability that it is *yes*.
//!
//! A stream is a number between 0 and 1 in base 2^32. Each decision splits the interval in which
//! that number lies, in proportion; likely decisions narrow it little, and so cost little.
//!
//! ```text
//! low                            low + range, 2^32 <= range < 2^64
//!  |------- yes -------|--------- no ---------|
//!                      low + (range >> 16) * probability
//! ```
//!
//! Both sides implement [`Coder`], so each model is written once: it hands over the answer and gets
//! it back when encoding, hands over anything and gets the answer when decoding.
//! (The method is that of G. N. N. Martin's range coder, 1979, with carries resolved at once.)

/// Takes or gives decisions.
pub(super) trait Coder {
    /// Whether answers are known before they are asked for.
    const KNOWS_ANSWERS: bool;

    /// One decision; `probability` of *yes* is in 1/65536ths and neither 0 nor 1.
    fn bit(&mut self, probability: u16, bit: bool) -> bool;

    /// Codes a decision that is hard to guess, as [`bit`](Self::bit) does others.
    fn surprising_bit(&mut self, probability: u16, bit: bool) -> bool {
        self.bit(probability, bit)
    }

    /// `count` decisions that nothing is known about, at most 16, as a number.
    fn raw(&mut self, count: u32, value: u64) -> u64;

    /// A number of `count` bits that nothing is known about, at most 64.
    fn raw_bits(&mut self, count: u32, value: u64) -> u64 {
        let mut result = 0;
        let mut left = count;
        while left > 0 {
            let step = left.min(16);
            left -= step;
            let part = self.raw(step, value >> left & ((1 << step) - 1));
            result |= part << left;
        }
        result
    }
}

const RENORMALISED: u64 = 1 << 32;

/// Writes decisions.
#[derive(Debug)]
pub(super) struct Encoder {
    low: u64,
    range: u64,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { low: 0, range: u64::MAX, bytes: Vec::new() }
    }

    /// About how long the stream is so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The shortest stream that says what was decided. Readers take bytes after its end to be 0.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let (low, end) = (u128::from(self.low), u128::from(self.low) + u128::from(self.range));
        let rounded = |len: u32| (low + (1 << (64 - 8 * len)) - 1) >> (64 - 8 * len);
        let len = (0..8).find(|&len| rounded(len) << (64 - 8 * len) < end).unwrap_or(8);
        let value = if len == 8 { low } else { rounded(len) << (64 - 8 * len) };
        if value >> 64 != 0 {
            self.carry();
        }
        self.bytes.extend_from_slice(&(value as u64).to_be_bytes()[..len as usize]);
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }

    #[inline]
    fn advance(&mut self, distance: u64) {
        let (low, overflows) = self.low.overflowing_add(distance);
        self.low = low;
        if overflows {
            self.carry();
        }
    }

    #[cold]
    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }

    #[inline]
    fn renormalise(&mut self) {
        if self.range < RENORMALISED {
            self.bytes.extend_from_slice(&((self.low >> 32) as u32).to_be_bytes());
            self.low <<= 32;
            self.range <<= 32;
        }
    }
}

impl Coder for Encoder {
    const KNOWS_ANSWERS: bool = true;

    #[inline]
    fn bit(&mut self, probability: u16, bit: bool) -> bool {
        let bound = (self.range >> 16) * u64::from(probability);
        if bit {
            self.range = bound;
        } else {
            self.advance(bound);
            self.range -= bound;
        }
        self.renormalise();
        bit
    }

    #[inline]
    fn raw(&mut self, count: u32, value: u64) -> u64 {
        self.range >>= count;
        self.advance(self.range * value);
        self.renormalise();
        value
    }
}

/// Reads decisions.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    /// The stream's number minus the encoder's `low`.
    value: u64,
    range: u64,
    rest: &'a [u8],
}

/// A [`Decoder`] without its stream, to go on later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paused {
    value: u64,
    range: u64,
    position: usize,
}

impl Paused {
    /// At the start of a stream.
    pub(super) fn start(stream: &[u8]) -> Self {
        let mut decoder = Decoder { value: 0, range: u64::MAX, rest: stream };
        decoder.value = u64::from(decoder.word()) << 32 | u64::from(decoder.word());
        decoder.pause(stream)
    }

    #[inline]
    pub(super) fn resume(self, stream: &[u8]) -> Decoder<'_> {
        Decoder { value: self.value, range: self.range, rest: &stream[self.position..] }
    }
}

impl Decoder<'_> {
    #[inline]
    pub(super) fn pause(self, stream: &[u8]) -> Paused {
        let position = stream.len() - self.rest.len();
        Paused { value: self.value, range: self.range, position }
    }

    #[inline]
    fn word(&mut self) -> u32 {
        if let Some((word, rest)) = self.rest.split_first_chunk() {
            self.rest = rest;
            return u32::from_be_bytes(*word);
        }
        self.last_word()
    }

    #[cold]
    fn last_word(&mut self) -> u32 {
        let mut word = [0; 4];
        word[..self.rest.len()].copy_from_slice(self.rest);
        self.rest = &[];
        u32::from_be_bytes(word)
    }

    #[inline]
    fn renormalise(&mut self) {
        if self.range < RENORMALISED {
            self.value = self.value << 32 | u64::from(self.word());
            self.range <<= 32;
        }
    }
}

impl Coder for Decoder<'_> {
    const KNOWS_ANSWERS: bool = false;

    #[inline]
    fn bit(&mut self, probability: u16, _: bool) -> bool {
        let bound = (self.range >> 16) * u64::from(probability);
        let bit = self.value < bound;
        if bit {
            self.range = bound;
        } else {
            self.value -= bound;
            self.range -= bound;
        }
        self.renormalise();
        bit
    }

    /// Without branches.
    #[inline]
    fn surprising_bit(&mut self, probability: u16, _: bool) -> bool {
        let bound = (self.range >> 16) * u64::from(probability);
        let bit = self.value < bound;
        let no = u64::from(bit).wrapping_sub(1);
        self.value -= bound & no;
        self.range = (bound & !no) | ((self.range - bound) & no);
        self.renormalise();
        bit
    }

    #[inline]
    fn raw(&mut self, count: u32, _: u64) -> u64 {
        self.range >>= count;
        let value = (self.value / self.range).min((1 << count) - 1);
        self.value -= value * self.range;
        // No writer leaves more than that; whatever damage says, the interval holds.
        self.value = self.value.min(self.range - 1);
        self.renormalise();
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Codes the decisions in exact arithmetic, as one long number: what carries must come to.
    fn naive(decisions: &[(u16, bool)]) -> (Vec<u8>, u64) {
        let (mut low, mut range) = (Vec::<u8>::new(), u64::MAX);
        low.resize(8, 0);
        let add = |low: &mut Vec<u8>, distance: u64| {
            let mut carry = 0;
            for index in 0..low.len() {
                let at = low.len() - 1 - index;
                let digit = if index < 8 { distance >> (8 * index) & 255 } else { 0 };
                let sum = u64::from(low[at]) + digit + carry;
                low[at] = sum as u8;
                carry = sum >> 8;
            }
        };
        for &(probability, bit) in decisions {
            let bound = (range >> 16) * u64::from(probability);
            if bit {
                range = bound;
            } else {
                add(&mut low, bound);
                range -= bound;
            }
            if range < 1 << 32 {
                range <<= 32;
                low.extend([0; 4]);
            }
        }
        (low, range)
    }

    fn encoded(decisions: &[(u16, bool)]) -> Vec<u8> {
        let mut encoder = Encoder::new();
        decisions.iter().for_each(|&(probability, bit)| {
            encoder.bit(probability, bit);
        });
        encoder.finish()
    }

    /// The stream, with zeros after it, lies in the exact interval.
    fn check(decisions: &[(u16, bool)]) {
        let (low, range) = naive(decisions);
        let mut stream = encoded(decisions);
        assert!(stream.len() <= low.len());
        stream.resize(low.len(), 0);
        assert!(stream >= low);
        let mut difference = 0u128;
        for (high, low) in stream.iter().zip(&low) {
            difference =
                (difference << 8).wrapping_add(u128::from(*high)).wrapping_sub(u128::from(*low));
        }
        assert!(difference < u128::from(range));
    }

    fn decision() -> impl Strategy<Value = (u16, bool)> {
        let probability = prop_oneof![Just(1u16), Just(u16::MAX), Just(1 << 15), 1..=u16::MAX];
        (probability, any::<bool>())
    }

    proptest! {
        #[test]
        fn what_was_decided_is_read(decisions in prop::collection::vec(decision(), 0..400)) {
            let stream = encoded(&decisions);
            let mut decoder = Paused::start(&stream).resume(&stream);
            for (probability, bit) in decisions {
                prop_assert_eq!(decoder.bit(probability, !bit), bit);
            }
        }

        #[test]
        fn the_stream_lies_in_the_exact_interval(decisions in prop::collection::vec(decision(), 0..200)) {
            check(&decisions);
        }

        #[test]
        fn raw_numbers_are_read(numbers in prop::collection::vec((0..=64u32, any::<u64>()), 0..100)) {
            let cut = |count: u32, value: u64| if count == 64 { value } else { value & ((1 << count) - 1) };
            let mut encoder = Encoder::new();
            numbers.iter().for_each(|&(count, value)| { encoder.raw_bits(count, cut(count, value)); });
            let stream = encoder.finish();
            let mut decoder = Paused::start(&stream).resume(&stream);
            for (count, value) in numbers {
                prop_assert_eq!(decoder.raw_bits(count, 0), cut(count, value));
            }
        }
    }

    #[test]
    fn nothing_takes_no_bytes() {
        assert_eq!(encoded(&[]), []);
    }

    #[test]
    fn likely_decisions_take_little() {
        assert!(encoded(&[(u16::MAX, true); 10_000]).len() <= 1);
        assert_eq!(encoded(&[(1 << 15, false); 800]).len(), 100);
    }

    #[test]
    fn carries_run_through() {
        let decisions: Vec<_> = (0..2000).map(|n| (u16::MAX - n % 3, n % 7 == 6)).collect();
        check(&decisions);
    }
}
