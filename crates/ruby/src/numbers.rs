//! By what number the recorder knows a frame.
//!
//! A frame is an object of the machine's and a line: one word, by which its number is found in a table that is
//! open-addressed and at most half full. When a collection has found a frame's object dead, another may come to lie
//! there, so what is dead is taken out; compaction moves objects, so then all are. Numbers are never used again.

use lifetrace_agent::buffer::Buffer;

use crate::vm::Value;

/// Numbers below this one fit into a run.
const MOST: u32 = 1 << 20;

const FIRST_SLOTS: usize = 1 << 10;

/// The low bits of a key have the object's address, which is a multiple of 8.
const ADDRESS_BITS: u32 = 45;

/// Lines beyond are told as this one.
const LAST_LINE: u64 = (1 << (u64::BITS - ADDRESS_BITS)) - 1;

/// A frame: an object, and a line of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    /// Of a frame that the machine has given.
    pub(crate) fn new(object: Value, line: i32) -> Key {
        let line = u64::try_from(line).unwrap_or(0).min(LAST_LINE);
        Key(object as u64 >> 3 & ((1 << ADDRESS_BITS) - 1) | line << ADDRESS_BITS)
    }

    /// The frame's object.
    pub(crate) fn object(self) -> Value {
        ((self.0 & ((1 << ADDRESS_BITS) - 1)) << 3) as Value
    }

    /// The line; 0 if there is none.
    pub(crate) fn line(self) -> u32 {
        (self.0 >> ADDRESS_BITS) as u32
    }
}

/// The numbers of frames.
pub(crate) struct Numbers {
    /// Keys and numbers in pairs; a number of 0 is no entry.
    slots: Buffer,
    count: usize,
    /// Survivors, while they change places.
    spare: Buffer,
    next: u32,
}

impl Numbers {
    /// None.
    pub(crate) const fn new() -> Numbers {
        Numbers { slots: Buffer::new(), count: 0, spare: Buffer::new(), next: 1 }
    }

    /// The number of a frame, and whether it is new; `None` if there is no memory, or too many are known.
    pub(crate) fn of(&mut self, key: Key) -> Option<(u32, bool)> {
        if 4 * (self.count + 1) > self.slots.words().len() && !self.grow() {
            return None;
        }
        let slot = find(self.slots.words(), key);
        let number = self.slots.words()[slot + 1];
        if number != 0 {
            return Some((number as u32, false));
        }
        if self.next >= MOST {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.count += 1;
        self.slots.words_mut()[slot..slot + 2].copy_from_slice(&[key.0, number.into()]);
        Some((number, true))
    }

    /// Forgets frames whose objects are not `alive`; whether there was any.
    pub(crate) fn retain(&mut self, mut alive: impl FnMut(Value) -> bool) -> bool {
        let before = self.count;
        if !self.spare.reserve(2 * before) {
            self.forget();
            return true;
        }
        let mut kept = 0;
        for &[key, number] in self.slots.words().as_chunks().0 {
            if number != 0 && alive(Key(key).object()) {
                self.spare.words_mut()[kept..kept + 2].copy_from_slice(&[key, number]);
                kept += 2;
            }
        }
        if kept < 2 * before {
            self.refill(kept);
        }
        kept < 2 * before
    }

    /// Forgets all frames, but not which numbers were used.
    pub(crate) fn forget(&mut self) {
        self.slots.words_mut().fill(0);
        self.count = 0;
    }

    /// For a recorder that knows none.
    pub(crate) fn restart(&mut self) {
        self.forget();
        self.next = 1;
    }

    /// From the first words of the spare ones.
    fn refill(&mut self, kept: usize) {
        self.forget();
        for &[key, number] in self.spare.words()[..kept].as_chunks().0 {
            let slot = find(self.slots.words(), Key(key));
            self.slots.words_mut()[slot..slot + 2].copy_from_slice(&[key, number]);
        }
        self.count = kept / 2;
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let mut larger = Buffer::new();
        if !larger.reserve((2 * self.slots.words().len()).max(2 * FIRST_SLOTS)) {
            return false;
        }
        for &[key, number] in self.slots.words().as_chunks().0 {
            if number != 0 {
                let slot = find(larger.words(), Key(key));
                larger.words_mut()[slot..slot + 2].copy_from_slice(&[key, number]);
            }
        }
        core::mem::replace(&mut self.slots, larger).give_back();
        true
    }
}

/// Where a key is among the slots, or would be.
fn find(slots: &[u64], key: Key) -> usize {
    let pairs = slots.len() / 2;
    let mut at = (key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & (pairs - 1);
    while slots[2 * at + 1] != 0 && slots[2 * at] != key.0 {
        at = (at + 1) & (pairs - 1);
    }
    2 * at
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lifetrace_agent::random::Random;

    use super::*;

    #[test]
    fn a_key_has_an_object_and_a_line() {
        let object = 0x7fff_ffff_fff8;
        for (line, expected) in [(0, 0), (1, 1), (65_536, 65_536), (-1, 0), (i32::MAX, 524_287)] {
            let key = Key::new(object, line);
            assert_eq!((key.object(), key.line()), (object, expected));
        }
    }

    #[test]
    fn numbers_are_those_of_the_naive_twin() {
        let (mut numbers, mut twin) = (Numbers::new(), HashMap::new());
        let (mut random, mut next) = (Random::new(3, 7), 1);
        for round in 0..200_000u64 {
            let key =
                Key::new(8 * (1 + random.word() as usize % 3_000), (random.word() % 4) as i32);
            let expected = *twin.entry(key.0).or_insert_with(|| {
                next += 1;
                next - 1
            });
            assert_eq!(numbers.of(key).map(|it| it.0), Some(expected));
            if round % 20_000 == 19_999 {
                let dead = |object: Value| object / 8 % 5 == round as usize / 20_000 % 5;
                let before = twin.len();
                twin.retain(|&key, _| !dead(Key(key).object()));
                assert_eq!(numbers.retain(|object| !dead(object)), twin.len() < before);
            }
        }
        assert!(next > 12_000);
        numbers.forget();
        assert_eq!(numbers.of(Key::new(8, 1)), Some((next, true)));
        numbers.restart();
        assert_eq!(numbers.of(Key::new(8, 1)), Some((1, true)));
    }
}
