//! Names, letter by letter.
//!
//! Each bit of a byte is guessed from the one, two, three and four bytes before it, from the word it
//! is in, and from what followed the last time that the same four bytes were seen. A name begins as
//! if it were a copy of another one, its *example*: names of one file begin alike.

use super::candidates::hash;
use super::coder::Coder;
use super::mixer::{Mixer, logit};
use super::probability::Probability;
use crate::framing::fault::Fault;

/// Ends a name. UTF-8 has no such byte.
const END: u8 = 0xff;

const PROBABILITY_BITS: u32 = 16;
const PLACE_BITS: u32 = 14;

/// Inputs: five contexts and the copy.
const CONTEXTS: usize = 5;
const INPUTS: usize = CONTEXTS + 1;

/// Length of a copy from which on all are alike.
const LONGEST: usize = 15;

/// What both sides have learnt.
pub(super) struct Text {
    /// All names so far, each with its [`END`].
    history: Vec<u8>,
    /// Where in the history the same four bytes ended last; made with the first name.
    places: Box<[u32]>,
    /// Made with the first name.
    models: Option<Models>,
}

struct Models {
    probabilities: Box<[Probability; 1 << PROBABILITY_BITS]>,
    /// Whether a copy is right, by its length.
    copies: [Probability; LONGEST + 1],
    mixer: Mixer<INPUTS>,
}

/// Where a name stands in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Example(usize);

impl Example {
    /// None.
    pub(super) const NONE: Self = Self(0);
}

/// The source of what is probably next.
struct Copy {
    /// In the history; 0 if there is none.
    from: usize,
    length: usize,
}

/// The bytes of the name, last ones, and the word's hash.
struct Past {
    last: u32,
    word: u32,
}

impl Text {
    pub(super) fn new() -> Self {
        Self { history: vec![END], places: Box::default(), models: None }
    }

    /// Bytes that were coded.
    pub(super) fn len(&self) -> usize {
        self.history.len()
    }

    /// Codes a name, which probably begins like its example. `kind` tells kinds of names apart.
    ///
    /// # Errors
    /// Only when decoding: if the name is longer than `limit` or no UTF-8.
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        kind: u8,
        name: &str,
        example: Example,
        limit: usize,
    ) -> Result<(String, Example), Fault> {
        if self.models.is_none() {
            self.places = vec![0; 1 << PLACE_BITS].into_boxed_slice();
            self.models = Some(Models::new());
        }
        let start = self.history.len();
        let mut copy = Copy { from: example.0, length: usize::from(example.0 != 0) };
        let mut past = Past { last: u32::from(kind), word: u32::from(kind) };
        let mut bytes = name.bytes();
        loop {
            let byte = self.code_byte(coder, bytes.next().unwrap_or(END), &copy, &past);
            self.remember(byte, &mut copy, &mut past, self.history.len() - start);
            if byte == END {
                break;
            }
            if self.history.len() - start > limit {
                return Err(Fault::Unexpected("a shorter name"));
            }
        }
        let name = &self.history[start..self.history.len() - 1];
        let name = std::str::from_utf8(name).map_err(|_| Fault::Unexpected("a name in UTF-8"))?;
        Ok((name.to_owned(), Example(start)))
    }

    #[inline]
    fn code_byte<C: Coder>(&mut self, coder: &mut C, byte: u8, copy: &Copy, past: &Past) -> u8 {
        let Some(models) = &mut self.models else { return END };
        let contexts = past.contexts();
        let expected = self.history[copy.from];
        let (mut is_right, mut length) = (copy.from != 0, copy.length);
        let mut node = 1u32;
        for bit in (0..8).rev() {
            let guess = is_right.then_some(expected >> bit & 1 == 1);
            let answer =
                models.code_bit(coder, byte >> bit & 1 == 1, &contexts, node, guess, length);
            if guess != Some(answer) {
                (is_right, length) = (false, 0);
            }
            node = node << 1 | u32::from(answer);
        }
        node as u8
    }

    /// Goes on by a byte; `length` is that of the name before it.
    fn remember(&mut self, byte: u8, copy: &mut Copy, past: &mut Past, length: usize) {
        self.history.push(byte);
        past.push(byte);
        let is_right = copy.from != 0 && self.history[copy.from] == byte;
        if is_right {
            copy.from += 1;
            copy.length = (copy.length + 1).min(LONGEST);
        } else {
            *copy = Copy { from: 0, length: 0 };
        }
        if length < 3 {
            return;
        }
        let place = &mut self.places[(hash(0, past.last) >> (32 - PLACE_BITS)) as usize];
        if copy.from == 0 && *place != 0 {
            *copy = Copy { from: *place as usize, length: 1 };
        }
        *place = self.history.len() as u32;
    }
}

