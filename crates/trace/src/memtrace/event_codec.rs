//! Event headers and the fixed parts of events.
//!
//! An event begins with a word of 32 bits: 7 for its kind, 25 for the low bits of its time in
//! microseconds. Since a packet covers less than 2^25 µs, its begin gives the rest.

use super::cursor::{Cursor, MAX_VINT, PutFields};
use super::error::Fault;
use crate::event::Source;
use crate::ids::Timestamp;

/// Longest event but for the words of its backtrace, in bytes.
pub(super) const MAX_LEN: usize = HEAD_LEN + 3 * MAX_VINT + 1 + 2;

/// Length of the word that begins an event, in bytes.
pub(super) const HEAD_LEN: usize = 4;

const TIME_BITS: u32 = 25;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

const SHORT_BASE: u8 = 100;
const LONGEST_SHORT: u8 = 16;

/// Most words that a short allocation has room to count, plus one.
const SHORT_WORDS: usize = 256;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Info,
    Location,
    Allocation,
    /// An allocation in the minor heap with one sample, of this many words.
    ShortAllocation(u8),
    Promotion,
    Collection,
}

impl Kind {
    fn id(self) -> u8 {
        match self {
            Self::Info => 0,
            Self::Location => 1,
            Self::Allocation => 2,
            Self::Promotion => 3,
            Self::Collection => 4,
            Self::ShortAllocation(length) => SHORT_BASE + length,
        }
    }

    fn from_id(id: u8) -> Result<Self, Fault> {
        Ok(match id {
            0 => Self::Info,
            1 => Self::Location,
            2 => Self::Allocation,
            3 => Self::Promotion,
            4 => Self::Collection,
            _ if (SHORT_BASE + 1..=SHORT_BASE + LONGEST_SHORT).contains(&id) => {
                Self::ShortAllocation(id - SHORT_BASE)
            }
            _ => return Err(Fault::Unexpected { expected: "a kind of event", found: id.into() }),
        })
    }
}

pub(super) fn put_head(kind: Kind, time: Timestamp, out: &mut Vec<u8>) {
    out.put_u32(u32::from(kind.id()) << TIME_BITS | (time.0 & TIME_MASK) as u32);
}

/// `begin` is the packet's: no event is earlier.
pub(super) fn head(cursor: &mut Cursor<'_>, begin: Timestamp) -> Result<(Kind, Timestamp), Fault> {
    let word = cursor.u32()?;
    let kind = Kind::from_id((word >> TIME_BITS) as u8)?;
    let low = u64::from(word) & TIME_MASK;
    let carry = if low < begin.0 & TIME_MASK { TIME_MASK + 1 } else { 0 };
    let time = (begin.0 & !TIME_MASK | low).saturating_add(carry);
    Ok((kind, Timestamp(time)))
}

/// An allocation without its id, time and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// In words; below 2^63.
    pub(super) length: u64,
    /// Below 2^63.
    pub(super) samples: u64,
    pub(super) source: Source,
    pub(super) common_prefix: u64,
}

impl Shape {
    /// The short form has a byte to count words, and frames, of which a word covers one or more,
    /// decide whether it is enough.
    pub(super) fn kind(&self, new_frames: usize) -> Kind {
        match (self.source, self.samples, u8::try_from(self.length)) {
            (Source::Minor, 1, Ok(length @ 1..=LONGEST_SHORT)) if new_frames < SHORT_WORDS => {
                Kind::ShortAllocation(length)
            }
            _ => Kind::Allocation,
        }
    }

    /// Appends what comes between the head and the number of words.
    pub(super) fn encode(&self, kind: Kind, out: &mut Vec<u8>) {
        if kind == Kind::Allocation {
            out.put_vint(self.length as i64);
            out.put_vint(self.samples as i64);
            out.put_u8(source_id(self.source));
        }
        out.put_vint(self.common_prefix as i64);
    }

