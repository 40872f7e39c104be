//! Backtraces to words and back, by a cache of frames that both sides keep in step.
//!
//! A backtrace is coded as the number of leading frames it shares with the previous one, and *words*
//! for the rest. A word names a slot of the cache:
//!
//! ```text
//! bits 0-1  tag: 0 hit | 1 hit and one predicted frame | 2 hit and a byte: that many predicted | 3 miss: the code follows
//! bits 2-15 slot
//! ```
//!
//! Each slot remembers the slot that followed it last, which is its prediction. The *previous* slot of
//! a backtrace's first coded frame is slot 0, whatever came before it in the stack.
//!
//! The cache is two-way skewed: a frame lives in one of two slots, and a new one takes the place of
//! the one whose last hit is older. The decoder needs neither hashes nor dates: it is told the slots.

use super::cursor::{Cursor, PutFields};
use super::error::Fault;
use super::packet::Verifier;
use crate::ids::LocationCode;

const SLOTS: usize = 1 << 14;

/// Words of one backtrace take no more bytes than this; the innermost frames of a longer one are
/// dropped.
pub(super) const MAX_LEN: usize = 4096;

/// Deepest backtrace that is delivered when reading: twice what fits in an 8 MiB stack of 32-byte frames.
/// Frames beyond it, the innermost ones, are dropped.
pub const MAX_DEPTH: usize = 1 << 19;

const LONGEST_WORD: usize = 10;
const LONGEST_RUN: usize = 255;

const TAG_BITS: u32 = 2;
const HIT: u16 = 0;
const HIT_AND_ONE: u16 = 1;
const HIT_AND_RUN: u16 = 2;
const MISS: u16 = 3;

/// What a slot holds that was never filled. No code equals it: codes have 63 bits, sign-extended.
const VACANT: u64 = 1 << 63;

/// The writer's side.
pub(super) struct Encoder {
    slots: Box<[DatedSlot; SLOTS]>,
    backtrace: Vec<LocationCode>,
}

#[derive(Clone, Copy)]
struct DatedSlot {
    code: u64,
    /// Id of the allocation that hit this slot last, other than by prediction.
    date: u64,
    next: u16,
}

enum Lookup {
    Hit(usize),
    Miss(usize),
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { slots: table(DatedSlot { code: VACANT, date: 0, next: 0 }), backtrace: Vec::new() }
    }

    /// How many leading frames `backtrace` shares with the previous one, of which `known` are known.
    pub(super) fn common_prefix(&self, backtrace: &[LocationCode], known: usize) -> usize {
        let longest = backtrace.len().min(self.backtrace.len());
        let known = known.min(longest);
        let pairs = backtrace[known..longest].iter().zip(&self.backtrace[known..longest]);
        known + pairs.take_while(|(new, old)| new == old).count()
    }

    /// Appends the words of what follows the `common` prefix, at most [`MAX_LEN`] bytes, and says how
    /// many words these are. Frames whose locations the reader may not know are appended to `new`.
    pub(super) fn encode(
        &mut self,
        date: u64,
        backtrace: &[LocationCode],
        common: usize,
        words: &mut Vec<u8>,
        new: &mut Vec<LocationCode>,
    ) -> u16 {
        let limit = words.len() + MAX_LEN - LONGEST_WORD;
        let mut frames = &backtrace[common..];
        let mut previous = 0;
        let mut count = 0;
        while let Some((&frame, rest)) = frames.split_first()
            && words.len() <= limit
        {
            count += 1;
            (frames, previous) = match self.look_up(canonical(frame)) {
                Lookup::Miss(slot) => {
                    self.touch(slot, previous, date);
                    self.encode_miss(slot, frame, words);
                    new.push(frame);
                    (rest, slot)
                }
                Lookup::Hit(slot) => {
                    self.touch(slot, previous, date);
                    let has_room = words.len() + 2 <= limit;
                    let (run, last) = self.run(slot, if has_room { rest } else { &[] });
                    put_hit(words, slot, run);
                    (&rest[run..], last)
                }
            }
        }
        self.backtrace.truncate(common);
        self.backtrace.extend_from_slice(&backtrace[common..]);
        count
    }

    /// What the decoder's cache has in `slot`, if it is in step.
    pub(super) fn verifier(&self, slot: u16) -> Verifier {
        let DatedSlot { code, next, .. } = self.slots[usize::from(slot)];
        Verifier { slot, next, code: if code == VACANT { 0 } else { code } }
    }

    fn look_up(&self, code: u64) -> Lookup {
        let first = hash(code, 0x498_3723, 11);
        let second = hash(code, 0xfde_a731, 21);
        if self.slots[first].code == code {
            Lookup::Hit(first)
        } else if self.slots[second].code == code {
            Lookup::Hit(second)
        } else if self.slots[first].date < self.slots[second].date {
            Lookup::Miss(first)
        } else {
            Lookup::Miss(second)
        }
    }

    /// Notes that a word names `slot`, after the frame in `previous`.
    fn touch(&mut self, slot: usize, previous: usize, date: u64) {
        self.slots[previous].next = slot as u16;
        self.slots[slot].date = date;
    }

    fn encode_miss(&mut self, slot: usize, frame: LocationCode, words: &mut Vec<u8>) {
        let code = canonical(frame);
        self.slots[slot].code = code;
        put_word(words, slot, MISS);
        words.put_u64(code);
    }

    /// How many of `frames` the predictions from `slot` on get right, and the last slot of these.
    fn run(&self, slot: usize, frames: &[LocationCode]) -> (usize, usize) {
        let mut last = slot;
        for (run, &frame) in frames.iter().take(LONGEST_RUN).enumerate() {
            let predicted = usize::from(self.slots[last].next);
            if self.slots[predicted].code != canonical(frame) {
                return (run, last);
            }
            last = predicted;
        }
        (frames.len().min(LONGEST_RUN), last)
    }
}

