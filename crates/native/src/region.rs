//! Sampled blocks: one range of addresses, so that `free` knows them at sight. \[UNSAFE\]
//!
//! ```text
//! piece                                   block (what the program has)
//!  │ lead: padding for the alignment │ Header │ size bytes │
//!                                      Extent ─▶ Extent ─▶ …
//! ```
//!
//! A block is a piece of the region's heap. Its header holds the size, the state, and the block's
//! [`Extent`]s, each a run of its words that were allocated together and had a hit: one in the header
//! itself, more of them in a list. A block without extents is a sample no more (all its hit words were cut off, or it could not be
//! announced); it stays where it is until it is freed.
//!
//! The header's first word changes from LIVE by compare-and-swap, so of two frees of one block only
//! one is believed. The other goes on to the next allocator, which says what it thinks of it. An address
//! is a block's only if the heap, too, knows a piece there, so contents that look like a header are
//! not taken for one.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::classes;
use crate::heap::{Heap, SAMPLES};

static HEAP: Heap = Heap::new(SAMPLES);

/// Some words of a block that were allocated together, at least one of them hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its name in messages.
    pub sample: u64,
    /// Index of its first word in the block.
    pub first: u64,
    /// Its length in words.
    pub words: u64,
    /// How many of them were hit.
    pub hits: u64,
}

/// A block of the region.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    address: NonNull<u8>,
}

/// A new block.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// The block.
    pub block: Block,
    /// Bytes from its start that may hold anything; the rest is zero.
    pub dirty: usize,
}

#[repr(C)]
struct Header {
    /// size:48 state:16
    state: AtomicU64,
    /// Padding before the header in 16-byte steps :24, first node :40 as 1 + its place in the heap
    /// in 16-byte steps; 0 is none.
    links: u64,
    /// An extent, if it has hits.
    extent: Extent,
}

#[repr(C)]
struct Node {
    next: *mut Node,
    extent: Extent,
}

const NO_EXTENT: Extent = Extent { sample: 0, first: 0, words: 0, hits: 0 };

const HEADER: usize = size_of::<Header>();
const NODE: usize = size_of::<Node>();
const SIZE_BITS: u32 = 48;
const LIVE: u64 = 0xA75D << SIZE_BITS;
const GONE: u64 = 0x3CB2 << SIZE_BITS;
const SIZE: u64 = (1 << SIZE_BITS) - 1;
const LARGEST: usize = 1 << 39;
const LEAD_BITS: u32 = 24;

/// Finds a place for the region; whether there is one.
pub fn prepare() -> bool {
    HEAP.prepare()
}

/// Whether `address` is of the region, and so a block's or garbage.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn contains(address: *mut u8) -> bool {
    // SAFETY: reads two words of the heap, each whole, as two relaxed loads would; a compiler does not
    // make them operands of the arithmetic.
    unsafe {
        core::arch::asm!(
            "sub {offset}, qword ptr [rip + {heap} + {base}]",
            "cmp {offset}, qword ptr [rip + {heap} + {length}]",
            "jb {inside}",
            offset = inout(reg) address => _,
            heap = sym HEAP,
            base = const Heap::BASE_OFFSET,
            length = const Heap::LENGTH_OFFSET,
            inside = label { return true },
            options(nostack, readonly),
        );
    }
    false
}

/// Whether `address` is of the region, and so a block's or garbage.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn contains(address: *mut u8) -> bool {
    HEAP.contains(address as usize)
}

/// The heap behind the region.
pub fn heap() -> &'static Heap {
    &HEAP
}

/// A block of `size` bytes without extents; `alignment` is a power of two. `None`: no room.
pub fn allocate(size: usize, alignment: usize) -> Option<Fresh> {
    let slack = alignment.saturating_sub(classes::QUANTUM);
    if size > LARGEST || slack >> 4 >= 1 << LEAD_BITS {
        return None;
    }
    let piece = HEAP.allocate(HEADER + slack + size)?;
    let start = piece.start.as_ptr() as usize;
    let address = (start + HEADER).next_multiple_of(alignment.max(classes::QUANTUM));
    let lead = address - HEADER - start;
    let block = Block { address: NonNull::new(address as *mut u8)? };
    let header = Header {
        state: AtomicU64::new(size as u64 | LIVE),
        links: (lead >> 4) as u64,
        extent: NO_EXTENT,
    };
    // SAFETY: `address - HEADER` is inside the piece, 16-aligned, and the piece is ours.
    unsafe { block.header().write(header) };
    Some(Fresh { block, dirty: piece.dirty.saturating_sub(lead + HEADER).min(size) })
}

