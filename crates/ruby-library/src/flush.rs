//! What is live now, as a profile. \[UNSAFE\]
//!
//! What a program asks for is to have all that it has done so far. The recorder is behind; so a mark is sent, and when
//! the heap has that, it has all before.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lifetrace_pprof::heap::{First, encode};
use lifetrace_recorder::heap::{Heap, Snapshot};
use lifetrace_ruby::linked;

/// For so long a thread is not to be interrupted.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(50);

const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What the marks are called in a trace.
const FLUSHES: &str = "flushes";

static MARKS: AtomicU64 = AtomicU64::new(0);

/// A profile, and what it rests on.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) bytes: Vec<u8>,
    /// Sampled objects that live.
    pub(crate) live: u64,
    /// All that were sampled.
    pub(crate) samples: u64,
    /// Events that were lost.
    pub(crate) lost: u64,
    /// How long it is since sampling began.
    pub(crate) nanoseconds: u64,
}

/// Which profile is wanted.
pub(crate) fn first(name: &[u8]) -> First {
    match name {
        b"allocated" => First::Allocated,
        _ => First::InUse,
    }
}

/// Puts a mark behind all that has happened; its number. To be called with the machine's lock, by a method.
pub(crate) fn send_mark() -> u64 {
    let mark = MARKS.fetch_add(1, Ordering::Relaxed) + 1;
    // SAFETY: as this is to be called.
    unsafe { linked::send_names() };
    linked::send_count(FLUSHES.as_bytes(), mark);
    mark
}

/// Waits until the recorder has taken most of what was sent, or [`LONGEST_WAIT`] is over.
pub(crate) fn wait_for_room() {
    wait_until(|| linked::has_room().then_some(()));
}

/// The profile of a heap that has come to the mark; `None` if it has not within [`LONGEST_WAIT`].
///
/// # Errors
/// With what the user should read.
pub(crate) fn profile(heap: &Heap, mark: u64, first: First) -> Result<Option<Profile>, String> {
    let pid = process::id();
    let has_come = || (heap.count(pid, FLUSHES) >= mark).then_some(());
    let snapshot = wait_until(has_come).and_then(|()| heap.snapshot(pid));
    snapshot.map(|snapshot| profile_of(&snapshot, first)).transpose()
}

fn profile_of(snapshot: &Snapshot, first: First) -> Result<Profile, String> {
    let nanoseconds = u64::try_from(snapshot.duration().as_nanos()).unwrap_or(u64::MAX);
    Ok(Profile {
        bytes: encode(snapshot, first).map_err(|error| error.to_string())?,
        live: snapshot.live_samples(),
        samples: snapshot.blocks.iter().map(|blocks| blocks.allocated.blocks).sum(),
        lost: snapshot.lost,
        nanoseconds,
    })
}

fn wait_until<T>(mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + LONGEST_WAIT;
    loop {
        let found = done();
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        sleep(LOOK_AGAIN);
    }
}
