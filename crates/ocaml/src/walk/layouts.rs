//! What is known of frames: by what number the recorder knows them, and how large they are.
//!
//! To find a frame's caller takes the frame's size, which takes its code, which is read from the stack where
//! the callee's size says: each step waits for the one before. But code that recurses comes in the same
//! order again and again. So with each frame's layout stands which one came next when it was last seen, and
//! which other one before that. A walk takes the next one to be that, and only compares the code that it
//! reads with it: a processor that foresees the comparison has several frames under way at once.
//!
//! The layouts stand in the order in which they were first seen, which are also their numbers: frames that
//! are on the stack together are mostly neighbours in memory, four in a cache line. The index by which they
//! are found is open-addressed and at most half full; it has four bytes for a layout, some of them
//! a fingerprint, so that others are hardly ever looked at, and code that is near other code is near it in the
//! index. Other names of the runtime's for frames, which are no addresses of code, are keys as well.

use lifetrace_agent::buffer::Buffer;
use lifetrace_transport::message::Run;

const FIRST_BUCKETS: usize = 1024;

/// The number of a layout; 0 is that of none, from which the first one of each walk comes next.
pub(crate) type LayoutIndex = u32;

/// What is known of frames whose code is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// By which the recorder knows such frames, from 1 on.
    pub number: u32,
    /// In bytes, from the frame's stack pointer to its caller's; a multiple of 8, below 2^17.
    pub size: u32,
}

/// The layouts that are known, by their keys: the code that frames return to, or another name of the runtime's. All
/// zero is an empty one.
#[derive(Debug, Default)]
pub struct Layouts {
    /// A key, and a [`Link`].
    entries: Buffer,
    /// Entries, the first of which is no layout.
    count: usize,
    index: Index,
}

/// A borrowed view of the entries: none is inserted while it lives.
pub(crate) struct Table<'a> {
    entries: &'a mut [Entry],
    index: &'a Index,
}

type Entry = [u64; 2];

const NO_KEY: u64 = u64::MAX;
const NO_INDEX: LayoutIndex = LayoutIndex::MAX;

/// Bytes of which frames are a multiple.
const WORD: u32 = 8;

/// A layout's size in words, and the two that came next, newest first: `next:25 other:25 size:14`.
#[derive(Clone, Copy)]
pub(crate) struct Link(u64);

/// One that came next: `place:20 code:5`, the code's lowest bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Follower(u32);

/// Where entries are.
#[derive(Debug, Default)]
struct Index {
    /// A bucket has a place in its lower bits, a fingerprint in the others; 0 is a free one.
    buckets: Buffer<u32>,
    /// As many as are used: a power of two, or none.
    count: usize,
}

const INDEX_BITS: u32 = 20;
const LAST_INDEX: u32 = (1 << INDEX_BITS) - 1;
const _: () = assert!(LAST_INDEX <= Run::LAST_NUMBER);

impl Layouts {
    /// An empty one, without memory.
    pub const fn new() -> Self {
        let index = Index { buckets: Buffer::new(), count: 0 };
        Layouts { entries: Buffer::new(), count: 0, index }
    }

    /// What is known of a key.
    pub fn get(&self, key: u64) -> Option<Layout> {
        self.index.find(self.entries(), key).known()
    }

    /// The layout of a key; if there is none, it is of this size from now on. `send_name` is given its new number, or
    /// `None` if there is no memory or too many are known, and says whether it can be used. `None` if it can't.
    pub fn get_or_insert(
        &mut self,
        key: u64,
        size: u32,
        send_name: impl FnOnce(Option<u32>) -> bool,
    ) -> Option<Layout> {
        if let Some(known) = self.get(key) {
            return Some(known);
        }
        let room = self.reserve();
        let is_known = send_name(room);
        let number = room.filter(|_| is_known)?;
        self.entries_mut()[number as usize] = [key, Link::new(size).0];
        self.index.put(key, number);
        self.count += 1;
        Some(Layout { number, size })
    }

