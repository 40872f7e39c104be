//! Where sampled blocks are, and whether a word points into one.
//!
//! A word is taken for a pointer if what is in its lower 47 bits (on aarch64 48) is an address from a block's first byte
//! to its last. What a program keeps in the upper ones, or in the lowest, does not matter.
//!
//! ```text
//! word ── between the first and the last block? ── its gigabyte ── its page ── search
//! ```

use std::ops::Range;

use lifetrace_transport::message::SampleId;

use super::pages::PAGE;

/// The part of a word that is an address of a program's: virtual machines keep what a value is in the others.
#[cfg(target_arch = "x86_64")]
const ADDRESS: u64 = (1 << 47) - 1;
#[cfg(not(target_arch = "x86_64"))]
const ADDRESS: u64 = (1 << 48) - 1;

/// Words of a bit for each upper half of an address.
const UPPERS: usize = (1 << 16) / 64;

const CHUNK_BITS: u32 = 30;
const CHUNKS: usize = 1 << (48 - CHUNK_BITS);
/// Of more gigabytes nothing is known. They take 128 MiB.
const MOST_CHUNKS: usize = 1 << 12;
/// Words of the bitmap of a chunk's pages.
const CHUNK_WORDS: usize = (1 << CHUNK_BITS) / PAGE as usize / 64;

/// Of a block, in order of address.
pub(super) type Index = u32;

/// Memory that is looked at together: 32 words that begin in its first 128 bytes.
pub(super) type Window = [u8; 132];

/// All sampled blocks that live.
pub(super) struct Blocks {
    starts: Vec<u64>,
    lengths: Vec<u64>,
    samples: Vec<(Index, SampleId)>,
    /// For each gigabyte, which of the bitmaps is its own, from 1 on.
    chunks: Vec<u16>,
    bitmaps: Vec<[u64; CHUNK_WORDS]>,
    low: u64,
    span: u64,
    /// A bit for each upper half that an address of a block has.
    uppers: Box<[u64; UPPERS]>,
}

/// A sample, and where its block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) sample: SampleId,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

impl Blocks {
    pub(super) fn new(mut candidates: Vec<Candidate>) -> Blocks {
        candidates.sort_unstable_by_key(|it| (it.address, it.sample));
        let mut blocks = Blocks {
            starts: Vec::new(),
            lengths: Vec::new(),
            samples: Vec::new(),
            chunks: vec![0; CHUNKS],
            bitmaps: Vec::new(),
            low: 0,
            span: 0,
            uppers: Box::new([0; UPPERS]),
        };
        let is_possible = |it: &Candidate| {
            it.address != 0 && it.address.checked_add(it.size).is_some_and(|end| end <= ADDRESS)
        };
        for candidate in candidates.into_iter().filter(is_possible) {
            blocks.add(candidate);
        }
        blocks.low = blocks.starts.first().copied().unwrap_or(0);
        let ends = (0..blocks.count()).map(|index| blocks.range(index).end);
        blocks.span = ends.max().map_or(0, |end| end - blocks.low);
        blocks
    }

    /// Several samples may be of one block. One that is impossibly large is left out: a target may say anything.
    fn add(&mut self, it: Candidate) {
        let length = it.size.max(1);
        if self.bitmaps.len() + (length >> CHUNK_BITS) as usize + 2 > MOST_CHUNKS {
            return;
        }
        if self.starts.last() != Some(&it.address) {
            self.starts.push(it.address);
            self.lengths.push(length);
        }
        let index = self.starts.len() - 1;
        self.lengths[index] = self.lengths[index].max(length);
        self.samples.push((index as Index, it.sample));
        for page in it.address / PAGE..=(it.address + length - 1) / PAGE {
            let chunk = ((page * PAGE) >> CHUNK_BITS) as usize;
            if self.chunks[chunk] == 0 {
                self.bitmaps.push([0; CHUNK_WORDS]);
                self.chunks[chunk] = self.bitmaps.len() as u16;
            }
            let (word, bit) = place(page);
            self.bitmaps[usize::from(self.chunks[chunk]) - 1][word] |= bit;
            let (word, bit) = place_of_upper(((page * PAGE) >> 32) as u16);
            self.uppers[word] |= 1 << bit;
        }
    }

    pub(super) fn count(&self) -> Index {
        self.starts.len() as Index
    }

    /// What block each sample is of.
    pub(super) fn samples(&self) -> &[(Index, SampleId)] {
        &self.samples
    }

    pub(super) fn range(&self, index: Index) -> Range<u64> {
        let start = self.starts[index as usize];
        start..start + self.lengths[index as usize]
    }

    /// The first block that ends behind an address.
    pub(super) fn first_behind(&self, address: u64) -> Index {
        let next = self.starts.partition_point(|&start| start <= address);
        match next.checked_sub(1) {
            Some(last) if self.range(last as Index).end > address => last as Index,
            _ => next as Index,
        }
    }

