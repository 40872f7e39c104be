//! The blocks that live, as both sides know them: what a death or a promotion can be about.
//!
//! Blocks stand in slots in the order of their births. Bitmaps say who lives and who is young, so
//! that the distance between two blocks, counted in living ones, is a count of bits; of eight words at
//! a time it is known.
//!
//! When all slots are taken the dead ones are squeezed out; if that leaves too few free, the oldest
//! blocks are forgotten, and later called by their ids.

use crate::ids::AllocationId;

/// Slots.
pub(super) const CAPACITY: usize = 1 << 16;

/// Squeezing that keeps more than this forgets the oldest blocks, until half of the slots are free.
const CROWDED: usize = CAPACITY / 4 * 3;

const WORDS: usize = CAPACITY / 64;

/// Words whose ones are counted together.
const STRIDE: usize = 8;

/// The table.
#[derive(Debug)]
pub(super) struct Live {
    ids: Vec<AllocationId>,
    living: Box<[u64; WORDS]>,
    /// Living blocks in each stride.
    counts: Box<[u16; WORDS / STRIDE]>,
    young: Box<[u64; WORDS]>,
    young_count: usize,
    /// No slot below it is young.
    first_young: usize,
}

impl Live {
    pub(super) fn new() -> Self {
        let bits = || Box::new([0; WORDS]);
        Self {
            ids: Vec::new(),
            living: bits(),
            counts: Box::new([0; WORDS / STRIDE]),
            young: bits(),
            young_count: 0,
            first_young: 0,
        }
    }

    /// Adds the newest block. True if slots have been renumbered for that.
    pub(super) fn push(&mut self, id: AllocationId, is_young: bool) -> bool {
        let is_full = self.ids.len() == CAPACITY;
        if is_full {
            self.squeeze();
        }
        let slot = self.ids.len();
        self.ids.push(id);
        set(&mut self.living, slot);
        self.counts[stride(slot)] += 1;
        if is_young {
            set(&mut self.young, slot);
            if self.young_count == 0 {
                self.first_young = slot;
            }
            self.young_count += 1;
        }
        is_full
    }

    /// The block is young no more.
    pub(super) fn promote(&mut self, slot: usize) {
        if has(&self.young, slot) {
            clear(&mut self.young, slot);
            self.young_count -= 1;
        }
    }

    /// The block lives no more.
    pub(super) fn bury(&mut self, slot: usize) {
        self.promote(slot);
        if has(&self.living, slot) {
            clear(&mut self.living, slot);
            self.counts[stride(slot)] -= 1;
        }
    }

    pub(super) fn id(&self, slot: usize) -> AllocationId {
        self.ids[slot]
    }

    /// One past the newest block's slot.
    pub(super) fn end(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn young_count(&self) -> usize {
        self.young_count
    }

    /// Slots and whether they are young, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, bool)> {
        let lives = |&slot: &usize| has(&self.living, slot);
        (0..self.end()).filter(lives).map(|slot| (slot, has(&self.young, slot)))
    }

    /// The first young block in `slot` or after it.
    pub(super) fn next_young(&mut self, slot: usize) -> Option<usize> {
        if self.young_count == 0 {
            return None;
        }
        let from_start = slot <= self.first_young;
        let found = next(&self.young, slot.max(self.first_young), self.end());
        if from_start && let Some(found) = found {
            self.first_young = found;
        }
        found
    }

    /// How many living blocks are in `slots`.
    pub(super) fn count(&self, slots: std::ops::Range<usize>) -> u64 {
        if slots.is_empty() {
            return 0;
        }
        let (first, last) = (slots.start / 64, (slots.end - 1) / 64);
        let head = u64::MAX << (slots.start % 64);
        let tail = u64::MAX >> (63 - (slots.end - 1) % 64);
        if first == last {
            return u64::from((self.living[first] & head & tail).count_ones());
        }
        let middle: u32 = self.living[first + 1..last].iter().map(|word| word.count_ones()).sum();
        let ends =
            (self.living[first] & head).count_ones() + (self.living[last] & tail).count_ones();
        u64::from(middle + ends)
    }

