//! A heap over one range of addresses: bump allocation, then free lists by class. \[UNSAFE\]
//!
//! ```text
//! base                  top             base + length               LARGEST
//!  │ pieces of any class │ free, zeroed  │ not mapped: grows into here │
//! ```
//!
//! The range grows at its end, by mappings that the kernel refuses if somebody else is there. Nothing
//! is reserved: what a program may map under its limits is what it uses. The base is somewhere at
//! random in a part of the address space where the kernel puts nothing by itself.
//!
//! Pieces never merge or split, so the heap is as large as the sum of each class's peak; when the range
//! can't grow any more, a free piece of a larger class will do. A freed
//! large piece keeps its memory for the next one of its class, within a budget for all; beyond it
//! the memory (not the address) goes back to the kernel.
//!
//! A release never waits: when the lock is taken, the piece goes on a lock-free stack, which the
//! next holder of the lock empties whole (so there is no ABA problem). An allocation waits for a
//! bounded time.
//!
//! Free pieces are linked through their second word; the first is the owner's (a header survives).

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::sys;

use crate::classes;

const PAGE: usize = 4096;

/// Pieces from here on start at a page, and their memory can be given back.
const LARGE: usize = 64 * 1024;

/// Memory that free large pieces may keep between them, in bytes.
const LARGE_BUDGET: usize = 4 * 1024 * 1024;

/// The range grows in steps of this, or of the piece if that is larger.
const STEP: usize = 4 * 1024 * 1024;

/// The range never grows beyond this.
const LARGEST: usize = 1 << 40;

/// Where bases lie: from here on, at one of so many places, [`LARGEST`] apart.
#[cfg(target_pointer_width = "64")]
const FIRST_BASE: usize = 0x2000_0000_0000;
const BASES: usize = 16;