/// The reader's side.
pub(super) struct Decoder {
    slots: Box<[Slot; SLOTS]>,
    backtrace: Vec<LocationCode>,
}

#[derive(Clone, Copy)]
struct Slot {
    code: u64,
    next: u16,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { slots: table(Slot { code: 0, next: 0 }), backtrace: Vec::new() }
    }

    /// The last backtrace that was decoded.
    pub(super) fn backtrace(&self) -> &[LocationCode] {
        &self.backtrace
    }

    /// Makes [`backtrace`](Self::backtrace) the next one, and says how many of its leading frames are
    /// the previous one's.
    ///
    /// The writer counts the common prefix against the whole of a backtrace of which it could write
    /// only a part. When that is more than was written, all that is known is the previous backtrace:
    /// it is kept, and the words serve the cache only.
    pub(super) fn decode(
        &mut self,
        cursor: &mut Cursor<'_>,
        common: u64,
        words: u16,
    ) -> Result<usize, Fault> {
        let known = self.backtrace.len();
        match usize::try_from(common) {
            Ok(common) if common <= known => {
                self.backtrace.truncate(common);
                self.decode_words(cursor, words)?;
                Ok(common)
            }
            _ => {
                let outcome = self.decode_words(cursor, words);
                self.backtrace.truncate(known);
                outcome.map(|()| known)
            }
        }
    }

    pub(super) fn agrees_with(&self, verifier: Verifier) -> bool {
        if verifier == Verifier::NONE {
            return true;
        }
        let slot = self.slots.get(usize::from(verifier.slot));
        let code = canonical(LocationCode(verifier.code));
        slot.is_some_and(|slot| slot.next == verifier.next && slot.code == code)
    }

    fn decode_words(&mut self, cursor: &mut Cursor<'_>, words: u16) -> Result<(), Fault> {
        let mut previous = 0;
        for _ in 0..words {
            let word = cursor.u16()?;
            let slot = word >> TAG_BITS;
            self.slots[usize::from(previous)].next = slot;
            previous = match word & ((1 << TAG_BITS) - 1) {
                MISS => {
                    self.slots[usize::from(slot)].code = canonical(LocationCode(cursor.u64()?));
                    self.push(slot);
                    slot
                }
                HIT_AND_RUN => {
                    let run = cursor.u8()?;
                    self.push_run(slot, run.into())
                }
                run => self.push_run(slot, run),
            };
        }
        Ok(())
    }

    /// Appends the frame of `slot` and `run` predicted ones; the last one's slot is returned.
    fn push_run(&mut self, slot: u16, run: u16) -> u16 {
        self.push(slot);
        let mut last = slot;
        for _ in 0..run {
            last = self.slots[usize::from(last)].next;
            self.push(last);
        }
        last
    }

    fn push(&mut self, slot: u16) {
        if self.backtrace.len() < MAX_DEPTH {
            self.backtrace.push(LocationCode(self.slots[usize::from(slot)].code));
        }
    }
}

/// Passes over the words of a backtrace.
pub(super) fn skip_words(cursor: &mut Cursor<'_>, words: u16) -> Result<(), Fault> {
    for _ in 0..words {
        let tail = match cursor.u16()? & ((1 << TAG_BITS) - 1) {
            MISS => 8,
            HIT_AND_RUN => 1,
            _ => 0,
        };
        cursor.skip(tail)?;
    }
    Ok(())
}