    /// Of frames with that number.
    #[inline(always)]
    pub(crate) fn size(&self, number: u32) -> u32 {
        self.entries().get(number as usize).map_or(0, |entry| link(entry).size())
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.index.buckets.words_mut().fill(0);
        self.count = 0;
    }

    /// For lookups in a row.
    #[inline]
    pub(crate) fn table(&mut self) -> Table<'_> {
        let entries = &mut self.entries.words_mut().as_chunks_mut().0[..self.count];
        Table { entries, index: &self.index }
    }

    #[inline]
    fn entries(&self) -> &[Entry] {
        &self.entries.words().as_chunks().0[..self.count]
    }

    /// All that there is room for.
    fn entries_mut(&mut self) -> &mut [Entry] {
        self.entries.words_mut().as_chunks_mut().0
    }

    /// Makes room for one more, whose number it says.
    fn reserve(&mut self) -> Option<u32> {
        let number = self.count.max(1);
        let has_room = number <= LAST_INDEX as usize
            && self.entries.reserve(2 * (number + 1))
            && (2 * (number + 1) <= self.index.count || self.grow_index());
        if has_room && self.count == 0 {
            self.entries_mut()[0] = [NO_KEY, 0];
            self.count = 1;
        }
        has_room.then_some(number as u32)
    }

    #[cold]
    fn grow_index(&mut self) -> bool {
        let count = (2 * self.index.count).max(FIRST_BUCKETS);
        let mut buckets = Buffer::new();
        if !buckets.reserve(count) {
            return false;
        }
        let old = core::mem::replace(&mut self.index, Index { buckets, count });
        old.buckets.give_back();
        let Layouts { entries, index, count, .. } = self;
        let entries: &[Entry] = &entries.words().as_chunks().0[..*count];
        let layouts = entries.iter().zip(0..).skip(1);
        layouts.for_each(|(&[key, _], place)| index.put(key, place));
        true
    }
}

impl Table<'_> {
    /// What is known of the layout at a place.
    #[inline]
    pub(crate) fn link(&self, place: LayoutIndex) -> Link {
        self.entries.get(place as usize).map_or(Link::NONE, link)
    }

    /// The layout of frames with that code, if it is what came next after the one whose link is given, and its own link.
    #[inline]
    pub(crate) fn next(&self, callee: Link, code: u64) -> Option<(LayoutIndex, Link)> {
        let next = callee.next().of(code)?;
        let entry = self.entries.get(next as usize).filter(|entry| entry[0] == code)?;
        Some((next, link(entry)))
    }

    /// The place of the layout of frames with that code, when it is not what came next after `callee`: it will be.
    #[inline(always)]
    pub(crate) fn find_other(&mut self, callee: LayoutIndex, code: u64) -> Option<LayoutIndex> {
        match find_other(self.entries, self.index, callee, code) {
            0 => None,
            place => Some(place),
        }
    }
}

/// See [`Table::find_other`]; 0 is none.
#[inline(always)]
fn find_other(entries: &mut [Entry], index: &Index, callee: LayoutIndex, code: u64) -> LayoutIndex {
    let Some(link) = entries.get(callee as usize).map(link) else { return 0 };
    let other = link.other().of(code).unwrap_or(NO_INDEX);
    let found = match entries.get(other as usize) {
        Some(entry) if entry[0] == code => other,
        _ => index.find_here(entries, code).number,
    };
    if found != 0 {
        entries[callee as usize][1] = link.followed_by(Follower::new(found, code)).0;
    }
    found
}

impl Layout {
    /// In one register, where an option takes two.
    const NONE: Layout = Layout { number: 0, size: 0 };

    #[inline]
    fn known(self) -> Option<Layout> {
        (self != Layout::NONE).then_some(self)
    }
}

impl Link {
    /// Of nothing.
    const NONE: Link = Link(0);

