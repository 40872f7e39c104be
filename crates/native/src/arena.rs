//! The agent's private allocator, for the few tables that are rebuilt when modules come and go.
//! \[UNSAFE\]
//!
//! Nothing of ours may go through the malloc that we hook. The preload library makes this its
//! global allocator; it draws on the kernel alone.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

use crate::classes;
use crate::heap::Heap;

/// Address space that the tables may take at most, and make do with at least, in bytes.
const MOST: usize = 1 << 30;
const LEAST: usize = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub struct Arena {
    heap: Heap,
}

impl Arena {
    /// Empty; reserves addresses at its first use.
    pub const fn new() -> Self {
        Arena { heap: Heap::new() }
    }

    /// The heap behind it.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }
}

// SAFETY: pieces are distinct, as large as asked for, and aligned to 16; greater alignments are
// refused.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > classes::QUANTUM || !self.heap.reserve(budget(), LEAST) {
            return core::ptr::null_mut();
        }
        let piece = self.heap.allocate(layout.size());
        piece.map_or(core::ptr::null_mut(), |piece| piece.start.as_ptr())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if let Some(start) = NonNull::new(pointer) {
            // SAFETY: the pointer came from `alloc` with this layout, so it is of this class.
            unsafe { self.heap.release(start, classes::index(layout.size())) };
        }
    }
}

fn budget() -> usize {
    lifetrace_agent::sys::address_space_limit()
        .map_or(MOST, |limit| (limit / 64).min(MOST as u64) as usize)
        .max(LEAST)
        .next_multiple_of(4096)
}
