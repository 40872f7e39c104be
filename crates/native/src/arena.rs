//! The agent's private allocator: for its table of samples, and for what is rebuilt when modules come and
//! go. \[UNSAFE\]
//!
//! Nothing of ours may go through the malloc that we hook. The preload library makes [`Arena`] its
//! global allocator; it draws on the kernel alone. Tables can't do without memory once they are
//! being built, so the first megabytes are secured at the start, or there is no recording.
//!
//! The allocator is [`dlmalloc`]; ours are its pages, and a lock that never waits for ever.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use allocator_api2::alloc::{AllocError, Allocator};
use dlmalloc::Dlmalloc;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::{sys, tls};

const PAGE: usize = 4096;

/// Secured at the start. Who touches none of it takes no memory.
const RESERVE: usize = 4 << 20;

/// The agent's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arena;

static LOCK: Lock = Lock::new();

/// Who holds the lock, by its [`tls::identity`]; 0 is nobody, or a fork.
static HOLDER: AtomicUsize = AtomicUsize::new(0);

/// Where what is left of the reserve begins, and its length.
static RESERVED: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

struct AgentHeap(UnsafeCell<Dlmalloc<Pages>>);

// SAFETY: touched under `LOCK` only.
unsafe impl Sync for AgentHeap {}

static HEAP: AgentHeap = AgentHeap(UnsafeCell::new(Dlmalloc::new_with_allocator(Pages)));

/// Where the heap's memory comes from.
struct Pages;

/// Secures memory for the tables; whether there is any.
pub fn prepare() -> bool {
    if RESERVED[0].load(Ordering::Acquire) != 0 {
        return true;
    }
    let Some(start) = sys::map(RESERVE) else { return false };
    // Tables are small and spread: huge pages would make them large.
    sys::avoid_huge_pages(start, RESERVE);
    RESERVED[1].store(RESERVE, Ordering::Relaxed);
    RESERVED[0].store(start.as_ptr() as usize, Ordering::Release);
    true
}

/// Holds the arena still, for a fork; see [`thaw`].
pub fn freeze() -> Option<Held<'static>> {
    LOCK.acquire(Patience::Long)
}

/// Ends a freeze whose holder was forgotten, or is not in this process.
pub fn thaw() {
    HOLDER.store(0, Ordering::Relaxed);
    LOCK.reset();
}

/// Does `work` with the heap. `None` if another thread keeps it for too long, or if this one has it: a
/// signal handler has interrupted it.
fn with_heap<T>(work: impl FnOnce(&mut Dlmalloc<Pages>) -> T) -> Option<T> {
    let held = match LOCK.acquire(Patience::None) {
        Some(held) => held,
        None if HOLDER.load(Ordering::Relaxed) == tls::identity() => return None,
        None => LOCK.acquire(Patience::Long)?,
    };
    HOLDER.store(tls::identity(), Ordering::Relaxed);
    // SAFETY: under the lock.
    let result = work(unsafe { &mut *HEAP.0.get() });
    HOLDER.store(0, Ordering::Relaxed);
    drop(held);
    Some(result)
}

// SAFETY: what is handed out is fresh memory of that length, aligned to a page.
unsafe impl dlmalloc::Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let size = size.next_multiple_of(PAGE);
        let start = reserved(size).or_else(|| sys::map(size));
        start.map_or((null_mut(), 0, 0), |start| (start.as_ptr(), size, 0))
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, start: *mut u8, size: usize) -> bool {
        let Some(start) = NonNull::new(start) else { return false };
        // SAFETY: whole pages that `alloc` has mapped and that nobody uses any more.
        unsafe { sys::unmap(start, size) };
        true
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

/// A part of the reserve, under the lock; `None` if not so much is left.
fn reserved(size: usize) -> Option<NonNull<u8>> {
    let left = RESERVED[1].load(Ordering::Relaxed);
    let rest = left.checked_sub(size)?;
    let start = RESERVED[0].load(Ordering::Relaxed) + rest;
    RESERVED[1].store(rest, Ordering::Relaxed);
    NonNull::new(start as *mut u8)
}

// SAFETY: blocks of the heap are distinct, as large as asked for and aligned.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and alignment will do.
        with_heap(|heap| unsafe { heap.malloc(size, align) }).unwrap_or(null_mut())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        with_heap(|heap| unsafe { heap.calloc(size, align) }).unwrap_or(null_mut())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: by contract the heap's, and nobody's any more. If it can't be had, the block is lost.
        with_heap(|heap| unsafe { heap.free(block, size, align) });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: by contract the heap's.
        with_heap(|heap| unsafe { heap.realloc(block, size, align, new_size) })
            .unwrap_or(null_mut())
    }
}

// SAFETY: all arenas are one, whose blocks live until they are freed.
unsafe impl Allocator for Arena {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: `GlobalAlloc` asks for a size, which our heap does not need.
        let block = NonNull::new(unsafe { GlobalAlloc::alloc(self, layout) }).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: by contract.
        unsafe { GlobalAlloc::dealloc(self, block.as_ptr(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_distinct_aligned_and_zero_where_they_are_to_be() {
        assert!(prepare());
        for (bytes, align) in [(100, 8), (100_000, 8), (64, 64), (5 << 20, 16)] {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            for _ in 0..50 {
                // SAFETY: allocations of that length, given up once.
                unsafe {
                    let block = Arena.alloc_zeroed(layout);
                    assert!((block as usize).is_multiple_of(align) && !block.is_null());
                    let contents = core::slice::from_raw_parts_mut(block, bytes);
                    assert!(contents.iter().all(|&byte| byte == 0));
                    contents.fill(1);
                    Arena.dealloc(block, layout);
                }
            }
        }
    }

    #[test]
    fn what_is_larger_than_memory_is_refused() {
        assert!(prepare());
        let layout = Layout::from_size_align(1 << 62, 8).unwrap();
        // SAFETY: a size.
        assert!(unsafe { Arena.alloc(layout) }.is_null());
    }
}
