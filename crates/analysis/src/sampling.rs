//! How the blocks of a trace were sampled, and what each of them stands for.
//!
//! A sampler hits each unit of a block (byte, word, or the block as a whole) independently with its
//! rate `r`; a block is in the trace if one of its `u` units was hit. It is therefore included with
//! probability `p = 1 - (1 - r)^u`, whatever happens to other blocks, and stands for `1 / p` blocks
//! like it. A trace may have several samplers, and a sampler's rate may change: what counts is the rate
//! at the block's birth.
//!
//! Words that a sampler sees: where a runtime tells its blocks' lengths in words, these have a header word more if they
//! are in its own heap; elsewhere a block has its length. A block without any has one unit.

use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::ids::{SamplerId, Size};
use lifetrace_trace::record::Birth;

use crate::estimate::{Amount, Weight};

/// How a trace is sampled at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// By number; those that were never told are sampled as the first one.
    samplers: Vec<Option<Rate>>,
    word_bits: u8,
    /// Whether every block so far was certain to be in the trace.
    is_exact: bool,
    /// The longest of all that the trace has told, in bytes; 0 if objects are all that is hit.
    interval_bytes: f64,
    /// The longest of those that hit objects; 0 if there are none.
    interval_objects: f64,
    /// Whether nothing is known of the first sampler but what the trace's beginning says.
    is_first_assumed: bool,
    /// Whether all memory that the program allocates could have been sampled, as far as is known.
    hears_all: bool,
    /// Whether only some of the blocks are looked at, by choice.
    is_of_some: bool,
}

/// Notices of recorders which say that a part of the program's memory was not heard.
const UNHEARD: [&str; 2] = ["own-allocator", "unheard-memory"];

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    unit: SampledUnit,
    rate: f64,
    chance: Chance,
}

/// A trace whose samples mean nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InvalidSampling {
    /// Not in (0, 1].
    Rate(f64),
    /// Neither 32 nor 64.
    WordBits(u8),
}

impl std::fmt::Display for InvalidSampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rate(rate) => {
                write!(f, "sampling rate {rate} is not greater than 0 and at most 1")
            }
            Self::WordBits(bits) => write!(f, "word size of {bits} bits is neither 32 nor 64"),
        }
    }
}

impl std::error::Error for InvalidSampling {}

impl Sampling {
    /// The sampling that `info` describes: of words, until a sampler says otherwise.
    ///
    /// # Errors
    /// If nothing can be estimated from such a trace.
    pub fn new(info: &TraceInfo) -> Result<Self, InvalidSampling> {
        if !matches!(info.word_bits, 32 | 64) {
            return Err(InvalidSampling::WordBits(info.word_bits));
        }
        let first = Rate::new(SampledUnit::Word, info.sample_rate)?;
        let word_bits = info.word_bits;
        Ok(Self {
            samplers: vec![Some(first)],
            word_bits,
            is_exact: first.rate == 1.0,
            interval_bytes: first.interval_bytes(word_bits).unwrap_or(0.0),
            interval_objects: 0.0,
            is_first_assumed: true,
            hears_all: true,
            is_of_some: false,
        })
    }

    /// From now on blocks are sampled so.
    ///
    /// # Errors
    /// If nothing can be estimated from that; then all stays as it was.
    pub fn set(&mut self, sampler: &Sampler) -> Result<(), InvalidSampling> {
        let rate = Rate::new(sampler.unit, sampler.rate)?;
        let at = usize::from(sampler.id.0);
        if self.samplers.len() <= at {
            self.samplers.resize(at + 1, None);
        }
        self.samplers[at] = Some(rate);
        self.is_exact &= rate.rate == 1.0;
        if at == 0 && self.is_first_assumed {
            self.is_first_assumed = false;
            if rate.unit == SampledUnit::Object {
                self.interval_bytes = 0.0;
            }
        }
        match rate.interval_bytes(self.word_bits) {
            Some(bytes) => self.interval_bytes = self.interval_bytes.max(bytes),
            None => self.interval_objects = self.interval_objects.max(1.0 / rate.rate),
        }
        Ok(())
    }

    /// Takes to heart what a recorder has noticed, by its code.
    pub fn learn(&mut self, notice: &str) {
        self.hears_all &= !UNHEARD.contains(&notice);
    }

    /// Only some of the blocks are looked at: of others that were not hit nobody knows whether they would have been chosen.
    pub(crate) fn choose_some(&mut self) {
        self.is_of_some = true;
    }

    /// Whether only some of the blocks are looked at, by choice.
    pub fn is_of_some(&self) -> bool {
        self.is_of_some
    }

    /// That of the more thinly sampled one; exact only if both are.
    pub fn coarser(one: &Self, other: &Self) -> Self {
        let is_one = one.interval_bytes >= other.interval_bytes;
        let is_exact = one.is_exact && other.is_exact;
        let hears_all = one.hears_all && other.hears_all;
        let is_of_some = one.is_of_some || other.is_of_some;
        Self { is_exact, hears_all, is_of_some, ..if is_one { one } else { other }.clone() }
    }

