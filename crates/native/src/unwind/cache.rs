//! Rules of return addresses that were met before. \[UNSAFE\]
//!
//! A return address has one place where it is looked for first, and three more, which share a cache line
//! with that. Its low bits say which: they are as good as any hash, since code lies close together, and
//! a multiplication would make each step from frame to frame wait longer for the next.

use core::alloc::Layout;

use alloc::alloc::{alloc_zeroed, handle_alloc_error};
use alloc::boxed::Box;

use super::rule::Rule;

const PLACES: usize = 4096;
/// That share a cache line: the allocator gives whole pages to what is as large as all of them.
const WAYS: usize = 4;

/// The rules of return addresses that were met before.
#[derive(Debug)]
pub struct RuleCache {
    /// Of which map the rules are.
    map: u64,
    places: Box<Places>,
}

/// Return addresses and the notes of their rules.
#[derive(Debug)]
pub struct Places([[u64; 2]; PLACES]);

const EMPTY: [u64; 2] = [0; 2];

impl RuleCache {
    /// Empty; memory that is zero as it comes is not touched.
    pub fn new() -> Self {
        let layout = Layout::new::<Places>();
        // SAFETY: places of zeros are empty ones, and the box has the layout that was asked for.
        let places = unsafe {
            let memory = alloc_zeroed(layout);
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            Box::from_raw(memory.cast::<Places>())
        };
        RuleCache { map: 0, places }
    }

    /// Forgets the rules of other maps than this.
    pub fn keep_only(&mut self, map: u64) {
        if self.map != map {
            if self.map != 0 {
                self.places.0.fill(EMPTY);
            }
            self.map = map;
        }
    }

    /// The places, to look for several return addresses.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Remembers a rule where it is looked for first. What was there moves on to the next of the four
    /// places, up to an empty one; if there is none, the last falls out.
    pub fn insert(&mut self, address: u64, rule: Rule) {
        let first = first_place(address);
        let mut entry = [address, rule.note()];
        for way in 0..WAYS {
            core::mem::swap(&mut self.places.0[nth_place(first, way)], &mut entry);
            if entry == EMPTY {
                break;
            }
        }
    }
}

impl Places {
    /// The rule of a return address; [`Rule::NONE`] if it is not here.
    #[inline(always)]
    pub fn get(&self, address: u64) -> Rule {
        let first = first_place(address);
        let [known, note] = self.0[first];
        if known == address { Rule::noted(note) } else { self.get_elsewhere(address, first) }
    }

    #[inline(always)]
    fn get_elsewhere(&self, address: u64, first: usize) -> Rule {
        let others = (1..WAYS).map(|way| self.0[nth_place(first, way)]);
        let found = others.into_iter().find(|[known, _]| *known == address);
        found.map_or(Rule::NONE, |[_, note]| Rule::noted(note))
    }
}

#[inline(always)]
fn first_place(address: u64) -> usize {
    address as usize % PLACES
}

#[inline(always)]
fn nth_place(first: usize, way: usize) -> usize {
    first / WAYS * WAYS + (first + way) % WAYS
}

impl Default for RuleCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(words: u64) -> Rule {
        Rule::noted(words << 32)
    }

    #[test]
    fn the_cache_keeps_four_of_a_hash_and_forgets_other_maps() {
        let mut cache = RuleCache::new();
        cache.keep_only(1);
        let same_place: [u64; 5] = core::array::from_fn(|index| (index * PLACES + 77) as u64);
        for (index, &address) in same_place.iter().enumerate() {
            assert_eq!(cache.places().get(address), Rule::NONE);
            cache.insert(address, rule(index as u64 + 1));
            assert_eq!(cache.places().get(address), rule(index as u64 + 1));
        }
        assert_eq!(cache.places().get(same_place[0]), Rule::NONE);
        assert_eq!(cache.places().get(same_place[1]), rule(2));
        cache.keep_only(1);
        assert_eq!(cache.places().get(same_place[4]), rule(5));
        cache.keep_only(2);
        assert_eq!(cache.places().get(same_place[4]), Rule::NONE);
    }

    #[test]
    fn neighbours_share_a_cache_line_and_nothing_else() {
        let mut cache = RuleCache::new();
        let line: [u64; 4] = core::array::from_fn(|index| 7 * PLACES as u64 - 4 + index as u64);
        for &address in line.iter().rev() {
            cache.insert(address + PLACES as u64, rule(address));
        }
        let others = [line[0] - 1, line[3] + 1];
        others.iter().for_each(|&address| cache.insert(address, rule(address)));
        for &address in &line {
            assert_eq!(cache.places().get(address + PLACES as u64), rule(address));
            assert_eq!(cache.places().get(address), Rule::NONE);
        }
        assert!(others.iter().all(|&address| cache.places().get(address) == rule(address)));
    }
}
