//! The agent as a part of the program, which starts and stops it when it wants to. \[UNSAFE\]
//!
//! The program connects, asks for a tracker ([`prepare`]), and calls `caml_memprof_start` itself: that may
//! raise, which only OCaml code can take. It may also report memory that OCaml's heap does not have: a
//! sampler of its own draws its words, and its backtraces are `Printexc.get_callstack`'s, whose slots are
//! those of Memprof's.

use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::host::Host;
use lifetrace_agent::sampler::{Hits, Rate};
use lifetrace_agent::snapshot::is_wanted;
use lifetrace_agent::tracker::{Allocation, Tracker, Word};
use lifetrace_transport::message::{AllocationKind, SampleId, SourceKind};

use crate::blocks::Value;
use crate::entry::{self, TRACKER, WORD_BYTES};
use crate::host;
use crate::runtime;
use crate::static_blocks::StaticBlocks;
use crate::symbols::{Absent, Finder};
use crate::{begin, callstacks, snapshot, stack, state, thunks, totals};

/// What `caml_memprof_start` is to be called with, beside the rate.
#[derive(Clone, Copy, Debug)]
pub struct Memprof {
    /// The tracker, as an OCaml value: a static block.
    pub tracker: usize,
    /// The size of a callstack.
    pub depth: usize,
}

/// Why nothing can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unable {
    /// The program has no native OCaml runtime, or one that is not initialised.
    NoRuntime,
    /// The runtime's version has no Memprof, or one that we do not know.
    UnknownRuntime,
    /// There is no memory, or no recorder any more.
    NotNow,
}

static TRACKER_BLOCK: AtomicPtr<StaticBlocks> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the agent ready for the session that has just been connected to, in the runtime that `symbol`
/// finds, by the names of [`for_runtime_names`](crate::for_runtime_names).
///
/// # Errors
/// [`Unable`].
pub fn prepare(host: Host, symbol: Finder) -> Result<Memprof, Unable> {
    let runtime = runtime::get().map_or_else(
        || {
            let mut found = runtime::found_by(&symbol).map_err(|absent| match absent {
                Absent::NotHere => Unable::NoRuntime,
                Absent::Unknown => Unable::UnknownRuntime,
            })?;
            found.symbol = symbol;
            runtime::keep(found).ok_or(Unable::NotNow)
        },
        Ok,
    )?;
    begin::begin_with(host);
    let codes = thunks::of(runtime.version).ok_or(Unable::UnknownRuntime)?;
    let settings = *entry::enter().ok_or(Unable::NotNow)?.session().header.settings();
    totals::sampler_allocates();
    let rate = begin::rate(&settings).ok_or(Unable::NotNow)?;
    let is_ready = begin::prepare_callbacks(runtime, &settings, rate);
    let tracker = tracker(codes).filter(|_| is_ready).ok_or(Unable::NotNow)?;
    Ok(Memprof { tracker: tracker.word(), depth: host::depth() })
}

/// In a forked child, before it starts a session of its own.
pub fn reset_after_fork() {
    state::reset_after_fork();
    stack::reset_after_fork();
}

/// Tells the collector's counters, before the session ends.
pub fn finish() {
    totals::send_last();
}

/// Takes the snapshot that the recorder waits for, if it does and all domains can be stopped now: to be called by C code
/// that OCaml code has called as code that may allocate.
pub fn take_snapshot() {
    if let Some(runtime) = runtime::get() {
        snapshot::in_call(runtime);
    }
}

/// Whether the recorder waits for a snapshot.
pub fn is_snapshot_wanted() -> bool {
    is_wanted()
}

/// Runs something while others have the runtime: to be called where [`take_snapshot`] is, with no OCaml value at hand.
pub fn outside<T>(run: impl FnOnce() -> T) -> T {
    match runtime::get() {
        Some(runtime) => runtime.outside(run),
        None => run(),
    }
}

/// Words that pass before the first hit, and before the next after a block that was hit `after` words
/// before its end.
pub fn draw_external(after: Option<u64>) -> Hits {
    const NONE: Hits = Hits { count: 0, gap: u64::MAX };
    let Some(mut entered) = entry::enter() else { return NONE };
    let Some(rate) = begin::rate(entered.session().header.settings()) else { return NONE };
    let rate = Rate::per_word(rate);
    match after {
        Some(after) => rate.hits(&mut entered.random, after),
        None => Hits { count: 0, gap: rate.gap(&mut entered.random) },
    }
}

/// Announces `words` outside OCaml's heap, of which `samples` are hit; without any, only takes note of the
/// caller. `None` if the recorder could not be told.
///
/// # Safety
/// `callstack` is an OCaml value that `Printexc.get_callstack` has just returned; its first frame is the
/// caller, which is left out.
pub unsafe fn external_allocated(words: u64, samples: u64, callstack: usize) -> Option<u64> {
    // SAFETY: by contract an array, and nothing runs that would move it before we return.
    let (own, frames) = unsafe { Value::of(callstack).fields() }.split_first()?;
    callstacks::is_asked_by(*own);
    let runtime = runtime::get().filter(|_| samples > 0)?;
    let mut entered = entry::enter()?;
    let is_told =
        !entered.session().header.paused() && callstacks::take(&mut entered, runtime, frames);
    is_told.then(|| announce(&mut entered, words, samples)).flatten().map(Word::to_word)
}

/// Its memory is free again.
pub fn external_freed(token: u64) {
    if let Some(mut entered) = entry::enter() {
        TRACKER.freed(&mut entered, SampleId::from_word(token));
    }
}

fn announce(entered: &mut Entered, words: u64, samples: u64) -> Option<SampleId> {
    let (source, kind) = (SourceKind::External, AllocationKind::Plain);
    let allocation = Allocation { size: words * WORD_BYTES, samples, source, kind };
    TRACKER.allocated(entered, &allocation)
}

/// The one tracker: the program passes the rate itself.
fn tracker(codes: [thunks::Code; 5]) -> Option<Value> {
    if TRACKER_BLOCK.load(Ordering::Acquire).is_null() {
        let made = StaticBlocks::make(codes, 0.0)?;
        TRACKER_BLOCK.store(core::ptr::from_ref(made).cast_mut(), Ordering::Release);
    }
    // SAFETY: not null, and it stays.
    Some(unsafe { &*TRACKER_BLOCK.load(Ordering::Acquire) }.tracker())
}
