//! What points to whom.
//!
//! ```text
//! registers, the kernel, regions but for sampled blocks ─▶ held ─▶ what those blocks point to ─▶ held ...
//! the others are lost; of these, some are pointed to by lost ones
//! ```
//!
//! Each word of memory is read once. What a sampled block points to is held by it only if it is held itself.

use std::io;
use std::ops::Range;

use rustix::process::Pid;

use super::blocks::{Blocks, Index, Window};
use super::memory::{MOST_PARTS, Memory, PIECE};
use super::pages::{Pages, Wanted};
use super::regions::{Kind, PACKED, Region};

/// Of longer blocks it is asked which pages are there.
const LONG: u64 = 64 << 10;

/// What points to a block; of several, the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pointer {
    /// A variable, at this address.
    Global(u64),
    /// Another sampled block.
    Block(Index),
    /// What the kernel gives back with an event.
    Kernel,
    /// The stack or the registers of a thread.
    Thread(i32),
    /// Memory that is mapped from a file, or shared: that mapping.
    File(usize),
    /// Memory of which no more is known: a block that is no sample.
    Heap,
    /// A block that is lost itself.
    Lost,
}

/// What is known of each block.
pub(super) struct Scan<'b> {
    blocks: &'b Blocks,
    /// `None` as long as nothing is known to point to it.
    pub(super) pointers: Vec<Option<Pointer>>,
    memory: Memory,
    pages: Pages,
    /// Blocks that are held, and of which it is not known what they hold.
    news: Vec<Index>,
}

impl<'b> Scan<'b> {
    pub(super) fn new(process: Pid, blocks: &'b Blocks) -> io::Result<Scan<'b>> {
        Ok(Scan {
            blocks,
            pointers: vec![None; blocks.count() as usize],
            memory: Memory::of(process),
            pages: Pages::of(process)?,
            news: Vec::new(),
        })
    }

    /// Bytes that have been read.
    pub(super) fn bytes(&self) -> u64 {
        self.memory.bytes
    }

    pub(super) fn words(&mut self, words: impl Iterator<Item = u64>, pointer: Pointer) {
        let mut finds =
            Finds { blocks: self.blocks, pointers: &mut self.pointers, news: &mut self.news };
        words.for_each(|word| finds.word(word, pointer));
    }

    /// Takes in a region, but for the sampled blocks in it.
    pub(super) fn region(&mut self, region: &Region) -> io::Result<()> {
        let mut parts = Vec::new();
        self.pages.each(region.range.clone(), region.wanted, |run| {
            without_long(self.blocks, run, &mut parts)
        })?;
        let mut finds =
            Finds { blocks: self.blocks, pointers: &mut self.pointers, news: &mut self.news };
        for part in parts {
            self.memory.each(part, region.is_hidden, |address, bytes| {
                finds.around_blocks(region, address, bytes)
            });
        }
        Ok(())
    }

    /// Goes on from the blocks that are held to those that these hold.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        while !self.news.is_empty() {
            let news = std::mem::take(&mut self.news);
            self.read_blocks(news, Pointer::Block)?;
        }
        Ok(())
    }

    /// Of the others, finds those that are held by others.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let lost = (0..self.blocks.count()).filter(|&it| self.pointers[it as usize].is_none());
        self.read_blocks(lost.collect(), |_| Pointer::Lost)
    }

    fn read_blocks(
        &mut self,
        mut blocks: Vec<Index>,
        pointer: impl Fn(Index) -> Pointer,
    ) -> io::Result<()> {
        blocks.sort_unstable();
        let mut batch = Batch::default();
        for block in blocks {
            let range = self.blocks.range(block);
            if range.end - range.start > LONG {
                let mut runs = Vec::new();
                self.pages.each(range, Wanted::There, |run| runs.push(run))?;
                for run in runs {
                    let mut finds = Finds {
                        blocks: self.blocks,
                        pointers: &mut self.pointers,
                        news: &mut self.news,
                    };
                    self.memory
                        .each(run, false, |_, bytes| finds.inside(block, pointer(block), bytes));
                }
                continue;
            }
            if !batch.has_room(&range) {
                self.read_batch(&mut batch, &pointer);
            }
            batch.add(block, range);
        }
        self.read_batch(&mut batch, &pointer);
        Ok(())
    }

    fn read_batch(&mut self, batch: &mut Batch, pointer: &impl Fn(Index) -> Pointer) {
        let Batch { blocks, parts, .. } = std::mem::take(batch);
        let mut finds =
            Finds { blocks: self.blocks, pointers: &mut self.pointers, news: &mut self.news };
        let mut bytes = self.memory.parts(&parts);
        if bytes.is_empty() {
            for (block, part) in blocks.into_iter().zip(parts) {
                self.memory
                    .each(part, false, |_, bytes| finds.inside(block, pointer(block), bytes));
            }
            return;
        }
        for (block, part) in blocks.into_iter().zip(parts) {
            let (inside, rest) = bytes.split_at((part.end - part.start) as usize);
            bytes = rest;
            finds.inside(block, pointer(block), inside);
        }
    }
}