    const SIZE_BITS: u32 = 64 - 2 * Follower::BITS;

    fn new(size: u32) -> Link {
        debug_assert!(size.is_multiple_of(WORD) && size / WORD < 1 << Self::SIZE_BITS);
        Link(u64::from(size / WORD) & ((1 << Self::SIZE_BITS) - 1))
    }

    #[inline]
    pub(crate) fn size(self) -> u32 {
        self.words() as u32 * WORD
    }

    #[inline]
    fn words(self) -> u64 {
        self.0 & ((1 << Self::SIZE_BITS) - 1)
    }

    #[inline]
    fn next(self) -> Follower {
        Follower((self.0 >> (64 - Follower::BITS)) as u32)
    }

    #[inline]
    fn other(self) -> Follower {
        Follower((self.0 >> Self::SIZE_BITS) as u32 & ((1 << Follower::BITS) - 1))
    }

    #[inline]
    fn followed_by(self, follower: Follower) -> Link {
        let next = u64::from(follower.0) << (64 - Follower::BITS);
        let other = self.0 >> (64 - Follower::BITS) << Self::SIZE_BITS;
        Link(next | other | self.words())
    }
}

impl Follower {
    const CODE_BITS: u32 = 5;
    const BITS: u32 = INDEX_BITS + Self::CODE_BITS;

    #[inline]
    fn new(place: LayoutIndex, code: u64) -> Follower {
        Follower(place << Self::CODE_BITS | code as u32 & ((1 << Self::CODE_BITS) - 1))
    }

    /// Its place, if it may be of that code.
    #[inline]
    fn of(self, code: u64) -> Option<LayoutIndex> {
        let is_likely = (self.0 ^ code as u32) & ((1 << Self::CODE_BITS) - 1) == 0;
        is_likely.then_some(self.0 >> Self::CODE_BITS)
    }
}

impl Index {
    #[inline(never)]
    fn find(&self, entries: &[Entry], key: u64) -> Layout {
        self.find_here(entries, key)
    }

    #[inline(always)]
    fn find_here(&self, entries: &[Entry], key: u64) -> Layout {
        let (mut at, fingerprint) = self.first(key);
        let (buckets, last) = (self.buckets.words(), self.count.wrapping_sub(1));
        while let Some(&bucket) = buckets.get(at)
            && bucket != 0
        {
            // Of the right fingerprint it is the place.
            let place = bucket ^ fingerprint;
            if place <= LAST_INDEX
                && let Some(entry) = entries.get(place as usize)
                && entry[0] == key
            {
                return layout(place, entry);
            }
            at = (at + 1) & last;
        }
        Layout::NONE
    }

    /// Puts a place, not 0, for which there is room.
    fn put(&mut self, key: u64, place: LayoutIndex) {
        let (mut at, fingerprint) = self.first(key);
        while self.buckets.words()[at] != 0 {
            at = (at + 1) & (self.count - 1);
        }
        self.buckets.words_mut()[at] = fingerprint | place;
    }

    /// From where on a key is looked for, and its fingerprint. What is in the same 512 bytes, so mostly in the same
    /// functions, begins in the same cache line.
    #[inline]
    fn first(&self, key: u64) -> (usize, u32) {
        const LINE: u64 = 16;
        let line = (key >> 9).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let hash = (key as u32).wrapping_mul(0x9e37_79b1);
        let at = line * LINE + u64::from(hash >> (INDEX_BITS - 4)) % LINE;
        (at as usize & self.count.wrapping_sub(1), hash & !LAST_INDEX)
    }
}

#[inline]
fn link(&[_, link]: &Entry) -> Link {
    Link(link)
}

