//! A program's own eyes on sampled blocks: the callbacks of OCaml's `Gc.Memprof`, for Rust.
//!
//! # When they are called
//!
//! An *inline* tracker ([`Recording::tracker`](crate::Recording::tracker)) is called on the thread that
//! allocates or frees, at the end of the allocator's call and outside of the profiler, with these rules:
//!
//! - What it allocates is not sampled, and it is never called while it is being called on the same thread:
//!   blocks that it frees itself, allocated elsewhere, it hears of as soon as the call has returned.
//! - It may be called by several threads at a time, and wherever the program allocates: **inside any
//!   critical section of the program**. So it must not wait for a lock that the program holds while it
//!   allocates. A lock of its own is fine, if the program allocates nothing under it: who looks at what
//!   a tracker has collected does so [`untracked`]. It must not borrow a `RefCell` that the program has borrowed; [`Cell`](std::cell::Cell)s are fine.
//! - A panic does not reach the program: it ends the call, and is [counted](crate::Summary::tracker_panics).
//! - It cannot start, stop, or look at sessions.
//!
//! A *deferred* one ([`Recording::deferred_tracker`](crate::Recording::deferred_tracker)) is called on a
//! thread of its own, soon after, with the same rules but the second: it may wait for
//! whatever it likes, as `Gc.Memprof` postpones callbacks that it cannot run at once. As long as
//! 65,536 events wait for it, births are [counted](crate::Summary::tracker_missed) and not told; with four
//! times as many, deaths as well.
//!
//! # Metadata
//!
//! What [`alloc`](Tracker::alloc) returns is owned by the session, and given back when the block dies. It
//! never keeps a block alive. That of a block that outlives the session is dropped when that ends: at the
//! latest when the last callback under way has returned.

mod life;

use crate::listening;
pub use life::{Allocation, Release, Source, Tracker};

/// Does `work`, of which nothing is sampled, and no tracker is told before it is done: so it may hold a lock
/// that a tracker takes.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use lifetrace::tracker::untracked;
///
/// static BY_THREAD: Mutex<Option<HashMap<u32, u64>>> = Mutex::new(None); // which a tracker fills
/// let now: Option<HashMap<u32, u64>> = untracked(|| BY_THREAD.lock().unwrap().clone());
/// ```
pub fn untracked<T>(work: impl FnOnce() -> T) -> T {
    listening::untracked(work)
}
