//! A heap over one range of addresses. \[UNSAFE\]
//!
//! ```text
//! Heap     the lock, and what is returned without it
//!  ├─ Spans    pieces of up to 8 KiB: spans of one size class
//!  ├─ Runs     whole pages: larger pieces and spans; split, merged, given back within a Budget
//!  └─ Range    the addresses, and the map that says what each page is
//! ```
//!
//! The range is as long as what was in use at once, give or take fragments: what is freed merges
//! with its neighbours and serves any size. A freed piece's memory stays for the next ones within a
//! [budget]; beyond it the memory (not the address) goes back to the kernel, in bulk.
//!
//! A release never waits: when the lock is taken, the piece goes on a lock-free stack, which the
//! next holder of the lock empties whole (so there is no ABA problem). An allocation waits for a
//! bounded time, and not at all if it is made by a signal handler that interrupted the holder.
//!
//! The first word of a free piece stays as the owner left it (a header survives) until the memory is
//! used for something else or given back, when it reads as zero.

mod bins;
mod budget;
mod page;
mod range;
mod runs;
mod spans;

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::tls;

use self::page::{Kind, PAGE};
use self::range::Range;
pub use self::range::{Area, SAMPLES, TABLES};
use self::runs::Runs;
use self::spans::{SMALL, Spans};
use crate::classes;

/// Larger pieces are refused, in bytes.
const LARGEST: usize = 1 << 39;

/// The budget hears of the program's allocation in steps of so many bytes.
const AGE_STEP: usize = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Heap {
    range: Range,
    lock: Lock,
    /// Who holds the lock, by an address of its own; 0 is nobody, or a fork.
    holder: AtomicUsize,
    returned: AtomicPtr<Returned>,
    age: AtomicUsize,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is touched under `lock` only.
unsafe impl Sync for Heap {}

#[derive(Debug)]
struct State {
    spans: Spans,
    runs: Runs,
}

/// A piece that was released while the lock was taken.
#[repr(C)]
#[derive(Debug)]
struct Returned {
    owner: u64,
    next: *mut Returned,
}

/// The heap is this thread's until this is dropped.
struct Locked<'a> {
    heap: &'a Heap,
    _held: Held<'a>,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Aligned to 16, and to a page if it has more than 8 KiB.
    pub start: NonNull<u8>,
    /// Its length.
    pub bytes: usize,
    /// Bytes from the start that may hold anything; the rest is zero.
    pub dirty: usize,
}

/// What a heap has handed out, and what it has, in bytes of whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// In pieces, or in spans of them.
    pub in_use: usize,
    /// The same, and what is free but resident.
    pub held: usize,
}

impl Heap {
    /// Where the range's first address and its length are in a heap, for who must read them in fewer
    /// instructions than a compiler spends on atomics.
    pub const BASE_OFFSET: usize =
        core::mem::offset_of!(Heap, range) + core::mem::offset_of!(Range, base);
    /// See [`BASE_OFFSET`](Self::BASE_OFFSET).
    pub const LENGTH_OFFSET: usize =
        core::mem::offset_of!(Heap, range) + core::mem::offset_of!(Range, length);

    /// Empty, without memory; its range will be in `area`.
    pub const fn new(area: Area) -> Self {
        Heap {
            range: Range::new(area),
            lock: Lock::new(),
            holder: AtomicUsize::new(0),
            returned: AtomicPtr::new(core::ptr::null_mut()),
            age: AtomicUsize::new(0),
            state: UnsafeCell::new(State { spans: Spans::new(), runs: Runs::new() }),
        }
    }

    /// Finds a place for the range and maps its first step, if that was not done before. Whether
    /// there is a range now.
    pub fn prepare(&self) -> bool {
        if self.range.length.load(Ordering::Acquire) != 0 {
            return true;
        }
        let Some(mut locked) = self.lock(Patience::Long) else { return false };
        if self.range.length() == 0 && self.range.settle() {
            locked.state().runs.begin(&self.range);
        }
        self.range.length() != 0
    }

    /// First address of the range.
    #[inline]
    pub fn base(&self) -> usize {
        self.range.base()
    }