impl Block {
    /// The live block at `address`; `None` when there is none: freed before, or never one.
    ///
    /// # Safety
    /// `address` [`contains`] and is what a program passes to free or realloc.
    #[inline]
    pub unsafe fn at(address: *mut u8) -> Option<Block> {
        let block = Block { address: NonNull::new(address)? };
        if !(address as usize).is_multiple_of(classes::QUANTUM)
            || !contains(address.wrapping_sub(HEADER))
        {
            return None;
        }
        (block.is_live() && block.piece_bytes().is_some()).then_some(block)
    }

    /// The program's address.
    pub fn address(self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// The program's size in bytes.
    pub fn size(self) -> usize {
        (self.state() & SIZE) as usize
    }

    /// Bytes that the piece has for the block.
    pub fn capacity(self) -> usize {
        self.piece_bytes().map_or(0, |bytes| bytes - HEADER - self.lead())
    }

    /// Makes room for `size` bytes, or gives back what is not needed for them, without moving the
    /// block; whether that worked. The caller is the block's owner, and the size is as before.
    pub fn fit(self, size: usize) -> bool {
        if size > LARGEST {
            return false;
        }
        let bytes = HEADER + self.lead() + size;
        // SAFETY: the block's piece, and the caller does not need more than that of it.
        unsafe { HEAP.resize(self.piece(), bytes) }
    }

    /// Changes the size, at most to the capacity. The caller is the block's owner.
    pub fn resize(self, size: usize) {
        let state = self.state() & !SIZE | size as u64;
        // SAFETY: the header of a live block.
        unsafe { (*self.header()).state.store(state, Ordering::Relaxed) };
    }

    /// Adds an extent; false when there is no room for it.
    pub fn attach(self, extent: Extent) -> bool {
        let own = self.own_extent();
        if own.hits == 0 {
            *own = extent;
            return true;
        }
        let Some(piece) = HEAP.allocate(NODE) else { return false };
        let node = piece.start.cast::<Node>().as_ptr();
        // SAFETY: a fresh piece of sufficient size; the header of a live block.
        unsafe {
            node.write(Node { next: self.first(), extent });
            self.set_first(node);
        }
        true
    }

    /// The extents, in no order, given one by one to `keep`, which may change them and says whether
    /// they stay.
    pub fn retain(self, mut keep: impl FnMut(&mut Extent) -> bool) {
        let own = self.own_extent();
        if own.hits > 0 && !keep(own) {
            *own = NO_EXTENT;
        }
        if !self.first().is_null() {
            self.retain_in_list(keep);
        }
    }

    fn retain_in_list(self, mut keep: impl FnMut(&mut Extent) -> bool) {
        let mut kept: *mut Node = core::ptr::null_mut();
        let mut node = self.first();
        while !node.is_null() {
            // SAFETY: nodes of a live block are valid, and the caller owns the block.
            unsafe {
                let next = (*node).next;
                if keep(&mut (*node).extent) {
                    (*node).next = kept;
                    kept = node;
                } else {
                    HEAP.release(NonNull::new_unchecked(node.cast()));
                }
                node = next;
            }
        }
        self.set_first(kept);
    }

    /// Whether it has extents.
    pub fn is_sample(self) -> bool {
        self.own_extent().hits > 0 || !self.first().is_null()
    }

    /// Moves all extents to `other`, which has none.
    pub fn hand_extents_to(self, other: Block) {
        other.set_first(self.first());
        self.set_first(core::ptr::null_mut());
        *other.own_extent() = core::mem::replace(self.own_extent(), NO_EXTENT);
    }

    /// Ends the block's life, if nobody else does: only then may [`release`](Self::release) follow.
    pub fn claim(self) -> bool {
        let state = self.state();
        let gone = state & SIZE | GONE;
        // SAFETY: the header of a block that was live a moment ago; its memory stays mapped.
        let header = unsafe { &*self.header() };
        state & !SIZE == LIVE
            && header
                .state
                .compare_exchange(state, gone, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// The block has been [`claim`](Self::claim)ed and has no extents left.
    pub unsafe fn release(self) {
        // SAFETY: by contract it is ours.
        unsafe { HEAP.release(self.piece()) };
    }

    /// Where the piece begins, if this is a block.
    fn piece(self) -> NonNull<u8> {
        let start = (self.address.as_ptr() as usize).wrapping_sub(HEADER + self.lead());
        NonNull::new(start as *mut u8).unwrap_or(self.address)
    }

    /// Length of the piece, if there is one.
    fn piece_bytes(self) -> Option<usize> {
        let start = self.piece().as_ptr();
        if contains(start) { HEAP.bytes_at(start as usize) } else { None }
    }

    fn is_live(self) -> bool {
        self.state() & !SIZE == LIVE
    }

    fn header(self) -> *mut Header {
        self.address.as_ptr().wrapping_sub(HEADER).cast()
    }

    fn state(self) -> u64 {
        // SAFETY: `at` and `allocate` see to it that a header lies before the block.
        unsafe { (*self.header()).state.load(Ordering::Relaxed) }
    }

    fn lead(self) -> usize {
        // SAFETY: as above.
        (unsafe { (*self.header()).links } as usize & ((1 << LEAD_BITS) - 1)) << 4
    }

    fn own_extent<'a>(self) -> &'a mut Extent {
        // SAFETY: as above; the caller owns the block, and holds one reference at a time.
        unsafe { &mut (*self.header()).extent }
    }

    fn first(self) -> *mut Node {
        // SAFETY: as above.
        let offset = unsafe { (*self.header()).links } >> LEAD_BITS;
        match offset.checked_sub(1) {
            Some(step) => (HEAP.base() + (step << 4) as usize) as *mut Node,
            None => core::ptr::null_mut(),
        }
    }

    fn set_first(self, node: *mut Node) {
        let offset =
            if node.is_null() { 0 } else { ((node as usize - HEAP.base()) as u64 >> 4) + 1 };
        // SAFETY: as above; the caller owns the block.
        unsafe {
            let links = &mut (*self.header()).links;
            *links = *links & ((1 << LEAD_BITS) - 1) | offset << LEAD_BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn extents(block: Block) -> Vec<u64> {
        let mut samples = Vec::new();
        block.retain(|extent| {
            samples.push(extent.sample);
            true
        });
        samples
    }

    #[test]
    fn blocks_are_aligned_sized_and_die_once() {
        assert!(prepare());
        for alignment in [1, 16, 32, 4096, 1 << 20] {
            for size in [0, 1, 24, 100_000] {
                let block = allocate(size, alignment).unwrap().block;
                assert!((block.address() as usize).is_multiple_of(alignment.max(16)));
                assert!(contains(block.address()) && block.capacity() >= size);
                let found = unsafe { Block::at(block.address()) }.unwrap();
                assert_eq!(found.size(), size);
                assert!(found.claim() && !found.claim());
                unsafe { found.release() };
                assert!(unsafe { Block::at(block.address()) }.is_none());
            }
        }
    }

    #[test]
    fn extents_come_go_and_move() {
        assert!(prepare());
        let block = allocate(64, 16).unwrap().block;
        for sample in 0..3 {
            assert!(block.attach(Extent { sample, first: sample, words: 1, hits: 1 }));
        }
        let mut all = extents(block);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        block.retain(|extent| extent.sample != 1);
        let other = allocate(64, 16).unwrap().block;
        block.hand_extents_to(other);
        let mut left = extents(other);
        left.sort_unstable();
        assert_eq!((extents(block).len(), left), (0, std::vec![0, 2]));
    }

    #[test]
    fn garbage_is_no_block() {
        assert!(prepare());
        let block = allocate(256, 16).unwrap().block;
        unsafe { block.address().write_bytes(0, 256) };
        assert!(unsafe { Block::at(block.address().add(8)) }.is_none());
        assert!(unsafe { Block::at(block.address().add(64)) }.is_none());
    }
}