#[inline]
fn layout(place: LayoutIndex, entry: &Entry) -> Layout {
    Layout { number: place, size: link(entry).size() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lifetrace_agent::random::Random;

    use super::*;

    #[test]
    fn what_is_found_was_put_whatever_came_next() {
        let mut random = Random::new(1, 7);
        let (mut layouts, mut naive) = (Layouts::new(), HashMap::new());
        let (mut at, mut followed) = (0, 0);
        for round in 0..60_000u64 {
            let few = round / 1_000 % 2 == 0;
            let key = if few { round % 5 } else { random.word() % 8_000 };
            let mut table = layouts.table();
            let link = table.link(at);
            let next = table.next(link, key).map(|(place, link)| (place, link.size()));
            followed += u32::from(next.is_some());
            let found = next.or_else(|| {
                let other = table.find_other(at, key)?;
                Some((other, table.link(other).size()))
            });
            let found = found.map(|(number, size)| Layout { number, size });
            assert_eq!(found, naive.get(&key).copied());
            assert_eq!(layouts.get(key), found);
            at = found.map_or(0, |layout| layout.number);
            if found.is_none() && key > 0 {
                let (size, mut told) = (random.word() as u32 >> 18 << 3, 0);
                let layout = layouts.get_or_insert(key, size, |number| {
                    told = number.unwrap();
                    round % 3 > 0
                });
                assert_eq!(told as usize, naive.len() + 1);
                assert_eq!(layout.is_some(), round % 3 > 0);
                layout.map(|layout| naive.insert(key, layout));
                assert!(layout.is_none_or(|it| (it.number, it.size) == (told, size)));
            }
            if round == 40_000 {
                layouts.clear();
                naive.clear();
                at = 0;
            }
        }
        assert!(followed > 20_000, "{followed}");
        assert_eq!(layouts.count, naive.len() + 1);
    }

    #[test]
    fn what_is_there_is_not_told_again() {
        let mut layouts = Layouts::new();
        let layout = layouts.get_or_insert(7, 16, |number| number == Some(1));
        assert_eq!(layout, Some(Layout { number: 1, size: 16 }));
        assert_eq!(layouts.get_or_insert(7, 32, |_| unreachable!()), layout);
        assert_eq!(layouts.get(NO_KEY), None);
    }

    #[test]
    fn of_what_came_next_the_last_two_are_known() {
        let mut layouts = Layouts::new();
        (1..6).for_each(|key| {
            layouts.get_or_insert(key, 8 * key as u32, |_| true).unwrap();
        });
        let mut table = layouts.table();
        for key in [2, 3, 2, 2, 4, 3, 5] {
            let next = table.next(table.link(1), key).map(|(place, _)| place);
            let found = next.or_else(|| table.find_other(1, key)).unwrap();
            assert_eq!((found, table.link(found).size()), (key as u32, 8 * key as u32));
        }
        let link = Link(table.entries[1][1]);
        let followers = [link.next().of(5), link.other().of(3), link.next().of(3)];
        assert_eq!((followers, link.size()), ([Some(5), Some(3), None], 8));
    }

    #[test]
    fn there_are_so_many_and_no_more() {
        let mut layouts = Layouts::new();
        for number in 1..=LAST_INDEX {
            let layout =
                layouts.get_or_insert(u64::from(number) << 4, 8, |room| room == Some(number));
            assert!(layout.is_some());
        }
        let mut room = Some(7);
        let none = layouts.get_or_insert(8, 8, |number| {
            room = number;
            true
        });
        assert_eq!((none, room), (None, None));
    }

    /// All code of a program may lie close together.
    #[test]
    fn neighbours_are_told_from_one_another() {
        for step in [1, 5, 16, 512, 4096, 1 << 32] {
            let mut layouts = Layouts::new();
            let keys = || (1..=20_000u64).map(|number| (0x40_0000 + number * step, number as u32));
            for (key, number) in keys() {
                let layout = layouts.get_or_insert(key, 8, |_| true);
                assert_eq!(layout.map(|it| it.number), Some(number));
            }
            assert!(
                keys().all(|(key, number)| layouts.get(key).is_some_and(|it| it.number == number))
            );
        }
    }
}