/// Bases are tried this often.
const ATTEMPTS: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Heap {
    base: AtomicUsize,
    length: AtomicUsize,
    lock: Lock,
    returned: AtomicPtr<Free>,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is touched under `lock` only.
unsafe impl Sync for Heap {}

#[derive(Debug)]
struct State {
    /// Offset of the first byte never handed out.
    top: usize,
    /// Bytes of free large pieces that kept their memory.
    kept: usize,
    free: [*mut Free; classes::COUNT],
}

/// A free piece.
#[repr(C)]
#[derive(Debug)]
struct Free {
    owner: u64,
    next: *mut Free,
    /// Present in pieces of 32 bytes and more, which is all large ones.
    kept_memory: bool,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Aligned to 16, and to a page if large.
    pub start: NonNull<u8>,
    /// Its class.
    pub class: usize,
    /// Bytes from the start that may hold anything; the rest is zero.
    pub dirty: usize,
}

impl Heap {
    /// Where the range's first address and its length are in a heap, for who must read them in fewer
    /// instructions than a compiler spends on atomics.
    pub const BASE_OFFSET: usize = core::mem::offset_of!(Heap, base);
    /// See [`BASE_OFFSET`](Self::BASE_OFFSET).
    pub const LENGTH_OFFSET: usize = core::mem::offset_of!(Heap, length);

    /// Empty, without memory.
    pub const fn new() -> Self {
        Heap {
            base: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            lock: Lock::new(),
            returned: AtomicPtr::new(core::ptr::null_mut()),
            state: UnsafeCell::new(State {
                top: 0,
                kept: 0,
                free: [core::ptr::null_mut(); classes::COUNT],
            }),
        }
    }

    /// Finds a place for the range and maps its first step, if that was not done before. Whether
    /// there is a range now.
    pub fn prepare(&self) -> bool {
        if self.length.load(Ordering::Acquire) != 0 {
            return true;
        }
        let Some(_held) = self.lock.acquire(Patience::Long) else { return false };
        for _ in 0..ATTEMPTS {
            if self.length.load(Ordering::Relaxed) != 0 {
                break;
            }
            let random = sys::entropy() as usize;
            let offset = (random / BASES % (LARGEST / 2)) & !(STEP - 1);
            let base = FIRST_BASE + random % BASES * LARGEST + offset;
            if sys::map_at(base, STEP) {
                self.base.store(base, Ordering::Relaxed);
                self.grown_to(STEP, base, STEP);
            }
        }
        self.length.load(Ordering::Relaxed) != 0
    }

    /// First address of the range.
    #[inline]
    pub fn base(&self) -> usize {
        self.base.load(Ordering::Relaxed)
    }

    /// Whether `address` lies in the heap's range.
    #[inline(always)]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base()) < self.length.load(Ordering::Relaxed)
    }

    /// A piece of at least `bytes`; `None` when there is no room, or the lock can't be had.
    pub fn allocate(&self, bytes: usize) -> Option<Piece> {
        let class = classes::index(bytes);
        if class >= classes::COUNT {
            return None;
        }
        let held = self.lock.acquire(Patience::Long)?;
        let state = self.state(&held);
        self.take_back(state);
        state
            .pop(class)
            .or_else(|| self.bump(state, class))
            .or_else(|| (class + 1..classes::COUNT).find_map(|larger| state.pop(larger)))
    }

    /// Gives a piece back.
    ///
    /// # Safety
    /// The piece is of this heap and `class`, and nobody uses it any more.
    pub unsafe fn release(&self, start: NonNull<u8>, class: usize) {
        let piece = start.cast::<Free>().as_ptr();
        match self.lock.acquire(Patience::None) {
            Some(held) => {
                let state = self.state(&held);
                // SAFETY: by this function's contract.
                unsafe { state.push(piece, class) };
                self.take_back(state);
            }
            // SAFETY: as above.
            None => unsafe { self.hand_over(piece, class) },
        }
    }

    /// Holds the heap still, for a fork; see [`thaw`](Self::thaw).
    pub fn freeze(&self) -> Option<Held<'_>> {
        self.lock.acquire(Patience::Long)
    }

    /// Ends a freeze whose holder was forgotten, or is not in this process.
    pub fn thaw(&self) {
        self.lock.reset();
    }

    #[expect(clippy::mut_from_ref, reason = "the lock is the proof of exclusive use")]
    fn state<'a>(&'a self, _held: &'a Held<'_>) -> &'a mut State {
        // SAFETY: `_held` is the lock of this heap, and each holder calls this once.
        unsafe { &mut *self.state.get() }
    }

    fn bump(&self, state: &mut State, class: usize) -> Option<Piece> {
        let bytes = classes::bytes(class);
        let start = if bytes >= LARGE { state.top.next_multiple_of(PAGE) } else { state.top };
        let end = start.checked_add(bytes)?;
        if !self.grow(end) {
            return None;
        }
        state.top = end;
        Some(Piece { start: self.at(start)?, class, dirty: 0 })
    }

    /// Makes the range reach `end`. The caller holds the lock.
    fn grow(&self, end: usize) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        if end <= length {
            return true;
        }
        let target = end.next_multiple_of(STEP);
        let start = self.base() + length;
        let grown = length > 0 && target <= LARGEST / 2 && sys::map_at(start, target - length);
        if grown {
            self.grown_to(target, start, target - length);
        }
        grown
    }

    fn grown_to(&self, length: usize, start: usize, bytes: usize) {
        if let Some(start) = NonNull::new(start as *mut u8) {
            sys::avoid_huge_pages(start, bytes);
        }
        self.length.store(length, Ordering::Release);
    }

    fn at(&self, offset: usize) -> Option<NonNull<u8>> {
        NonNull::new((self.base.load(Ordering::Relaxed) + offset) as *mut u8)
    }

    /// # Safety
    /// As for [`release`](Self::release).
    unsafe fn hand_over(&self, piece: *mut Free, class: usize) {
        let mut first = self.returned.load(Ordering::Relaxed);
        loop {
            // The owner is done with its word: the class travels in it.
            // SAFETY: by contract the piece is ours to write.
            unsafe {
                (*piece).owner = class as u64;
                (*piece).next = first;
            }
            match self.returned.compare_exchange_weak(
                first,
                piece,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    fn take_back(&self, state: &mut State) {
        if self.returned.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut piece = self.returned.swap(core::ptr::null_mut(), Ordering::Acquire);
        while !piece.is_null() {
            // SAFETY: whoever handed it over wrote both words, and it is nobody's but ours now.
            unsafe {
                let next = (*piece).next;
                state.push(piece, (*piece).owner as usize);
                piece = next;
            }
        }
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn pop(&mut self, class: usize) -> Option<Piece> {
        let piece = NonNull::new(self.free[class])?;
        let bytes = classes::bytes(class);
        // SAFETY: pieces on the free list are valid and ours.
        let dirty = unsafe {
            self.free[class] = piece.as_ref().next;
            if bytes < LARGE || piece.as_ref().kept_memory { bytes } else { PAGE }
        };
        if bytes >= LARGE && dirty == bytes {
            self.kept -= bytes;
        }
        Some(Piece { start: piece.cast(), class, dirty })
    }

    /// # Safety
    /// The piece is of this class and nobody else's.
    unsafe fn push(&mut self, piece: *mut Free, class: usize) {
        let bytes = classes::bytes(class);
        // SAFETY: by this function's contract; large pieces are whole pages from a page's start.
        unsafe {
            (*piece).next = self.free[class];
            if bytes >= LARGE {
                let keep = self.kept + bytes <= LARGE_BUDGET;
                (*piece).kept_memory = keep;
                if keep {
                    self.kept += bytes;
                } else if let Some(rest) = NonNull::new(piece.cast::<u8>().add(PAGE)) {
                    (*piece).kept_memory = !sys::discard(rest, bytes - PAGE);
                    self.kept += if (*piece).kept_memory { bytes } else { 0 };
                }
            }
        }
        self.free[class] = piece;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::vec::Vec;

    use super::*;

    fn heap() -> Heap {
        let heap = Heap::new();
        assert!(heap.prepare());
        heap
    }

    #[test]
    fn pieces_do_not_overlap_and_are_zero_where_not_dirty() {
        let heap = heap();
        let mut random = lifetrace_agent::random::Random::new(1, 1);
        let mut live: HashMap<usize, (usize, usize, u8)> = HashMap::new();
        for round in 0..20_000u32 {
            if random.word().is_multiple_of(3) && !live.is_empty() {
                let key = *live.keys().next().unwrap();
                let (bytes, class, mark) = live.remove(&key).unwrap();
                let contents = unsafe { core::slice::from_raw_parts(key as *const u8, bytes) };
                assert!(contents.iter().all(|byte| *byte == mark));
                unsafe { heap.release(NonNull::new(key as *mut u8).unwrap(), class) };
                continue;
            }
            let bytes = 16 + (random.word() % (1 << (random.word() % 18))) as usize;
            let Some(piece) = heap.allocate(bytes) else { continue };
            let size = classes::bytes(piece.class);
            assert!(size >= bytes && heap.contains(piece.start.as_ptr() as usize));
            let contents = unsafe { core::slice::from_raw_parts_mut(piece.start.as_ptr(), size) };
            assert!(contents[piece.dirty..].iter().all(|byte| *byte == 0));
            let mark = round as u8 | 1;
            contents.fill(mark);
            assert!(
                live.insert(piece.start.as_ptr() as usize, (size, piece.class, mark)).is_none()
            );
        }
    }

    #[test]
    fn a_release_never_waits_for_the_lock() {
        let heap = heap();
        let piece = heap.allocate(100).unwrap();
        let frozen = heap.freeze().unwrap();
        unsafe { heap.release(piece.start, piece.class) };
        drop(frozen);
        assert_eq!(heap.allocate(100).unwrap().start, piece.start);
    }

    #[test]
    fn a_full_heap_says_so_and_recovers() {
        let heap = heap();
        // Somebody else maps what follows the range.
        assert!(sys::map_at(heap.base() + STEP, 4096));
        let pieces: Vec<Piece> = core::iter::from_fn(|| heap.allocate(1000)).collect();
        assert!(pieces.len() > 4000 && heap.allocate(1 << 30).is_none());
        assert!(!heap.contains(heap.base() + STEP));
        unsafe { heap.release(pieces[0].start, pieces[0].class) };
        let smaller = heap.allocate(50).unwrap();
        assert_eq!((smaller.start, smaller.class), (pieces[0].start, pieces[0].class));
        assert!(heap.allocate(50).is_none());
        unsafe { heap.release(smaller.start, smaller.class) };
        assert!(heap.allocate(1000).is_some());
    }

    #[test]
    fn large_pieces_give_their_memory_back_beyond_the_budget() {
        let heap = heap();
        let piece = heap.allocate(100 << 20).unwrap();
        unsafe {
            piece.start.as_ptr().add(50 << 20).write(7);
            heap.release(piece.start, piece.class);
        }
        let again = heap.allocate(100 << 20).unwrap();
        assert_eq!((again.start, again.dirty), (piece.start, PAGE));
        assert_eq!(unsafe { again.start.as_ptr().add(50 << 20).read() }, 0);
    }
}