    /// Whether `address` lies in the heap's range.
    #[inline(always)]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.range.base()) < self.range.length()
    }

    /// A piece of at least `bytes`; `None` when there is no room, or the lock can't be had.
    pub fn allocate(&self, bytes: usize) -> Option<Piece> {
        let mut locked = self.lock(Patience::Long)?;
        let state = locked.state();
        self.take_back(state);
        if self.age.load(Ordering::Relaxed) >= AGE_STEP {
            state.runs.age(self.age.swap(0, Ordering::Relaxed));
        }
        let piece = state.allocate(&self.range, bytes);
        state.runs.give_back(&self.range);
        piece
    }

    /// Gives a piece back.
    ///
    /// # Safety
    /// A piece of this heap begins at `start`, and nobody uses it any more.
    pub unsafe fn release(&self, start: NonNull<u8>) {
        match self.lock(Patience::None) {
            Some(mut locked) => {
                let state = locked.state();
                // SAFETY: by this function's contract.
                unsafe { state.release(&self.range, start) };
                self.take_back(state);
                state.runs.give_back(&self.range);
            }
            // SAFETY: as above.
            None => unsafe { self.hand_over(start) },
        }
    }

    /// Gives a piece of more than 8 KiB another length above that, where it is; whether that worked.
    /// It never does for smaller ones.
    ///
    /// # Safety
    /// A piece of this heap begins at `start`, it is the caller's, and what it gives up is not used
    /// any more.
    pub unsafe fn resize(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let run = self.range.page_of(start.as_ptr() as usize);
        if bytes <= SMALL || bytes > LARGEST || self.range.page(run).kind() != Kind::Large {
            return false;
        }
        let Some(mut locked) = self.lock(Patience::Long) else { return false };
        let state = locked.state();
        let resized = state.runs.resize(&self.range, run, pages_for(bytes));
        state.runs.give_back(&self.range);
        resized
    }

    /// Length of the piece that begins at `start`; `None` if there is none. A piece that was released
    /// may be found as long as its memory is not used for something else.
    ///
    /// `start` is in the heap's range.
    pub fn bytes_at(&self, start: usize) -> Option<usize> {
        let page = self.range.page_of(start);
        let run = page::PageNumber(self.range.page(page).first.get()).min(page);
        let entry = self.range.page(run);
        let bytes = entry.pages.get() as usize * PAGE;
        let offset = start - self.range.address(run).as_ptr() as usize;
        match entry.kind() {
            Kind::Large if offset == 0 => Some(bytes),
            Kind::Span if offset < bytes => spans::bytes_at(&self.range, run, start),
            _ => None,
        }
    }

    /// What is in use now; `None` if the lock is taken.
    pub fn totals(&self) -> Option<Totals> {
        let (in_use, held) = self.lock(Patience::None)?.state().runs.totals();
        Some(Totals { in_use, held })
    }

    /// The program has allocated about so many bytes, here or elsewhere: memory that stayed unused
    /// meanwhile may go back to the kernel.
    pub fn age(&self, bytes: usize) {
        self.age.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Holds the heap still, for a fork; see [`thaw`](Self::thaw).
    pub fn freeze(&self) -> Option<Held<'_>> {
        self.lock.acquire(Patience::Long)
    }

    /// Ends a freeze whose holder was forgotten, or is not in this process.
    pub fn thaw(&self) {
        self.holder.store(0, Ordering::Relaxed);
        self.lock.reset();
    }

    fn lock(&self, patience: Patience) -> Option<Locked<'_>> {
        let held = match self.lock.acquire(Patience::None) {
            Some(held) => held,
            None if self.holder.load(Ordering::Relaxed) == this_thread() => return None,
            None => self.lock.acquire(patience)?,
        };
        self.holder.store(this_thread(), Ordering::Relaxed);
        Some(Locked { heap: self, _held: held })
    }

    /// # Safety
    /// As for [`release`](Self::release).
    unsafe fn hand_over(&self, start: NonNull<u8>) {
        let piece = start.cast::<Returned>().as_ptr();
        let mut first = self.returned.load(Ordering::Relaxed);
        loop {
            // SAFETY: by contract the piece is ours to write.
            unsafe { (*piece).next = first };
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

    #[inline]
    fn take_back(&self, state: &mut State) {
        if !self.returned.load(Ordering::Relaxed).is_null() {
            self.take_all_back(state);
        }
    }

    #[cold]
    fn take_all_back(&self, state: &mut State) {
        let mut piece = self.returned.swap(core::ptr::null_mut(), Ordering::Acquire);
        while let Some(start) = NonNull::new(piece.cast::<u8>()) {
            // SAFETY: whoever handed it over wrote its link, and it is nobody's but ours now.
            unsafe {
                piece = (*piece).next;
                state.release(&self.range, start);
            }
        }
    }
}

impl Locked<'_> {
    fn state(&mut self) -> &mut State {
        // SAFETY: the lock is this one's, and it lends the state to one at a time.
        unsafe { &mut *self.heap.state.get() }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.heap.holder.store(0, Ordering::Relaxed);
    }
}

impl State {
    fn allocate(&mut self, range: &Range, bytes: usize) -> Option<Piece> {
        if range.length() == 0 || bytes > LARGEST {
            return None;
        }
        if bytes <= SMALL {
            let class = classes::index(bytes);
            let start = self.spans.allocate(range, &mut self.runs, class)?;
            let bytes = classes::bytes(class);
            return Some(Piece { start, bytes, dirty: bytes });
        }
        let pages = pages_for(bytes);
        let fresh = self.runs.allocate(range, pages, Kind::Large)?;
        Some(Piece {
            start: range.address(fresh.run),
            bytes: pages as usize * PAGE,
            dirty: fresh.dirty as usize * PAGE,
        })
    }

    /// # Safety
    /// As for [`Heap::release`].
    unsafe fn release(&mut self, range: &Range, start: NonNull<u8>) {
        let page = range.page_of(start.as_ptr() as usize);
        let run = page::PageNumber(range.page(page).first.get());
        match range.page(run).kind() {
            // SAFETY: by this function's contract.
            Kind::Span => unsafe { self.spans.release(range, &mut self.runs, run, start) },
            Kind::Large => self.runs.release(range, run),
            Kind::Free | Kind::Inside => {}
        }
    }
}

/// An address that no other thread has.
fn this_thread() -> usize {
    tls::identity()
}

fn pages_for(bytes: usize) -> u32 {
    bytes.div_ceil(PAGE) as u32
}

#[cfg(test)]
mod tests;
