//! The column of facts: for each, the wait since the step before it, its tag, and its bytes.
//!
//! A byte is guessed from its place in the fact, from the byte before it, and from the three before
//! it: figures are alike in the first way, names in the others.

use super::candidates::hash;
use super::coder::Coder;
use super::fact_codec::{FactCodec, Tag};
use super::mixer::{Mixer, logit};
use super::number::Number;
use super::probability::Probability;
use crate::fact::Fact;
use crate::framing::fault::Fault;

const PROBABILITY_BITS: u32 = 14;
const INPUTS: usize = 3;

/// Places from here on are alike.
const LAST_PLACE: u32 = 31;

/// What both sides know.
pub(super) struct Facts {
    codec: FactCodec,
    wait: Number,
    tag: Number,
    length: Number,
    probabilities: Box<[Probability; 1 << PROBABILITY_BITS]>,
    mixer: Mixer<INPUTS>,
}

impl Facts {
    pub(super) fn new() -> Self {
        Self {
            codec: FactCodec::default(),
            wait: Number::new(4),
            tag: Number::new(4),
            length: Number::new(4),
            probabilities: Probability::table(),
            mixer: Mixer::new(1, 1 << 15),
        }
    }

    /// Writes a fact, and says how many bytes it has.
    pub(super) fn encode<C: Coder>(&mut self, coder: &mut C, wait: u64, fact: &Fact) -> usize {
        let (tag, bytes) = self.codec.encode(fact);
        self.wait.code(coder, wait);
        self.tag.code(coder, tag);
        self.length.code(coder, bytes.len() as u64);
        self.code_bytes(coder, tag, bytes.len(), bytes.iter().copied());
        bytes.len()
    }

    /// Reads a fact of at most `limit` bytes: its wait, itself if it is known, and how many bytes it has.
    pub(super) fn decode<C: Coder>(
        &mut self,
        coder: &mut C,
        limit: usize,
    ) -> Result<(u64, Option<Fact>, usize), Fault> {
        let wait = self.wait.code(coder, 0);
        let tag = self.tag.code(coder, 0);
        let length = self.length.code(coder, 0);
        let length = usize::try_from(length).ok().filter(|length| *length <= limit);
        let length = length.ok_or(Fault::Unexpected("a shorter fact"))?;
        let bytes = self.code_bytes(coder, tag, length, std::iter::empty());
        Ok((wait, self.codec.decode(tag, &bytes)?, length))
    }

    fn code_bytes<C: Coder>(
        &mut self,
        coder: &mut C,
        tag: Tag,
        length: usize,
        mut bytes: impl Iterator<Item = u8>,
    ) -> Vec<u8> {
        let kind = hash(0, tag as u32);
        let mut past = 0u32;
        let coded = (0..length as u32).map(|place| {
            let contexts = [
                hash(kind, place.min(LAST_PLACE)),
                hash(kind ^ 1, past & 0xff),
                hash(2, past & 0xff_ffff),
            ];
            let byte = self.code_byte(coder, &contexts, bytes.next().unwrap_or_default());
            past = past << 8 | u32::from(byte);
            byte
        });
        coded.collect()
    }

    fn code_byte<C: Coder>(&mut self, coder: &mut C, contexts: &[u32; INPUTS], byte: u8) -> u8 {
        let mut node = 1;
        for bit in (0..8).rev() {
            let index = |context: u32| (hash(context, node) >> (32 - PROBABILITY_BITS)) as usize;
            let indices = contexts.map(index);
            let logits = indices.map(|index| logit(self.probabilities[index].value()));
            let mixed = self.mixer.mix(0, &logits);
            let answer = coder.bit(mixed, byte >> bit & 1 == 1);
            self.mixer.learn(0, &logits, mixed, answer);
            indices.iter().for_each(|&index| self.probabilities[index].learn(answer));
            node = node << 1 | u32::from(answer);
        }
        node as u8
    }
}