    /// Reads what is between the head and the words, and their number.
    pub(super) fn decode(kind: Kind, cursor: &mut Cursor<'_>) -> Result<(Self, u16), Fault> {
        if let Kind::ShortAllocation(length) = kind {
            let (length, samples, source) = (length.into(), 1, Source::Minor);
            let common_prefix = cursor.count("the length of a common prefix")?;
            let words = cursor.u8()?.into();
            return Ok((Self { length, samples, source, common_prefix }, words));
        }
        let shape = Self {
            length: cursor.count("the length of a block")?,
            samples: cursor.count("a number of samples")?,
            source: source_from_id(cursor.u8()?)?,
            common_prefix: cursor.count("the length of a common prefix")?,
        };
        Ok((shape, cursor.u16()?))
    }
}

fn source_id(source: Source) -> u8 {
    match source {
        Source::Minor => 0,
        Source::Major => 1,
        Source::External => 2,
    }
}

fn source_from_id(id: u8) -> Result<Source, Fault> {
    match id {
        0 => Ok(Source::Minor),
        1 => Ok(Source::Major),
        2 => Ok(Source::External),
        _ => Err(Fault::Unexpected { expected: "a source of allocations", found: id.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_time(begin: u64, time: u64) {
        let mut bytes = Vec::new();
        put_head(Kind::Promotion, Timestamp(time), &mut bytes);
        let decoded = head(&mut Cursor::new(&bytes, 0), Timestamp(begin));
        assert_eq!(decoded, Ok((Kind::Promotion, Timestamp(time))));
    }

    #[test]
    fn times_are_told_from_25_bits() {
        check_time(0, 0);
        check_time(1_586_965_711_174_340, 1_586_965_711_174_340);
        check_time(0x1ff_ffff, 0x200_0000);
        check_time(0x1ff_ffff, 0x3ff_fffe);
        check_time(0x1200_0001, 0x1400_0000);
        check_time(u64::MAX, u64::MAX);
    }

    #[test]
    fn short_allocations_are_of_1_to_16_words() {
        let shape = |length| Shape { length, samples: 1, source: Source::Minor, common_prefix: 0 };
        assert_eq!(shape(0).kind(0), Kind::Allocation);
        assert_eq!(shape(1).kind(255), Kind::ShortAllocation(1));
        assert_eq!(shape(16).kind(255), Kind::ShortAllocation(16));
        assert_eq!(shape(16).kind(256), Kind::Allocation);
        assert_eq!(shape(17).kind(0), Kind::Allocation);
        assert_eq!(shape(257).kind(0), Kind::Allocation);
        assert_eq!(Shape { samples: 2, ..shape(3) }.kind(0), Kind::Allocation);
        assert_eq!(Shape { source: Source::Major, ..shape(3) }.kind(0), Kind::Allocation);
    }

    #[test]
    fn every_kind_has_its_id() {
        let known = (0..128).filter_map(|id| Kind::from_id(id).ok().map(|kind| (id, kind)));
        let ids: Vec<u8> =
            known.map(|(id, kind)| (kind.id() == id).then_some(id).unwrap()).collect();
        assert_eq!(ids, (0..=4).chain(101..=116).collect::<Vec<u8>>());
    }

    #[test]
    fn the_document_has_the_same_kinds() {
        let document = include_str!("../../../../docs/format-memtrace.md");
        let rows = [
            (Kind::Info, "trace info"),
            (Kind::Location, "locations of a frame"),
            (Kind::Allocation, "allocation"),
            (Kind::Promotion, "promotion"),
            (Kind::Collection, "collection"),
        ];
        for (kind, name) in rows {
            assert!(document.contains(&format!("| {} | {name} |", kind.id())), "{name}");
        }
        let (first, last) = (Kind::ShortAllocation(1), Kind::ShortAllocation(LONGEST_SHORT));
        assert!(document.contains(&format!(
            "| {} to {} | short allocation",
            first.id(),
            last.id()
        )));
    }
}