impl Models {
    fn new() -> Self {
        Self {
            probabilities: Probability::table(),
            copies: [Probability::EVEN; LONGEST + 1],
            mixer: Mixer::new(LONGEST + 1, 1 << 14),
        }
    }

    #[inline]
    fn code_bit<C: Coder>(
        &mut self,
        coder: &mut C,
        bit: bool,
        contexts: &[u32; CONTEXTS],
        node: u32,
        guess: Option<bool>,
        length: usize,
    ) -> bool {
        let indices =
            contexts.map(|context| (hash(context, node) >> (32 - PROBABILITY_BITS)) as usize);
        let mut logits = [0; INPUTS];
        for (input, &index) in logits.iter_mut().zip(&indices) {
            *input = logit(self.probabilities[index].value());
        }
        if let Some(guess) = guess {
            let trust = logit(self.copies[length].value());
            logits[CONTEXTS] = if guess { trust } else { -trust };
        }
        let mixed = self.mixer.mix(length, &logits);
        let bit = coder.bit(mixed, bit);
        self.mixer.learn(length, &logits, mixed, bit);
        indices.iter().for_each(|&index| self.probabilities[index].learn(bit));
        if let Some(guess) = guess {
            self.copies[length].learn(guess == bit);
        }
        bit
    }
}

impl Past {
    fn push(&mut self, byte: u8) {
        self.last = self.last << 8 | u32::from(byte);
        self.word = match byte.is_ascii_alphanumeric() {
            true => hash(self.word, byte.into()),
            false => hash(0, byte.into()),
        };
    }

    fn contexts(&self) -> [u32; CONTEXTS] {
        [
            hash(1, self.last & 0xff),
            hash(2, self.last & 0xffff),
            hash(3, self.last & 0xff_ffff),
            hash(4, self.last),
            hash(5, self.word),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::coder::{Encoder, Paused};
    use super::*;

    fn check(names: &[&str]) -> usize {
        let (mut writing, mut reading) = (Text::new(), Text::new());
        let mut encoder = Encoder::new();
        let mut example = Example::NONE;
        for name in names {
            example = writing.code(&mut encoder, 1, name, example, usize::MAX).unwrap().1;
        }
        let stream = encoder.finish();
        let mut decoder = Paused::start(&stream).resume(&stream);
        example = Example::NONE;
        for name in names {
            let (read, next) = reading.code(&mut decoder, 1, "", example, 1000).unwrap();
            assert_eq!(read, *name);
            example = next;
        }
        stream.len()
    }

    #[test]
    fn names_are_read() {
        check(&[
            "",
            "a",
            "",
            "Typecore.type_let",
            "Typecore.type_letter",
            "größer",
            "\0\u{10ffff}",
            "a",
        ]);
    }

    #[test]
    fn a_name_like_its_example_costs_little() {
        let first = check(&["core::ptr::drop_in_place<alloc::vec::Vec<u8>>"]);
        let both = check(&[
            "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
            "core::ptr::drop_in_place<alloc::vec::Vec<u32>>",
        ]);
        assert!(both - first < 12, "{first} {both}");
    }

    #[test]
    fn a_name_without_an_end_is_refused() {
        // Each decision is no: bytes of 0.
        let mut decoder = Paused::start(&[0xff; 64]).resume(&[0xff; 64]);
        assert!(Text::new().code(&mut decoder, 1, "", Example::NONE, 3).is_err());
    }
}