fn put_word(words: &mut Vec<u8>, slot: usize, tag: u16) {
    words.put_u16((slot as u16) << TAG_BITS | tag);
}

fn put_hit(words: &mut Vec<u8>, slot: usize, run: usize) {
    match run {
        0 => put_word(words, slot, HIT),
        1 => put_word(words, slot, HIT_AND_ONE),
        _ => {
            put_word(words, slot, HIT_AND_RUN);
            words.put_u8(run as u8);
        }
    }
}

/// A code as Memtrace's 63-bit integers have it: its highest bit repeats the next.
pub(super) fn canonical(code: LocationCode) -> u64 {
    ((code.0 << 1) as i64 >> 1) as u64
}

fn hash(code: u64, factor: u64, shift: u32) -> usize {
    (code.wrapping_mul(factor) >> shift) as usize % SLOTS
}

fn table<T: Copy>(slot: T) -> Box<[T; SLOTS]> {
    let slots = vec![slot; SLOTS].into_boxed_slice();
    slots.try_into().unwrap_or_else(|_| unreachable!("the length is the array's"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: u64 = 0x7f00_1000;
    const CALLBACK: u64 = 0x7f00_2000;

    /// One allocation after another, each against the last.
    struct Twins {
        encoder: Encoder,
        decoder: Decoder,
        date: u64,
    }

    impl Twins {
        fn new() -> Self {
            Self { encoder: Encoder::new(), decoder: Decoder::new(), date: 0 }
        }

        /// Codes a backtrace and returns its words, which the decoder has understood.
        fn code(&mut self, backtrace: &[u64]) -> Vec<u8> {
            let backtrace: Vec<_> = backtrace.iter().copied().map(LocationCode).collect();
            let common = self.encoder.common_prefix(&backtrace, 0);
            let (mut words, mut new) = (Vec::new(), Vec::new());
            let count = self.encoder.encode(self.date, &backtrace, common, &mut words, &mut new);
            self.date += 1;
            let mut cursor = Cursor::new(&words, 0);
            assert_eq!(self.decoder.decode(&mut cursor, common as u64, count), Ok(common));
            assert_eq!(cursor.position(), words.len());
            assert_eq!(self.decoder.backtrace(), backtrace);
            assert!(self.decoder.agrees_with(self.encoder.verifier(4242)));
            words
        }
    }

    fn list_map(depth: usize) -> Vec<u64> {
        [vec![MAP; depth], vec![CALLBACK]].concat()
    }

    #[test]
    fn a_new_frame_takes_ten_bytes() {
        let mut twins = Twins::new();
        let words = twins.code(&[MAP]);
        assert_eq!(words.len(), LONGEST_WORD);
        assert_eq!(u16::from(words[0]) & 3, MISS);
        assert_eq!(words[2..], MAP.to_le_bytes());
    }

    #[test]
    fn a_deep_recursion_takes_seven_bytes() {
        let mut twins = Twins::new();
        twins.code(&list_map(3));
        twins.code(&[]);
        // A hit whose prediction, the callback, is wrong; a hit and a run of 198; the callback.
        let words = twins.code(&list_map(200));
        assert_eq!(words.len(), 2 + 3 + 2);
        assert_eq!(words[4], 198);
    }

    #[test]
    fn a_run_ends_after_255_frames() {
        let mut twins = Twins::new();
        twins.code(&[MAP, MAP]);
        twins.code(&[]);
        let words = twins.code(&[MAP; 1 + 255 + 1]);
        assert_eq!(words.len(), 3 + 2);
        assert_eq!((words[2], u16::from(words[3]) & 3), (255, HIT));
    }

    #[test]
    fn a_backtrace_is_cut_before_it_takes_too_much_room() {
        let (mut encoder, mut words, mut new) = (Encoder::new(), Vec::new(), Vec::new());
        let backtrace: Vec<_> = (1..=1000).map(LocationCode).collect();
        let count = encoder.encode(0, &backtrace, 0, &mut words, &mut new);
        assert_eq!((count, words.len(), new.len()), (409, 4090, 409));
    }

    #[test]
    fn passing_over_words_ends_where_reading_them_does() {
        let mut twins = Twins::new();
        for backtrace in [list_map(3), list_map(200), vec![MAP, MAP], vec![CALLBACK, MAP]] {
            let words = twins.code(&backtrace);
            let mut cursor = Cursor::new(&words, 0);
            while cursor.position() < words.len() {
                skip_words(&mut cursor, 1).unwrap();
            }
            assert_eq!(skip_words(&mut cursor, 1), Err(Fault::CutShort));
        }
    }
}
