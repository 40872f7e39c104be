//! What is known of frames: by what word the recorder knows them, and how large they are.
//!
//! To find a frame's caller takes the frame's size, which takes its code, which is read from the stack where
//! the callee's size says: each step waits for the one before. But code that recurses comes in the same
//! order again and again. So with each frame's layout stands which one came next when it was last seen. A walk
//! takes the next one to be that, and only compares the code that it reads with it: a processor that
//! foresees the comparison has several frames under way at once.
//!
//! The table is open-addressed and at most half full; it grows to twice the size. It takes half a cache line
//! for a frame, which is all that a walk reads of it but for the stack. Other names of the runtime's for
//! frames, which are no addresses of code, are keys as well; their sizes mean nothing.

use crate::buffer::Buffer;

const FIRST_CAPACITY: usize = 1024;

/// A key, or 0; the word; the size; and the place of the layout that came next.
type Entry = [u64; 4];

const KEY: usize = 0;
const WORD: usize = 1;
const SIZE: usize = 2;
const NEXT: usize = 3;

/// What is known of frames whose code is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// By which the recorder knows such frames.
    pub word: u64,
    /// In bytes, from the frame's stack pointer to its caller's.
    pub size: u64,
}

/// See the module. All zero is an empty one.
#[derive(Debug)]
pub struct Layouts {
    entries: Buffer,
    capacity: usize,
    count: usize,
}

/// The place of a layout; of another one, or of none, once the table has grown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place(usize);

/// The entries, as long as none comes.
pub(crate) struct Table<'a> {
    entries: &'a mut [Entry],
}

impl Layouts {
    /// An empty one, without memory.
    pub const fn new() -> Self {
        Layouts { entries: Buffer::new(), capacity: 0, count: 0 }
    }

    /// What is known of a key. Nothing is of 0.
    pub fn get(&self, key: u64) -> Option<Layout> {
        look(self.entries(), key).ok().map(|place| layout(&self.entries()[place]))
    }

    /// Makes words of keys until one that is not there; how many there were.
    pub fn translate(&self, keys: &mut [u64]) -> usize {
        let entries = self.entries();
        for (index, key) in keys.iter_mut().enumerate() {
            match look(entries, *key) {
                Ok(place) => *key = entries[place][WORD],
                Err(_) => return index,
            }
        }
        keys.len()
    }

    /// Remembers what is known of a key that is not there yet, and not 0. Without memory it is not.
    pub fn insert(&mut self, key: u64, layout: Layout) {
        if 2 * (self.count + 1) > self.capacity && !self.grow() {
            return;
        }
        self.put([key, layout.word, layout.size, 0]);
        self.count += 1;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.words_mut().fill(0);
        self.count = 0;
    }

    /// For lookups in a row.
    #[inline]
    pub(crate) fn table(&mut self) -> Table<'_> {
        Table { entries: &mut self.entries.words_mut().as_chunks_mut().0[..self.capacity] }
    }

    /// As many as there is capacity for: a power of two, or none.
    #[inline]
    fn entries(&self) -> &[Entry] {
        &self.entries.words().as_chunks().0[..self.capacity]
    }

    /// Puts an entry whose key is not there yet, for which there is room.
    fn put(&mut self, entry: Entry) {
        if let Err(place) = look(self.entries(), entry[KEY]) {
            self.entries.words_mut().as_chunks_mut().0[place] = entry;
        }
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let capacity = (2 * self.capacity).max(FIRST_CAPACITY);
        let mut entries = Buffer::new();
        if !entries.reserve(4 * capacity) {
            return false;
        }
        let old = core::mem::replace(self, Layouts { entries, capacity, count: self.count });
        for entry in old.entries().iter().filter(|entry| entry[KEY] != 0) {
            let [key, word, size, _] = *entry;
            self.put([key, word, size, 0]);
        }
        old.entries.give_back();
        true
    }
}

impl Table<'_> {
    /// The layout of frames with that code, the caller's of those at `callee`, and where it is.
    #[inline]
    pub(crate) fn find(&mut self, callee: Place, code: u64) -> Option<(Place, Layout)> {
        let next = self.entries.get(callee.0)?[NEXT] as usize;
        match self.entries.get(next) {
            Some(entry) if entry[KEY] == code && code != 0 => Some((Place(next), layout(entry))),
            _ => self.find_anew(callee, code),
        }
    }

    /// Likewise, when it is not the one that came next the last time.
    #[inline]
    fn find_anew(&mut self, callee: Place, code: u64) -> Option<(Place, Layout)> {
        let place = look(self.entries, code).ok()?;
        self.entries[callee.0][NEXT] = place as u64;
        Some((Place(place), layout(&self.entries[place])))
    }
}

impl Default for Layouts {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn layout(entry: &Entry) -> Layout {
    Layout { word: entry[WORD], size: entry[SIZE] }
}

/// Where a key is, or, if it is not there, where it may be put. Addresses differ in all their lower bits.
#[inline(never)]
fn look(entries: &[Entry], key: u64) -> Result<usize, usize> {
    let mask = entries.len().wrapping_sub(1);
    let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
    loop {
        match entries.get(at) {
            Some(entry) if entry[KEY] == 0 => return Err(at),
            Some(entry) if entry[KEY] == key => return Ok(at),
            Some(_) => at = (at + 1) & mask,
            None => return Err(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::vec::Vec;

    use super::*;
    use crate::random::Random;

    #[test]
    fn what_is_found_was_put_whatever_came_next() {
        let mut random = Random::new(1, 7);
        let (mut layouts, mut naive) = (Layouts::new(), HashMap::new());
        let (mut at, mut followed) = (Place::default(), 0);
        for round in 0..60_000u64 {
            let few = round / 1_000 % 2 == 0;
            let key = if few { round % 5 } else { random.word() % 8_000 };
            let mut table = layouts.table();
            let next = table.entries.get(at.0).map(|entry| entry[NEXT] as usize);
            let found = table.find(at, key);
            followed += u32::from(found.is_some_and(|(place, _)| Some(place.0) == next));
            assert_eq!(found.map(|(_, layout)| layout), naive.get(&key).copied());
            assert_eq!(layouts.get(key), naive.get(&key).copied());
            match found {
                Some((place, _)) => at = place,
                None if key == 0 => at = Place::default(),
                None => {
                    let layout = Layout { word: round, size: random.word() };
                    layouts.insert(key, layout);
                    naive.insert(key, layout);
                }
            }
            if round == 40_000 {
                layouts.clear();
                naive.clear();
            }
        }
        assert!(followed > 20_000, "{followed}");
        assert_eq!(layouts.count, naive.len());
    }

    #[test]
    fn keys_are_translated_until_a_stranger() {
        let mut layouts = Layouts::new();
        assert_eq!(layouts.translate(&mut [3, 4]), 0);
        (1..=5_000).for_each(|key| layouts.insert(key, Layout { word: key * 2, size: 0 }));
        let mut keys: Vec<u64> = (1..=5_000).collect();
        assert_eq!(layouts.translate(&mut keys), 5_000);
        assert!(keys.iter().zip(1..).all(|(&word, key)| word == key * 2));
        let mut keys = [7, 6_000, 8];
        assert_eq!(layouts.translate(&mut keys), 1);
        assert_eq!(keys, [14, 6_000, 8]);
    }
}
