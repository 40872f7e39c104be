//! What a piece of code allocates and leaks, exactly: for tests.
//!
//! ```
//! #[global_allocator]
//! static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();
//!
//! fn parse(text: &str) -> Vec<u32> {
//!     text.split(' ').filter_map(|word| word.parse().ok()).collect()
//! }
//!
//! # fn main() {
//! // In a #[test]:
//! let m = lifetrace::testing::measure(|| parse("1 2 3 4 5 6"));
//! assert_eq!(m.leaked_bytes, 0, "{m}");
//! assert_eq!(m.allocated_blocks, 1, "{m}");
//! assert!(m.peak_bytes <= 64, "{m}");
//! # }
//! ```
//!
//! Nothing is estimated: all blocks are heard, each with its backtrace, so that a measurement, when it is
//! printed, says who has leaked. What that costs, a backtrace and some locks for each block, all threads pay as
//! long as there is a measurement.
//!
//! Measurements of several threads go on side by side, so tests need not take turns: those of one program run in
//! threads under `cargo test`, in processes of their own under nextest, and either is right. Only
//! a [session](crate::Recording) of the program's own, or `lifetrace record`, leaves no room for them.
//!
//! What is allocated once and for all, by a lazy static or a thread's first use of a thread-local, is a leak to
//! a measurement: where that matters, run the code once before it is measured.

mod measurement;
mod scope;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::recording::Recording;
use crate::session::Session;
use crate::tracker::untracked;
pub use measurement::{Leak, Measurement};
use scope::{Open, Scopes};

/// The session of all measurements that are under way, and how many they are.
static SHARED: Mutex<Option<(Session, usize)>> = Mutex::new(None);

/// Runs `work`, drops what it returns, and says what this thread has allocated meanwhile, and what is left of
/// that, whoever has freed the rest. Measurements may be inside one another.
///
/// # Panics
/// If there can be no measurement: the program's global allocator is no [`Alloc`](crate::Alloc), or there is a
/// session of another kind. The message says which. A panic of `work` ends the measurement and goes on.
pub fn measure<T>(work: impl FnOnce() -> T) -> Measurement {
    measure_in(Scopes::enter_thread, work)
}

/// Runs `work`, drops what it returns, and says what all threads have allocated meanwhile, and what is left of that:
/// for a test that is alone in its process.
///
/// # Panics
/// As [`measure`].
pub fn measure_process<T>(work: impl FnOnce() -> T) -> Measurement {
    measure_in(Scopes::enter_process, work)
}

fn measure_in<T>(enter: impl FnOnce() -> Open, work: impl FnOnce() -> T) -> Measurement {
    let _shared = Shared::enter();
    let scope = untracked(enter);
    drop(work());
    untracked(|| scope.measurement())
}

/// A part in the session of all measurements.
#[derive(Debug)]
struct Shared;

impl Shared {
    fn enter() -> Shared {
        let mut shared = lock();
        let (_, count) = shared.get_or_insert_with(|| (start(), 0));
        *count += 1;
        Shared
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut shared = lock();
        if let Some((_, count)) = &mut *shared {
            *count -= 1;
        }
        let last = shared.take_if(|(_, count)| *count == 0);
        // Dropped under the lock: the next one finds it ended.
        drop(last);
    }
}

fn lock() -> MutexGuard<'static, Option<(Session, usize)>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> Session {
    let recording = Recording::only(Scopes).interval(1).counters(None);
    let session =
        recording.start().unwrap_or_else(|error| panic!("nothing can be measured: {error}"));
    assert!(
        !session.is_elsewhere(),
        "nothing can be measured: `lifetrace record` records this process"
    );
    session
}
