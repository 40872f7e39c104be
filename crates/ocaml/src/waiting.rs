//! Backtraces of blocks that C code has allocated, which wait for their callbacks.
//!
//! Few wait at a time: the next safe point is near. One that is like the last one, as those of a function
//! that makes many blocks are, waits with it. When there are too many, or they are too long, the runtime
//! has to keep them itself.
//!
//! The blocks of a value that was read have one callstack, and a callback each; how many is not known. So
//! a place whose callbacks have come can still be read, until it is the turn of that place again, and of
//! those that nobody waits for it is the turn of each.

use lifetrace_agent::buffer::Buffer;

const PLACES: usize = 64;

/// A backtrace of more runs is not kept.
const MOST_RUNS: usize = 1 << 13;

/// Uses of a place that are told from one another.
const USES: u64 = 128;

/// See the module.
#[derive(Debug)]
pub(crate) struct Waiting {
    places: [Kept; PLACES],
    last: usize,
}

/// Where one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    index: usize,
    /// Of the place, from the first one on.
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    runs: Buffer<u32>,
    length: usize,
    is_whole: bool,
    uses: u64,
    /// Callbacks that are to come; 0 if the place is free.
    callbacks: u32,
}

impl Place {
    /// Numbers below this are places.
    pub(crate) const NUMBERS: u64 = PLACES as u64 * USES;

    pub(crate) fn of(number: u64) -> Place {
        Place { index: number as usize % PLACES, uses: number / PLACES as u64 % USES }
    }

    pub(crate) fn number(self) -> u64 {
        self.uses * PLACES as u64 + self.index as u64
    }
}

impl Waiting {
    /// None.
    pub(crate) const fn new() -> Waiting {
        const FREE: Kept =
            Kept { runs: Buffer::new(), length: 0, is_whole: false, uses: 0, callbacks: 0 };
        Waiting { places: [FREE; PLACES], last: 0 }
    }

    /// Keeps a backtrace, as its runs, for one callback at least; `None` if there is no place for it.
    pub(crate) fn keep(&mut self, runs: &[u32], is_whole: bool) -> Option<Place> {
        let last = &mut self.places[self.last];
        if last.callbacks > 0 && last.runs() == runs {
            last.callbacks = last.callbacks.checked_add(1)?;
            return Some(self.place(self.last));
        }
        let mut turns = (1..=PLACES).map(|step| (self.last + step) % PLACES);
        let index = turns.find(|&index| self.places[index].callbacks == 0)?;
        let kept = &mut self.places[index];
        if runs.len() > MOST_RUNS || !kept.runs.reserve(runs.len()) {
            return None;
        }
        kept.runs.words_mut()[..runs.len()].copy_from_slice(runs);
        (kept.length, kept.is_whole, kept.callbacks) = (runs.len(), is_whole, 1);
        kept.uses = (kept.uses + 1) % USES;
        self.last = index;
        Some(self.place(index))
    }

    /// The one that waits there, or did last, and whether it is whole.
    pub(crate) fn at(&self, place: Place) -> Option<(&[u32], bool)> {
        let kept = &self.places[place.index];
        (kept.uses == place.uses).then(|| (kept.runs(), kept.is_whole))
    }

    /// One of its callbacks has come.
    pub(crate) fn done(&mut self, place: Place) {
        let kept = &mut self.places[place.index];
        if kept.uses == place.uses {
            kept.callbacks = kept.callbacks.saturating_sub(1);
        }
    }

    /// No callback comes any more, or it comes in vain: there is nothing at any place.
    pub(crate) fn clear(&mut self) {
        for kept in &mut self.places {
            (kept.callbacks, kept.uses) = (0, (kept.uses + 1) % USES);
        }
    }

    fn place(&self, index: usize) -> Place {
        Place { index, uses: self.places[index].uses }
    }
}

impl Kept {
    fn runs(&self) -> &[u32] {
        &self.runs.words()[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn those_alike_wait_together() {
        let mut waiting = Waiting::new();
        let first = waiting.keep(&[1, 2], true).unwrap();
        assert_eq!(waiting.keep(&[1, 2], true), Some(first));
        let second = waiting.keep(&[1, 3], false).unwrap();
        assert_ne!(first, second);
        assert_eq!(waiting.at(first), Some((&[1, 2][..], true)));
        assert_eq!(waiting.at(second), Some((&[1, 3][..], false)));
        assert_eq!(waiting.places[first.index].callbacks, 2);
        (0..2).for_each(|_| waiting.done(first));
        assert_eq!(waiting.places[first.index].callbacks, 0);
    }

    #[test]
    fn what_has_had_its_callback_can_be_read_until_it_is_the_places_turn() {
        let mut waiting = Waiting::new();
        let place = waiting.keep(&[1, 2], true).unwrap();
        for other in 0..PLACES as u32 {
            waiting.done(place);
            assert_eq!(waiting.at(place), Some((&[1, 2][..], true)), "{other}");
            let next = waiting.keep(&[other], true).unwrap();
            waiting.done(next);
        }
        assert_eq!(waiting.at(place), None);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let mut waiting = Waiting::new();
        let places: Vec<Place> =
            (0..PLACES as u32).map(|number| waiting.keep(&[number], true).unwrap()).collect();
        assert_eq!(waiting.keep(&[99], true), None);
        assert!(places.iter().all(|place| place.number() < Place::NUMBERS));
        assert!(places.iter().all(|place| Place::of(place.number()) == *place));
        waiting.done(places[7]);
        let again = waiting.keep(&[99], true).unwrap();
        assert_eq!((again.index, waiting.at(places[7])), (places[7].index, None));
        waiting.clear();
        assert_eq!(waiting.keep(&std::vec![0; MOST_RUNS + 1], true), None);
        assert!(waiting.keep(&std::vec![0; MOST_RUNS], true).is_some());
    }
}
