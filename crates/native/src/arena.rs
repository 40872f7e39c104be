//! The agent's private allocator, for the few tables that are rebuilt when modules come and go.
//! \[UNSAFE\]
//!
//! Nothing of ours may go through the malloc that we hook. The preload library makes [`Arena`] its
//! global allocator; it draws on the kernel alone. Tables can't do without memory once they are
//! being built, so the first megabytes are secured at the start, or there is no recording.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

use crate::classes;
use crate::heap::{Heap, TABLES};

static HEAP: Heap = Heap::new(TABLES);

/// See the module.
#[derive(Debug)]
pub struct Arena;

/// The heap behind it.
pub fn heap() -> &'static Heap {
    &HEAP
}

/// Secures memory for the tables; whether there is any.
pub fn prepare() -> bool {
    HEAP.prepare()
}

// SAFETY: pieces are distinct, as large as asked for, and aligned to 16; greater alignments are
// refused.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > classes::QUANTUM || !HEAP.prepare() {
            return core::ptr::null_mut();
        }
        HEAP.age(layout.size());
        let piece = HEAP.allocate(layout.size());
        piece.map_or(core::ptr::null_mut(), |piece| piece.start.as_ptr())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _layout: Layout) {
        if let Some(start) = NonNull::new(pointer) {
            // SAFETY: the pointer came from `alloc`, and by contract nobody uses it any more.
            unsafe { HEAP.release(start) };
        }
    }
}
