//! What is reported to a session's tracker, and when.
//!
//! ```text
//! a call of the allocator                                         at its end
//! in the agent: a sample is born, dies ──▶ CallListener (events) ──┬─ inline: the tracker, on this thread
//!                                                                  ├─ this thread is in the tracker: postponed until it has returned
//!                                                                  └─ deferred: a queue ──▶ the tracker's thread
//! ```
//!
//! In the agent nothing of the program's runs: there, events are only noted. They are delivered when the
//! allocator's call is about to return, with the countdown set aside: what a tracker allocates is not
//! sampled. A thread that is in the tracker is known by a thread-local flag, so that trackers are never
//! called within themselves.
//!
//! The listener of the session is behind a pointer that is never waited for: a fork may happen at any
//! time, and the child, which is not recorded, leaves what it finds there untouched.

mod call;
mod deferred;
mod follower;

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use lifetrace_agent::{phase, sys};
use lifetrace_transport::message::SampleId;
use lifetrace_transport::segment::LostReason;

use crate::hooks::aside;
use crate::tracker::Allocation;
pub(crate) use call::CallListener;
use deferred::Deferred;
pub(crate) use follower::{Follower, follow};

/// What is reported to a tracker.
#[derive(Debug)]
pub(crate) enum Event {
    Born(SampleId, Box<Allocation>),
    Promoted(SampleId),
    Died(SampleId, Instant),
}

/// Who observes a session's samples, and how.
#[derive(Clone)]
pub(crate) struct Audience {
    pub(crate) follower: Arc<dyn Follower>,
    pub(crate) is_deferred: bool,
    /// Whether samples are sent to the recorder as well.
    pub(crate) is_recorded: bool,
}

/// The one of the session that is under way.
pub(crate) struct Listener {
    follower: Arc<dyn Follower>,
    deferred: Option<Deferred>,
    /// Of what trackers freed while they were called.
    postponed: Mutex<VecDeque<Event>>,
    is_recorded: bool,
    panics: AtomicU64,
}

/// What was not reported to a tracker, or what it has not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortfall {
    pub(crate) missed: u64,
    pub(crate) panics: u64,
}

static LISTENER: ArcSwapOption<Listener> = ArcSwapOption::const_empty();

/// Whether there is one.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IN_TRACKER: Cell<bool> = const { Cell::new(false) };
}

/// From now on samples are reported to `audience`. There is no other.
///
/// # Errors
/// When its thread can't be started.
pub(crate) fn begin(audience: Audience) -> std::io::Result<()> {
    let listener = Arc::new(Listener {
        follower: audience.follower,
        deferred: audience.is_deferred.then(Deferred::new),
        postponed: Mutex::default(),
        is_recorded: audience.is_recorded,
        panics: AtomicU64::new(0),
    });
    if listener.deferred.is_some() {
        deferred::start(Arc::clone(&listener))?;
    }
    LISTENER.store(Some(listener));
    IS_LISTENING.store(true, Ordering::Release);
    Ok(())
}

/// From now on nothing is reported, and what has been observed is delivered. At a process's `exit` a deferred tracker
/// may be stuck in what other threads do no more: it is not waited for long.
pub(crate) fn end(at_exit: bool) -> Shortfall {
    IS_LISTENING.store(false, Ordering::Release);
    let Some(listener) = aside(|| LISTENER.swap(None)) else { return Shortfall::default() };
    let missed = listener.deferred.as_ref().map_or(0, |deferred| deferred.close(at_exit));
    in_tracker(|| listener.follower.clear());
    let shortfall = Shortfall { missed, panics: listener.panics.load(Ordering::Relaxed) };
    in_tracker(|| drop(listener));
    shortfall
}

/// In a forked child: what is the parent's is left as it is.
pub(crate) fn reset_after_fork() {
    IS_LISTENING.store(false, Ordering::Release);
    mem::forget(aside(|| LISTENER.swap(None)));
}

/// Does `work` as if in the tracker, which hears afterwards of what it has freed.
pub(crate) fn untracked<T>(work: impl FnOnce() -> T) -> T {
    if is_in_tracker() {
        return work();
    }
    let result = in_tracker(work);
    if let Some(listener) = listener() {
        in_tracker(|| listener.catch_up());
    }
    result
}

/// What the agent has lost in the session that is under way.
pub(crate) fn losses() -> u64 {
    let session = phase::recording();
    session.map_or(0, |it| LostReason::ALL.iter().map(|reason| it.header.lost(*reason)).sum())
}

/// Whether this thread is in a tracker.
pub(crate) fn is_in_tracker() -> bool {
    IN_TRACKER.get()
}

fn listener() -> Option<Arc<Listener>> {
    let is_listening = IS_LISTENING.load(Ordering::Acquire);
    is_listening.then(|| aside(|| LISTENER.load_full())).flatten()
}

/// Calls the tracker, or drops what is its. Nobody notices.
fn in_tracker<T>(work: impl FnOnce() -> T) -> T {
    let errno = sys::errno();
    let was_in_tracker = IN_TRACKER.replace(true);
    let result = aside(|| catch_unwind(AssertUnwindSafe(work)));
    IN_TRACKER.set(was_in_tracker);
    sys::set_errno(errno);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

impl Listener {
    fn deliver(&self, event: Event) {
        if let Some(deferred) = &self.deferred {
            aside(|| deferred.put(event));
        } else if is_in_tracker() {
            self.postponed.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        } else {
            in_tracker(|| self.call(event));
        }
    }

    /// Tells the tracker of an event, and then of what it has freed meanwhile.
    fn call(&self, event: Event) {
        self.tell(event);
        self.catch_up();
    }

    fn catch_up(&self) {
        while let Some(event) = self.next_postponed() {
            self.tell(event);
        }
    }

    fn next_postponed(&self) -> Option<Event> {
        self.postponed.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn tell(&self, event: Event) {
        // What a tracker leaves half done is its own affair.
        if catch_unwind(AssertUnwindSafe(|| self.follower.take(event))).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").field("is_deferred", &self.is_deferred).finish_non_exhaustive()
    }
}