/// Short blocks that are read at once.
#[derive(Default)]
struct Batch {
    blocks: Vec<Index>,
    parts: Vec<Range<u64>>,
    bytes: u64,
}

impl Batch {
    fn has_room(&self, part: &Range<u64>) -> bool {
        self.parts.len() < MOST_PARTS && self.bytes + (part.end - part.start) <= PIECE
    }

    fn add(&mut self, block: Index, part: Range<u64>) {
        self.bytes += part.end - part.start;
        self.blocks.push(block);
        self.parts.push(part);
    }
}

/// Adds the parts of a run that are not in long sampled blocks.
fn without_long(blocks: &Blocks, run: Range<u64>, parts: &mut Vec<Range<u64>>) {
    let mut start = run.start;
    let within = (blocks.first_behind(run.start)..blocks.count()).map(|index| blocks.range(index));
    for block in within.take_while(|block| block.start < run.end) {
        if block.end - block.start > LONG {
            let end = block.start.max(start);
            parts.extend((start < end).then_some(start..end));
            start = block.end.max(start);
        }
    }
    parts.extend((start < run.end).then_some(start..run.end));
}

struct Finds<'s> {
    blocks: &'s Blocks,
    pointers: &'s mut [Option<Pointer>],
    news: &'s mut Vec<Index>,
}

impl Finds<'_> {
    /// Takes in a piece of a region, but for the sampled blocks in it.
    fn around_blocks(&mut self, region: &Region, address: u64, bytes: &[u8]) {
        let end = address + bytes.len() as u64;
        let mut from = address;
        let first = self.blocks.first_behind(address);
        for index in first..self.blocks.count() {
            let block = self.blocks.range(index);
            if block.start >= end {
                break;
            }
            self.between(region, address, from..block.start, bytes);
            from = block.end;
        }
        self.between(region, address, from..end, bytes);
    }

    /// Takes in what is between two blocks, from the first address on at which a pointer may begin.
    fn between(&mut self, region: &Region, address: u64, range: Range<u64>, bytes: &[u8]) {
        let start = range.start.next_multiple_of(region.step as u64);
        if start < range.end {
            let [start, end] = [start, range.end].map(|it| (it - address) as usize);
            let bytes = &bytes[start..end];
            let base = address + start as u64;
            let thread = |thread: Pid| Pointer::Thread(thread.as_raw_nonzero().get());
            let (blocks, step) = (self.blocks, region.step);
            each_pointer(blocks, bytes, step, |at, block| {
                let pointer = match region.kind {
                    Kind::Globals => Pointer::Global(base + at as u64),
                    Kind::Stack(of) => thread(of),
                    Kind::File(mapping) => Pointer::File(mapping),
                    Kind::Heap => Pointer::Heap,
                };
                self.found(block, pointer);
            });
        }
    }

    /// Takes in the contents of a block; it does not hold itself.
    fn inside(&mut self, itself: Index, pointer: Pointer, bytes: &[u8]) {
        each_pointer(self.blocks, bytes, PACKED, |_, block| {
            if block != itself {
                self.found(block, pointer);
            }
        });
    }

    fn word(&mut self, word: u64, pointer: Pointer) {
        if let Some(block) = self.blocks.find(word) {
            self.found(block, pointer);
        }
    }

    #[inline]
    fn found(&mut self, block: Index, pointer: Pointer) {
        let known = &mut self.pointers[block as usize];
        match *known {
            None if pointer == Pointer::Lost => *known = Some(pointer),
            None => {
                *known = Some(pointer);
                self.news.push(block);
            }
            Some(before) if pointer < before && before != Pointer::Lost => *known = Some(pointer),
            Some(_) => {}
        }
    }
}

/// Gives each pointer to a sampled block to `see`, with its place.
#[inline]
fn each_pointer(blocks: &Blocks, bytes: &[u8], step: usize, mut see: impl FnMut(usize, Index)) {
    let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let mut at = 0;
    while step == PACKED
        && let Some(window) = bytes[at..].first_chunk()
    {
        let mut near = blocks.near(window);
        while near != 0 {
            let place = at + PACKED * near.trailing_zeros() as usize;
            near &= near - 1;
            word(place)
                .and_then(|word| blocks.find(word))
                .into_iter()
                .for_each(|it| see(place, it));
        }
        at += size_of::<Window>() - PACKED;
    }
    while let Some(found) = word(at) {
        blocks.find(found).into_iter().for_each(|block| see(at, block));
        at += step;
    }
}
