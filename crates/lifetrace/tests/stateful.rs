//! Sessions of a program whose allocator has contents of its own.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use lifetrace::Alloc;

/// Counts the bytes that it has given out and not got back, and does no more than it must.
struct Counting<'a>(&'a AtomicI64);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting<'_> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

static BYTES: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static ALLOC: Alloc<Counting<'static>> = Alloc::new(Counting(&BYTES));

#[test]
fn it_is_heard_like_any_other() {
    let before = BYTES.load(Ordering::Relaxed);
    support::inside::check();
    // It got back what it gave, with the same sizes.
    let more = BYTES.load(Ordering::Relaxed) - before;
    assert!(before > 0 && more.abs() < 1 << 20, "{more} bytes more than {before}");
}