    /// The living block after `skipped` others, from `slot` on.
    pub(super) fn forward(&self, slot: usize, skipped: u64) -> Option<usize> {
        let mut left = skipped;
        let mut index = slot / 64;
        let mut word = self.living.get(index)? & u64::MAX << (slot % 64);
        loop {
            let ones = u64::from(word.count_ones());
            if left < ones {
                return Some(index * 64 + nth_one(word, left));
            }
            left -= ones;
            index += 1;
            while index.is_multiple_of(STRIDE)
                && left >= u64::from(*self.counts.get(index / STRIDE)?)
            {
                left -= u64::from(self.counts[index / STRIDE]);
                index += STRIDE;
            }
            word = *self.living.get(index)?;
        }
    }

    /// The living block before `skipped` others, backwards from below `slot`.
    pub(super) fn backward(&self, slot: usize, skipped: u64) -> Option<usize> {
        let mut left = skipped;
        let mut index = slot / 64;
        let mut word = self.living.get(index).map_or(0, |word| word & !(u64::MAX << (slot % 64)));
        loop {
            let ones = u64::from(word.count_ones());
            if left < ones {
                return Some(index * 64 + nth_one(word, ones - 1 - left));
            }
            left -= ones;
            index = index.checked_sub(1)?;
            while index % STRIDE == STRIDE - 1 && left >= u64::from(self.counts[index / STRIDE]) {
                left -= u64::from(self.counts[index / STRIDE]);
                index = index.checked_sub(STRIDE)?;
            }
            word = self.living[index];
        }
    }

    fn squeeze(&mut self) {
        let kept: Vec<(usize, bool)> = self.iter().collect();
        let forgotten = if kept.len() > CROWDED { kept.len() - CAPACITY / 2 } else { 0 };
        let mut squeezed = Self::new();
        squeezed.ids.reserve_exact(CAPACITY);
        for &(slot, is_young) in &kept[forgotten..] {
            squeezed.push(self.ids[slot], is_young);
        }
        *self = squeezed;
    }
}

fn set(bits: &mut [u64; WORDS], slot: usize) {
    bits[slot / 64] |= 1 << (slot % 64);
}

fn clear(bits: &mut [u64; WORDS], slot: usize) {
    bits[slot / 64] &= !(1 << (slot % 64));
}

fn has(bits: &[u64; WORDS], slot: usize) -> bool {
    bits[slot / 64] >> (slot % 64) & 1 == 1
}

fn next(bits: &[u64; WORDS], slot: usize, end: usize) -> Option<usize> {
    if slot >= end {
        return None;
    }
    let mut index = slot / 64;
    let mut word = bits[index] & u64::MAX << (slot % 64);
    while word == 0 {
        index += 1;
        if index * 64 >= end {
            return None;
        }
        word = bits[index];
    }
    Some(index * 64 + word.trailing_zeros() as usize)
}

fn stride(slot: usize) -> usize {
    slot / (64 * STRIDE)
}