    /// The block that a word points into.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Option<Index> {
        let address = word & ADDRESS;
        if self.is_far(address) { None } else { self.find_near(address) }
    }

    /// Which of the words that begin at multiples of four in a window may be pointers, the first one lowest: of each its
    /// upper half, as far as that is a part of an address, is one of a block's.
    #[inline(always)]
    pub(super) fn near(&self, window: &Window) -> u32 {
        let halves = window[4..].chunks_exact(4).enumerate();
        halves.fold(0, |near, (at, half)| {
            let (word, bit) = place_of_upper(u16::from_le_bytes([half[0], half[1]]));
            near | ((self.uppers[word] >> bit) as u32 & 1) << at
        })
    }

    /// Whether none of them can be there.
    #[inline(always)]
    fn is_far(&self, address: u64) -> bool {
        address.wrapping_sub(self.low) >= self.span
    }

    #[inline]
    fn find_near(&self, address: u64) -> Option<Index> {
        let chunk = usize::from(self.chunks[(address >> CHUNK_BITS) as usize]).checked_sub(1)?;
        let (word, bit) = place(address / PAGE);
        if self.bitmaps[chunk][word] & bit == 0 {
            return None;
        }
        let last = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        self.range(last as Index).contains(&address).then_some(last as Index)
    }
}

/// The place of an address's upper half in its bitmap. What is not of an address does not matter.
#[inline(always)]
fn place_of_upper(half: u16) -> (usize, u32) {
    const UPPER: u16 = (ADDRESS >> 32) as u16;
    let half = half & UPPER;
    (usize::from(half / 64), u32::from(half % 64))
}

/// A page's place in the bitmap of its chunk.
#[inline(always)]
fn place(page: u64) -> (usize, u64) {
    let page = page as usize % (CHUNK_WORDS * 64);
    (page / 64, 1 << (page % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &[(u64, u64)]) -> Blocks {
        let candidate =
            |(at, &(address, size))| Candidate { sample: SampleId(at as u64), address, size };
        Blocks::new(list.iter().enumerate().map(candidate).collect())
    }

    #[test]
    fn words_that_point_into_a_block_are_found() {
        let blocks =
            blocks(&[(0x7f12_3456_7010, 100), (0x5555_0000_1000, 1 << 20), (0x600_0010, 0)]);
        let find = |word| blocks.find(word);
        assert_eq!(blocks.count(), 3);
        assert_eq!(find(0x600_0010), Some(0));
        assert_eq!(find(0x600_0011), None);
        assert_eq!(find(0x5555_0000_0fff), None);
        assert_eq!(find(0x5555_0000_1000), Some(1));
        assert_eq!(find(0x5555_000f_f123), Some(1));
        assert_eq!(find(0x5555_0010_1000), None);
        assert_eq!(find(0x7f12_3456_7010 + 99), Some(2));
        assert_eq!(find(0x7f12_3456_7010 + 100), None);
        assert_eq!([0xfff8_7f12_3456_7018, 0x8000_7f12_3456_7018].map(find), [Some(2); 2]);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(find(0xffff_ff12_3456_7018), Some(2));
        assert_eq!([0, 1, u64::MAX, 0x7f12_3456_0000].map(find), [None; 4]);
        assert_eq!(blocks.first_behind(0), 0);
        assert_eq!(blocks.first_behind(0x5555_0010_0000), 1);
        assert_eq!(blocks.first_behind(0x5555_0010_1000), 2);
        assert_eq!(blocks.first_behind(u64::MAX), 3);
    }

    #[test]
    fn what_may_be_a_pointer_is_seen_at_once() {
        let blocks = blocks(&[(0x5555_0000_1000, 16), (0x7f12_3456_7010, 100)]);
        let mut window: Window = [0; 132];
        assert_eq!(blocks.near(&window), 0);
        for place in [0, 4, 60, 124] {
            window[place..place + 8].copy_from_slice(&0xfff8_7f12_3456_7018_u64.to_le_bytes());
            assert_eq!(blocks.near(&window) & 1 << (place / 4), 1 << (place / 4));
            window = [0; 132];
        }
    }

    #[test]
    fn samples_share_blocks() {
        let blocks = blocks(&[(0x1000, 8), (0x2000, 8), (0x1000, 24)]);
        let samples: Vec<_> = blocks.samples().iter().map(|it| (it.0, it.1.0)).collect();
        assert_eq!(samples, [(0, 0), (0, 2), (1, 1)]);
        assert_eq!(blocks.range(0), 0x1000..0x1018);
    }

    #[test]
    fn without_blocks_nothing_is_found() {
        assert_eq!(blocks(&[]).find(0), None);
    }
}
