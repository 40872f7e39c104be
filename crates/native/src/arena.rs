//! The agent's private allocator, for the few tables that are rebuilt when modules come and go.
//! \[UNSAFE\]
//!
//! Nothing of ours may go through the malloc that we hook. The preload library makes [`Arena`] its
//! global allocator; it draws on the kernel alone. Tables can't do without memory once they are
//! being built, so the first megabytes are secured at the start, or there is no recording.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

use crate::classes;
use crate::heap::Heap;

/// Address space that the tables may take at most, and make do with at least, in bytes.
const MOST: usize = 1 << 30;
const LEAST: usize = 4 << 20;

/// Of a limited address space, the arena takes one part in this many.
const SHARE_OF_LIMIT: u64 = 64;

static HEAP: Heap = Heap::new();

/// See the module.
#[derive(Debug)]
pub struct Arena;

/// The heap behind it.
pub fn heap() -> &'static Heap {
    &HEAP
}

/// Secures memory for the tables; whether there is any.
pub fn prepare() -> bool {
    let Some(piece) = reserve().then(|| HEAP.allocate(classes::QUANTUM)).flatten() else {
        return false;
    };
    // SAFETY: allocated a line ago, and nobody knows it.
    unsafe { HEAP.release(piece.start, piece.class) };
    true
}

// SAFETY: pieces are distinct, as large as asked for, and aligned to 16; greater alignments are
// refused.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > classes::QUANTUM || !reserve() {
            return core::ptr::null_mut();
        }
        let piece = HEAP.allocate(layout.size());
        piece.map_or(core::ptr::null_mut(), |piece| piece.start.as_ptr())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if let Some(start) = NonNull::new(pointer) {
            // SAFETY: the pointer came from `alloc` with this layout, so it is of this class.
            unsafe { HEAP.release(start, classes::index(layout.size())) };
        }
    }
}

fn reserve() -> bool {
    let most = lifetrace_agent::sys::address_space_limit()
        .map_or(MOST, |limit| ((limit / SHARE_OF_LIMIT) as usize).min(MOST) & !0xfff);
    HEAP.reserve(most.max(LEAST), LEAST)
}
