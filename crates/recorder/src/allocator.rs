//! The allocator of a recorder without glibc. \[UNSAFE\]
//!
//! musl's own takes two and a half times as long for a report. `dlmalloc` keeps to itself what has been freed, which a
//! recorder that runs for months should not, so large blocks stay with musl: it gives them back to the system at once.

use std::alloc::{GlobalAlloc, Layout, System};

use dlmalloc::GlobalDlmalloc;

/// In bytes.
const LARGE: usize = 128 << 10;

/// Small blocks by `dlmalloc`, large ones by musl.
pub struct Allocator;

// SAFETY: both are allocators, and a block goes back to the one that it is from, which its size tells.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by contract.
        unsafe {
            if is_large(layout.size()) {
                System.alloc(layout)
            } else {
                GlobalDlmalloc.alloc(layout)
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by contract.
        unsafe {
            if is_large(layout.size()) {
                System.alloc_zeroed(layout)
            } else {
                GlobalDlmalloc.alloc_zeroed(layout)
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe {
            if is_large(layout.size()) {
                System.dealloc(block, layout)
            } else {
                GlobalDlmalloc.dealloc(block, layout)
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by contract.
        unsafe {
            match (is_large(layout.size()), is_large(size)) {
                (true, true) => System.realloc(block, layout, size),
                (false, false) => GlobalDlmalloc.realloc(block, layout, size),
                _ => moved(block, layout, size),
            }
        }
    }
}

fn is_large(size: usize) -> bool {
    size >= LARGE
}

/// # Safety
/// That of `realloc`.
unsafe fn moved(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: by contract; both blocks have what is copied, and do not overlap.
    unsafe {
        let new = Allocator.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !new.is_null() {
            new.copy_from_nonoverlapping(block, size.min(layout.size()));
            Allocator.dealloc(block, layout);
        }
        new
    }
}
