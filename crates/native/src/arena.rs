//! The agent's private allocator, for the few tables that are rebuilt when modules come and go.
//! \[UNSAFE\]
//!
//! Nothing of ours may go through the malloc that we hook. The preload library makes [`Arena`] its
//! global allocator; it draws on the kernel alone. Tables can't do without memory once they are
//! being built, so the first megabytes are secured at the start, or there is no recording.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

use crate::classes;
use crate::heap::{Heap, Piece, TABLES};

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

fn allocate(layout: Layout) -> Option<Piece> {
    if layout.align() > classes::QUANTUM || !HEAP.prepare() {
        return None;
    }
    HEAP.age(layout.size());
    HEAP.allocate(layout.size())
}

// SAFETY: pieces are distinct, as large as asked for, and aligned to 16; greater alignments are
// refused.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocate(layout).map_or(core::ptr::null_mut(), |piece| piece.start.as_ptr())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(piece) = allocate(layout) else { return core::ptr::null_mut() };
        // SAFETY: the piece is ours, and that long. What is not dirty is zero, and stays untouched.
        unsafe { piece.start.write_bytes(0, piece.dirty.min(layout.size())) };
        piece.start.as_ptr()
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _layout: Layout) {
        if let Some(start) = NonNull::new(pointer) {
            // SAFETY: the pointer came from `alloc`, and by contract nobody uses it any more.
            unsafe { HEAP.release(start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_as_zero_is_zero() {
        for bytes in [100, 100_000] {
            let layout = Layout::from_size_align(bytes, 8).unwrap();
            for _ in 0..100 {
                // SAFETY: allocations of that length, given up once.
                unsafe {
                    let block = Arena.alloc_zeroed(layout);
                    let contents = core::slice::from_raw_parts_mut(block, bytes);
                    assert!(contents.iter().all(|&byte| byte == 0));
                    contents.fill(1);
                    Arena.dealloc(block, layout);
                }
            }
        }
    }
}