    /// Whether every block is in the trace.
    pub fn is_exact(&self) -> bool {
        self.is_exact && self.hears_all
    }

    /// Whether what is not in the trace is only what was not hit. If not, nothing is known of how much
    /// else there was.
    pub fn hears_all(&self) -> bool {
        self.hears_all
    }

    /// Probability that a unit is hit, of the first sampler.
    pub fn rate(&self) -> f64 {
        self.of(SamplerId(0)).rate
    }

    /// What the first sampler hits.
    pub fn unit(&self) -> SampledUnit {
        self.of(SamplerId(0)).unit
    }

    /// Mean number of objects from one hit to the next, of samplers that hit objects, whatever their size; the longest,
    /// if it is not the same always, and 0 if there are none.
    pub fn interval_objects(&self) -> f64 {
        self.interval_objects
    }

    /// Mean number of bytes from one hit to the next; the longest, if it is not the same always. 0 if objects are all
    /// that is hit.
    pub fn interval_bytes(&self) -> f64 {
        self.interval_bytes
    }

    /// The most bytes that a block stands for which might well be missed, where so much was allocated: of samplers that
    /// hit objects it is one of mean size.
    pub fn grain_bytes(&self, allocated: &Amount) -> f64 {
        let objects = allocated.objects.value;
        let mean = if objects > 0.0 { allocated.bytes.value / objects } else { 0.0 };
        self.interval_bytes.max(self.interval_objects * mean)
    }

    /// Bytes of a word.
    pub fn word_bytes(&self) -> u64 {
        u64::from(self.word_bits) / 8
    }

    /// Bytes that a block takes, a runtime's header included.
    pub fn bytes(&self, birth: &Birth) -> u64 {
        let word_bytes = self.word_bytes();
        match birth.size {
            Size::Words(words) => held_words(birth.source, words.0).saturating_mul(word_bytes),
            Size::Bytes(bytes) => bytes.0,
        }
    }

    /// Bytes of a size that is told apart from a birth.
    pub fn bytes_of(&self, size: Size) -> u64 {
        size.bytes(self.word_bits).0
    }

    /// How many blocks like it a sampled block stands for.
    pub fn weigh(&self, birth: &Birth) -> Weight {
        let rate = self.of(birth.sampler);
        if rate.rate == 1.0 {
            return Weight::ONE;
        }
        Weight::of_inclusion(rate.chance.any_of(self.units(rate.unit, birth) as f64))
    }

    /// How a block came to be in the trace.
    pub fn draw(&self, birth: &Birth) -> Draw {
        let Rate { rate, unit, .. } = *self.of(birth.sampler);
        Draw { rate, units: self.units(unit, birth) }
    }

    fn units(&self, unit: SampledUnit, birth: &Birth) -> u64 {
        let units = match unit {
            SampledUnit::Object => 1,
            SampledUnit::Byte => birth.size.bytes(self.word_bits).0,
            SampledUnit::Word => match birth.size {
                Size::Words(words) => held_words(birth.source, words.0),
                Size::Bytes(_) => birth.size.words(self.word_bits).0,
            },
        };
        units.max(1)
    }

    fn of(&self, sampler: SamplerId) -> &Rate {
        let told = self.samplers.get(usize::from(sampler.0)).and_then(Option::as_ref);
        told.or(self.samplers[0].as_ref()).expect("the first sampler is always known")
    }
}

/// How a block came to be in a trace: each of its units was hit at this rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Probability that a unit is hit, in (0, 1].
    pub rate: f64,
    /// How many units it has, 1 at least.
    pub units: u64,
}

impl Draw {
    /// The probability that the block is in the trace.
    pub fn inclusion(self) -> f64 {
        Chance::per_unit(self.rate).any_of(self.units as f64)
    }

    /// With only this `share` of the rate, which is in (0, 1].
    #[must_use]
    pub fn thinned(self, share: f64) -> Self {
        Self { rate: self.rate * share, ..self }
    }
}

impl Rate {
    fn new(unit: SampledUnit, rate: f64) -> Result<Self, InvalidSampling> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(InvalidSampling::Rate(rate));
        }
        Ok(Self { unit, rate, chance: Chance::per_unit(rate) })
    }

    /// Nothing where objects are hit, however large they are.
    fn interval_bytes(&self, word_bits: u8) -> Option<f64> {
        let unit = match self.unit {
            SampledUnit::Byte => 1.0,
            SampledUnit::Word => f64::from(word_bits) / 8.0,
            SampledUnit::Object => return None,
        };
        Some(unit / self.rate)
    }
}

fn held_words(source: Source, length: u64) -> u64 {
    match source {
        Source::External => length,
        Source::Minor | Source::Major => length.saturating_add(1),
    }
}

#[cfg(test)]
mod tests;
