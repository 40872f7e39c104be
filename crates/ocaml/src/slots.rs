//! Which frames the recorder knows, and by which words.
//!
//! A slot is what the runtime gives for a frame: the address of a descriptor or of debug information, as
//! an immediate, so odd. It stands for the same place as long as the process lives: OCaml code is never
//! unloaded. The table is open-addressed and at most half full; it grows to twice the size.

use lifetrace_agent::buffer::Buffer;

const FIRST_PLACES: usize = 1024;

/// See the module. All zero is an empty one.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Pairs of a slot and its word; the slot 0 is no slot.
    places: Buffer,
    capacity: usize,
    count: usize,
}

impl Slots {
    pub(crate) const fn new() -> Slots {
        Slots { places: Buffer::new(), capacity: 0, count: 0 }
    }

    /// The word of a slot.
    #[inline]
    pub(crate) fn find(&self, slot: u64) -> Option<u64> {
        look(self.pairs(), slot).ok()
    }

    /// Makes words of slots until one that is not there; how many there were.
    pub(crate) fn translate(&self, slots: &mut [u64]) -> usize {
        let pairs = self.pairs();
        for (index, slot) in slots.iter_mut().enumerate() {
            match look(pairs, *slot) {
                Ok(word) => *slot = word,
                Err(_) => return index,
            }
        }
        slots.len()
    }

    /// Remembers the word of a slot that is not there yet; false when there is no memory.
    pub(crate) fn insert(&mut self, slot: u64, word: u64) -> bool {
        if 2 * (self.count + 1) > self.capacity && !self.grow() {
            return false;
        }
        self.put([slot, word]);
        self.count += 1;
        true
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.places.words_mut().fill(0);
        self.count = 0;
    }

    /// As many as there is capacity for: a power of two, or none.
    #[inline]
    fn pairs(&self) -> &[[u64; 2]] {
        &self.places.words().as_chunks().0[..self.capacity]
    }

    /// Puts a pair whose slot is not there yet, for which there is room.
    fn put(&mut self, pair: [u64; 2]) {
        if let Err(place) = look(self.pairs(), pair[0]) {
            self.places.words_mut().as_chunks_mut().0[place] = pair;
        }
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let capacity = (2 * self.capacity).max(FIRST_PLACES);
        let mut places = Buffer::new();
        if !places.reserve(2 * capacity) {
            return false;
        }
        let old = core::mem::replace(self, Slots { places, capacity, count: self.count });
        for pair in old.places.words().as_chunks::<2>().0 {
            if pair[0] != 0 {
                self.put(*pair);
            }
        }
        old.places.give_back();
        true
    }
}

/// The word of a slot, or the index of the pair where it would be; of 0 if there is no room at all.
#[inline]
fn look(pairs: &[[u64; 2]], slot: u64) -> Result<u64, usize> {
    let mask = pairs.len().checked_sub(1).ok_or(0usize)?;
    let mut at = (slot.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    loop {
        at &= mask;
        let [found, word] = pairs[at];
        if found == slot {
            return Ok(word);
        }
        if found == 0 {
            return Err(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::vec::Vec;

    use lifetrace_agent::random::Random;

    use super::*;

    #[test]
    fn it_is_a_map() {
        let (mut slots, mut naive) = (Slots::new(), HashMap::new());
        let mut random = Random::new(1, 2);
        assert_eq!(slots.find(1), None);
        for _ in 0..3 {
            for word in 0..20_000 {
                let slot = random.word() % 30_000 * 16 + 1;
                assert_eq!(slots.find(slot), naive.get(&slot).copied());
                if slots.find(slot).is_none() {
                    assert!(slots.insert(slot, word));
                    naive.insert(slot, word);
                }
            }
            assert!(naive.iter().all(|(&slot, &word)| slots.find(slot) == Some(word)));
            let (mut translated, words): (Vec<u64>, Vec<u64>) = naive.iter().unzip();
            assert_eq!(slots.translate(&mut translated), words.len());
            assert_eq!(translated, words);
            // Slots are odd, and all are below this.
            let known = *naive.keys().next().unwrap();
            let mut stranger = [known, 30_000 * 16 + 1, 1];
            assert_eq!(slots.translate(&mut stranger), 1);
            assert_eq!(stranger[1..], [30_000 * 16 + 1, 1]);
            assert_eq!(slots.count, naive.len());
            slots.clear();
            naive.clear();
        }
    }
}
