//! Pairs of allocations and releases, for callgrind to count. As a program of its own, by the system's
//! allocator.

use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;

pub const PAIRS: u64 = 100_000;

#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn lifetrace_test_pairs() {
    for size in 0..PAIRS {
        let layout = Layout::from_size_align(black_box(16 + size as usize % 100), 8).unwrap();
        // SAFETY: blocks of a layout with a size, which are freed as they were allocated.
        unsafe { dealloc(black_box(alloc(layout)), layout) };
    }
}

/// In another thread than the first, as tests run: glibc takes another way there.
#[allow(dead_code)]
fn main() {
    std::thread::spawn(|| lifetrace_test_pairs()).join().unwrap();
}