/// Position of the one above `skipped` others; there are that many.
///
/// The byte that it is in comes first: `sums` has in each byte the ones in it and below it.
/// (S. Vigna's selection, "Broadword implementation of rank/select queries", 2008.)
fn nth_one(word: u64, skipped: u64) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * LOW;
    const ODD: u64 = 0x55 * LOW;
    const PAIRS: u64 = 0x33 * LOW;
    const FOURS: u64 = 0x0f * LOW;
    let twos = word - (word >> 1 & ODD);
    let fours = (twos & PAIRS) + (twos >> 2 & PAIRS);
    let sums = ((fours + (fours >> 4)) & FOURS).wrapping_mul(LOW);
    let is_passed = ((skipped.wrapping_mul(LOW) | HIGH) - sums) & HIGH;
    let place = 8 * u64::from(is_passed.count_ones());
    let mut byte = word >> place & 255;
    for _ in sums << 8 >> place & 255..skipped {
        byte &= byte - 1;
    }
    place as usize + byte.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Slots, ids, young or not: the living ones only.
    type Naive = Vec<(usize, bool)>;

    fn check(live: &mut Live, naive: &Naive, probe: usize) {
        assert_eq!(&live.iter().collect::<Naive>(), naive);
        let young = naive.iter().find(|(slot, young)| *slot >= probe && *young);
        assert_eq!(live.next_young(probe), young.map(|it| it.0));
        let first_young = naive.iter().find(|it| it.1);
        assert_eq!(live.next_young(0), first_young.map(|it| it.0));
        assert_eq!(live.young_count(), naive.iter().filter(|it| it.1).count());
        let below = naive.iter().filter(|it| it.0 < probe).count();
        assert_eq!(live.count(0..probe), below as u64);
        let above = &naive[below..];
        for skipped in [0, 1, 70] {
            assert_eq!(live.forward(probe, skipped as u64), above.get(skipped).map(|it| it.0));
            let before = below.checked_sub(skipped + 1).map(|at| naive[at].0);
            assert_eq!(live.backward(probe, skipped as u64), before);
        }
    }

    proptest! {
        #[test]
        fn as_a_plain_list(steps in prop::collection::vec((0..5u8, any::<prop::sample::Index>()), 0..400)) {
            let (mut live, mut naive) = (Live::new(), Naive::new());
            for (number, (step, index)) in steps.into_iter().enumerate() {
                match step {
                    0 if !naive.is_empty() => {
                        let (slot, _) = naive.remove(index.index(naive.len()));
                        live.bury(slot);
                    }
                    1 if !naive.is_empty() => {
                        let at = index.index(naive.len());
                        let promoted = &mut naive[at];
                        promoted.1 = false;
                        live.promote(promoted.0);
                    }
                    _ => {
                        naive.push((live.end(), step < 4));
                        live.push(AllocationId(number as u64), step < 4);
                    }
                }
                let probe = index.index(live.end() + 1);
                check(&mut live, &naive, probe);
            }
        }
    }

    /// Where whole strides are passed over.
    #[test]
    fn far_away_as_nearby() {
        let mut live = Live::new();
        (0..CAPACITY).for_each(|id| assert!(!live.push(AllocationId(id as u64), false)));
        (0..CAPACITY).filter(|slot| slot % 7 != 3 || slot / 5000 == 4).for_each(|it| live.bury(it));
        let slots: Vec<usize> = live.iter().map(|(slot, _)| slot).collect();
        for (rank, &slot) in slots.iter().enumerate() {
            assert_eq!(live.forward(0, rank as u64), Some(slot));
            let after = (slots.len() - 1 - rank) as u64;
            assert_eq!(live.backward(live.end(), after), Some(slot));
            assert_eq!(live.forward(slot + 1, 999), slots.get(rank + 1000).copied());
            let before = rank.checked_sub(1000).map(|at| slots[at]);
            assert_eq!(live.backward(slot, 999), before);
        }
    }

    #[test]
    fn each_one_of_a_word_is_found() {
        for word in [1, 1 << 63, u64::MAX, 0x8000_0000_0000_0001, 0x0f0f_1234_8000_7ffe, 0xff << 40]
        {
            let places: Vec<usize> = (0..64).filter(|at| word >> at & 1 == 1).collect();
            let found = (0..places.len() as u64).map(|skipped| nth_one(word, skipped));
            assert!(found.eq(places));
        }
    }

    #[test]
    fn squeezing_keeps_the_living_in_their_order() {
        let mut live = Live::new();
        (0..CAPACITY).for_each(|id| assert!(!live.push(AllocationId(id as u64), id % 2 == 0)));
        (0..CAPACITY).filter(|slot| slot % 3 != 0).for_each(|slot| live.bury(slot));
        assert!(live.push(AllocationId(1 << 40), true));
        let ids: Vec<u64> = live.iter().map(|(slot, _)| live.id(slot).0).collect();
        let expected = (0..CAPACITY as u64).filter(|id| id % 3 == 0).chain([1 << 40]);
        assert!(ids.iter().copied().eq(expected));
        assert_eq!(live.next_young(1), Some(2));
    }

    #[test]
    fn a_crowd_is_halved() {
        let mut live = Live::new();
        (0..CAPACITY).for_each(|id| {
            live.push(AllocationId(id as u64), false);
        });
        live.push(AllocationId(7), false);
        assert_eq!(live.end(), CAPACITY / 2 + 1);
        assert_eq!(live.id(0), AllocationId(CAPACITY as u64 / 2));
    }
}
