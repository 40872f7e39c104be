//! Which blocks have been met: a bit for each word of memory that has any, outside of the program's heap.
//!
//! Memory is cut into regions of 64 KiB; a region in which a block was met has 1 KiB of bits, found by a hash of its
//! number. So a heap has an eighth of a bit's worth of bytes a word: 1/64 of its size. Nearly each look is at other bits
//! than the one before: those of a large heap lie in huge pages, and are [fetched](Marks::prefetch) before.

use super::budget::Budget;
use crate::sys;

/// Bits of an address within its region.
const REGION: u32 = 16;
/// A region's words of bits.
const WORDS: usize = 1 << (REGION - 3 - 6);
/// Regions whose bits are taken from the system at once, as long as there is little to mark.
const AT_ONCE: usize = 1024;
const FIRST_PLACES: usize = 1024;

/// A set of addresses, each a multiple of eight.
pub struct Marks<'a> {
    budget: &'a Budget,
    /// Two words a region: its number and one, and where its bits are.
    places: &'static mut [u64],
    count: usize,
    /// What is left of the bits taken last.
    fresh: &'static mut [u64],
    last: u64,
    last_bits: *mut u64,
}

/// There is no memory for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl<'a> Marks<'a> {
    /// None.
    pub fn new(budget: &'a Budget) -> Marks<'a> {
        let last_bits = core::ptr::null_mut();
        Marks { budget, places: &mut [], count: 0, fresh: &mut [], last: u64::MAX, last_bits }
    }

    /// Adds an address; whether it was not there.
    ///
    /// # Errors
    /// [`NoMemory`].
    #[inline]
    pub fn insert(&mut self, address: u64) -> Result<bool, NoMemory> {
        let region = address >> REGION;
        if region != self.last {
            self.last_bits = self.bits(region)?;
            self.last = region;
        }
        let (word, bit) = place(address);
        // SAFETY: `bits` answers where a region's words are, which stay.
        let bits = unsafe { &mut *self.last_bits.add(word) };
        let is_new = *bits & bit == 0;
        *bits |= bit;
        Ok(is_new)
    }

    /// Whether an address is there.
    pub fn contains(&self, address: u64) -> bool {
        let found = self.find(address >> REGION).filter(|&(_, is_there)| is_there);
        found.is_some_and(|(at, _)| {
            let (word, bit) = place(address);
            // SAFETY: as above.
            unsafe { *(self.places[at + 1] as *const u64).add(word) & bit != 0 }
        })
    }

    /// Has the processor fetch what is asked for soon: the bits about an address.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        if let Some((at, true)) = self.find(address >> REGION) {
            sys::prefetch(self.places[at + 1] + 8 * place(address).0 as u64);
        }
    }

    /// Where a region's place is, or would be; `None` if there are none.
    #[inline]
    fn find(&self, region: u64) -> Option<(usize, bool)> {
        let mask = (self.places.len() / 2).checked_sub(1)?;
        let mut at = (region.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.places[2 * at] {
                0 => return Some((2 * at, false)),
                number if number == region + 1 => return Some((2 * at, true)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[cold]
    fn bits(&mut self, region: u64) -> Result<*mut u64, NoMemory> {
        if 4 * self.count >= self.places.len() {
            self.grow()?;
        }
        let (at, is_there) = self.find(region).ok_or(NoMemory)?;
        if !is_there {
            self.places[at + 1] = self.fresh_bits()? as u64;
            self.places[at] = region + 1;
            self.count += 1;
        }
        Ok(self.places[at + 1] as *mut u64)
    }

    fn fresh_bits(&mut self) -> Result<*mut u64, NoMemory> {
        if self.fresh.is_empty() {
            let huge = if self.count < AT_ONCE { None } else { self.budget.huge_words() };
            let small = || self.budget.words(AT_ONCE * WORDS);
            self.fresh = huge.or_else(small).ok_or(NoMemory)?;
        }
        let (bits, rest) = core::mem::take(&mut self.fresh).split_at_mut(WORDS);
        self.fresh = rest;
        Ok(bits.as_mut_ptr())
    }

    fn grow(&mut self) -> Result<(), NoMemory> {
        let wanted = (2 * self.places.len()).max(2 * FIRST_PLACES);
        let larger = self.budget.words(wanted).ok_or(NoMemory)?;
        let smaller = core::mem::replace(&mut self.places, larger);
        for pair in smaller.chunks_exact(2).filter(|pair| pair[0] != 0) {
            let (at, _) = self.find(pair[0] - 1).ok_or(NoMemory)?;
            self.places[at..at + 2].copy_from_slice(pair);
        }
        self.budget.give_back(smaller);
        Ok(())
    }
}

impl core::fmt::Debug for Marks<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "Marks in {} regions", self.count)
    }
}

/// Which word of its region's, and which bit.
#[inline]
fn place(address: u64) -> (usize, u64) {
    let word = address as usize >> 3 & ((1 << (REGION - 3)) - 1);
    (word >> 6, 1 << (word & 63))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::random::Random;

    #[test]
    fn it_knows_what_a_set_does() {
        let budget = Budget::of(1 << 30);
        let (mut marks, mut set, mut random) =
            (Marks::new(&budget), HashSet::new(), Random::new(5, 0));
        for spread in [1 << 12, 1 << 24, 1 << 40] {
            for _ in 0..20_000 {
                let address = (random.word() % spread) << 3;
                assert_eq!(marks.contains(address), set.contains(&address));
                assert_eq!(marks.insert(address), Ok(set.insert(address)));
            }
        }
        assert!(set.iter().all(|&address| marks.contains(address)));
    }

    #[test]
    fn no_memory_is_an_error() {
        let budget = Budget::of(2 << 20);
        let mut marks = Marks::new(&budget);
        let full = (0..100_000u64).find(|region| marks.insert(region << REGION).is_err());
        assert!(full.is_some_and(|count| count >= 1024), "{full:?}");
        assert_eq!(marks.insert(0), Ok(false));
    }
}
