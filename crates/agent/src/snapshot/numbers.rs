//! Numbers of what is told of once, and meant by its number from then on: kinds of blocks, frames.

use super::budget::Budget;

/// Numbers, from 0 on, by a hash of what tells things apart: two words.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Three words each: the sort and one, the word, the number.
    places: &'static mut [u64],
    count: u64,
}

const PLACE: usize = 3;
const FIRST_PLACES: usize = 512;

impl Numbers {
    /// None yet.
    pub(super) fn new() -> Numbers {
        Numbers { places: &mut [], count: 0 }
    }

    #[inline]
    pub(super) fn find(&self, sort: u64, word: u64) -> Option<u64> {
        let at = self.place(sort, word)?;
        (self.places[at] != 0).then(|| self.places[at + 2])
    }

    /// Where a number is, or would be; `None` if there are no places.
    #[inline]
    fn place(&self, sort: u64, word: u64) -> Option<usize> {
        let sort = sort + 1;
        let mask = (self.places.len() / PLACE).checked_sub(1)?;
        let mut at =
            ((word ^ sort << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.places[PLACE * at..] {
                [0, ..] => return Some(PLACE * at),
                [its_sort, its_word, ..] if (its_sort, its_word) == (sort, word) => {
                    return Some(PLACE * at);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The next number, for what has none yet; `None` if there is no memory.
    pub(super) fn add(&mut self, budget: &Budget, sort: u64, word: u64) -> Option<u64> {
        if 2 * PLACE * self.count as usize >= self.places.len() {
            self.grow(budget)?;
        }
        let number = self.count;
        self.count += 1;
        self.put([sort + 1, word, number])
    }

    fn put(&mut self, place: [u64; PLACE]) -> Option<u64> {
        let at = self.place(place[0] - 1, place[1])?;
        self.places[at..at + PLACE].copy_from_slice(&place);
        Some(place[2])
    }

    fn grow(&mut self, budget: &Budget) -> Option<()> {
        let count = (2 * self.places.len() / PLACE).max(FIRST_PLACES);
        let larger = budget.words(PLACE * count)?;
        let smaller = core::mem::replace(&mut self.places, larger);
        for place in smaller.as_chunks().0.iter().filter(|place| place[0] != 0) {
            self.put(*place)?;
        }
        budget.give_back(smaller);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_number_is_known_again() {
        let budget = Budget::of(1 << 24);
        let mut numbers = Numbers::new();
        let all = || (0..3_000u64).flat_map(|word| [0, 4, 9].map(|sort| (sort, word * 16)));
        for (number, (sort, word)) in all().enumerate() {
            assert_eq!(numbers.find(sort, word), None);
            assert_eq!(numbers.add(&budget, sort, word), Some(number as u64));
        }
        for (number, (sort, word)) in all().enumerate() {
            assert_eq!(numbers.find(sort, word), Some(number as u64));
        }
    }
}
