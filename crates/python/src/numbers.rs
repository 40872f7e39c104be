//! By what numbers the recorder knows frames.
//!
//! A frame is a code object and an instruction of it. Two of the same line have the same number, so there are two tables
//! in one: of instructions, and of lines. Their keys are hashes of 64 bits of all that a code is known by (where it is, its
//! name, its file, its lines), so that another code that comes to lie there is another frame. That two keys of a million are
//! the same has a probability of one in thirty million.

use lifetrace_agent::buffer::Buffer;

/// Numbers below this one fit into a message.
const MOST: u32 = 1 << 20;

const FIRST_SLOTS: usize = 1 << 10;

/// A hash of what distinguishes a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    /// Of these words.
    pub(crate) fn of(words: &[u64]) -> Key {
        words.iter().fold(Key(1), |key, word| key.with(*word))
    }

    /// Of one word more.
    pub(crate) fn with(self, word: u64) -> Key {
        // 0 is no key.
        Key(mix(self.0 ^ word).max(1))
    }
}

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The numbers of frames: an open-addressed table that is at most half full.
pub(crate) struct Numbers {
    /// Keys and numbers in pairs.
    slots: Buffer,
    count: usize,
    next: u32,
}

impl Numbers {
    /// None.
    pub(crate) const fn new() -> Numbers {
        Numbers { slots: Buffer::new(), count: 0, next: 1 }
    }

    /// The number of a key that has one.
    pub(crate) fn get(&self, key: Key) -> Option<u32> {
        let slots = self.slots.words();
        if slots.is_empty() {
            return None;
        }
        let slot = find(slots, key);
        (slots[slot] != 0).then(|| slots[slot + 1] as u32)
    }

    /// A number that nothing has; `None` if all are taken.
    pub(crate) fn fresh(&mut self) -> Option<u32> {
        let number = self.next;
        (number < MOST).then(|| self.next += 1)?;
        Some(number)
    }

    /// Gives a key that has none a number; false if there is no memory.
    pub(crate) fn put(&mut self, key: Key, number: u32) -> bool {
        if 4 * (self.count + 1) > self.slots.words().len() && !self.grow() {
            return false;
        }
        let slot = find(self.slots.words(), key);
        self.slots.words_mut()[slot..slot + 2].copy_from_slice(&[key.0, number.into()]);
        self.count += 1;
        true
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let mut larger = Buffer::new();
        if !larger.reserve((2 * self.slots.words().len()).max(2 * FIRST_SLOTS)) {
            return false;
        }
        for pair in self.slots.words().as_chunks::<2>().0 {
            if pair[0] != 0 {
                let slot = find(larger.words(), Key(pair[0]));
                larger.words_mut()[slot..slot + 2].copy_from_slice(pair);
            }
        }
        core::mem::replace(&mut self.slots, larger).give_back();
        true
    }
}

/// Where a key is among the slots, or would be.
fn find(slots: &[u64], key: Key) -> usize {
    let pairs = slots.len() / 2;
    let mut at = key.0 as usize & (pairs - 1);
    while slots[2 * at] != 0 && slots[2 * at] != key.0 {
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
    fn numbers_are_those_of_the_naive_twin() {
        let (mut numbers, mut twin) = (Numbers::new(), HashMap::new());
        let mut random = Random::new(3, 7);
        for _ in 0..100_000 {
            let words = [random.word() % 300, random.word() % 20];
            let key = Key::of(&words);
            assert_eq!(numbers.get(key), twin.get(&words).copied());
            twin.entry(words).or_insert_with(|| {
                let number = numbers.fresh().unwrap();
                assert!(numbers.put(key, number));
                number
            });
        }
        assert_eq!(twin.len(), 6_000);
        assert_eq!(numbers.fresh(), Some(6_001));
    }

    #[test]
    fn numbers_end() {
        let mut numbers = Numbers::new();
        numbers.next = MOST - 1;
        assert_eq!([numbers.fresh(), numbers.fresh()], [Some(MOST - 1), None]);
    }
}
