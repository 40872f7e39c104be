//! The sampled blocks that are alive, as the collector moves them and finds them dead.
//!
//! Those of the minor heap are apart: only they can change in its collections, and after one there are none.
//! Each is two words, its place and the tracker's metadata.

use lifetrace_agent::buffer::Buffer;

/// Blocks in the order in which they came.
#[derive(Debug)]
struct Table {
    pairs: Buffer,
    length: usize,
}

/// The sampled blocks that are alive: where they are, and the tracker's metadata.
#[derive(Debug)]
pub(super) struct Lives {
    young: Table,
    old: Table,
}

/// What has become of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Promoted,
    Dead,
}

impl Lives {
    /// None.
    pub(super) const fn new() -> Lives {
        Lives { young: Table::new(), old: Table::new() }
    }

    /// Makes room for one block, and for all that are young to become old; false when there is no memory.
    #[inline]
    pub(super) fn reserve(&mut self) -> bool {
        let young = self.young.length + 1;
        self.young.pairs.reserve(2 * young) && self.old.pairs.reserve(2 * (self.old.length + young))
    }

    /// Another block, for which there is room.
    #[inline]
    pub(super) fn add(&mut self, place: u64, metadata: u64, is_young: bool) {
        let table = if is_young { &mut self.young } else { &mut self.old };
        table.push([place, metadata]);
    }

    /// The minor heap was collected: `moved` says where a block of it is now, unless it is dead. `report` is told
    /// of each, and says whether a promoted one is of interest any more.
    pub(super) fn minor_collected(
        &mut self,
        moved: impl Fn(u64) -> Option<u64>,
        mut report: impl FnMut(u64, Fate) -> bool,
    ) {
        const DEAD: u64 = 0;
        // Their places are looked at first, all at once, as the processor then waits for memory only once.
        for [place, _] in self.young.pairs_mut() {
            *place = moved(*place).unwrap_or(DEAD);
        }
        let Lives { young, old } = self;
        for &[place, metadata] in young.pairs() {
            let fate = if place == DEAD { Fate::Dead } else { Fate::Promoted };
            if report(metadata, fate) && fate == Fate::Promoted {
                old.push([place, metadata]);
            }
        }
        young.length = 0;
    }

    /// The major heap was marked: `is_dead` says it of a block there, of which `report` is told.
    pub(super) fn marked(&mut self, is_dead: impl Fn(u64) -> bool, mut report: impl FnMut(u64)) {
        let mut kept = 0;
        let pairs = self.old.pairs_mut();
        for index in 0..pairs.len() {
            let [place, metadata] = pairs[index];
            if is_dead(place) {
                report(metadata);
            } else {
                pairs[kept] = pairs[index];
                kept += 1;
            }
        }
        self.old.length = kept;
    }

    /// Where all places are kept.
    pub(super) fn places(&mut self) -> impl Iterator<Item = &mut u64> {
        let Lives { young, old } = self;
        young.pairs_mut().iter_mut().chain(old.pairs_mut()).map(|[place, _]| place)
    }

    /// The place and the metadata of each.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &[u64; 2]> {
        self.young.pairs().iter().chain(self.old.pairs())
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        (self.young.length, self.old.length) = (0, 0);
    }
}

impl Table {
    const fn new() -> Table {
        Table { pairs: Buffer::new(), length: 0 }
    }

    fn pairs(&self) -> &[[u64; 2]] {
        &self.pairs.words().as_chunks().0[..self.length]
    }

    fn pairs_mut(&mut self) -> &mut [[u64; 2]] {
        &mut self.pairs.words_mut().as_chunks_mut().0[..self.length]
    }

    #[inline(always)]
    fn push(&mut self, pair: [u64; 2]) {
        self.pairs.words_mut().as_chunks_mut().0[self.length] = pair;
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use lifetrace_agent::random::Random;

    use super::*;

    /// Against a map from metadata to places, through collections in which blocks move and die at random.
    #[test]
    fn blocks_are_followed_as_a_map_would() {
        let mut random = Random::new(3, 0);
        let (mut lives, mut young, mut old) = (Lives::new(), BTreeMap::new(), BTreeMap::new());
        let (mut next, mut promotions, mut deaths) = (1u64, 0, 0);
        for _ in 0..3_000 {
            for _ in 0..random.word() % 40 {
                let is_young = !random.word().is_multiple_of(8);
                assert!(lives.reserve());
                lives.add(next * 16, next, is_young);
                if is_young { &mut young } else { &mut old }.insert(next, next * 16);
                next += 1;
            }
            let salt = random.word();
            let is_spared =
                move |place: u64| !(place ^ salt).wrapping_mul(0x9E37_79B9).is_multiple_of(4);
            if !random.word().is_multiple_of(3) {
                let moved = |place: u64| is_spared(place).then_some(place + 1);
                lives.minor_collected(moved, |metadata, fate| {
                    let place: u64 = young.remove(&metadata).unwrap();
                    assert_eq!(fate == Fate::Promoted, is_spared(place));
                    let is_wanted = metadata % 10 > 0;
                    if fate == Fate::Promoted && is_wanted {
                        old.insert(metadata, place + 1);
                        promotions += 1;
                    }
                    is_wanted
                });
                assert!(young.is_empty());
            } else {
                lives.marked(
                    |place| !is_spared(place),
                    |metadata| {
                        assert!(!is_spared(old.remove(&metadata).unwrap()));
                        deaths += 1;
                    },
                );
                assert!(old.values().all(|&place| is_spared(place)));
            }
            lives.places().for_each(|place| *place += 2);
            young.values_mut().chain(old.values_mut()).for_each(|place| *place += 2);
            let mut places: Vec<u64> = lives.places().map(|place| *place).collect();
            let mut expected: Vec<u64> = young.values().chain(old.values()).copied().collect();
            places.sort_unstable();
            expected.sort_unstable();
            assert_eq!(places, expected);
        }
        assert!(promotions > 1_000 && deaths > 1_000);
        lives.clear();
        assert_eq!(lives.places().count(), 0);
    }
}
