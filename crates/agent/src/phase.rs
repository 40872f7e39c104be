//! Whether this process is being recorded, and the births that change that: start and fork. \[UNSAFE\]
//!
//! Fork is found out in two ways. `pthread_atfork` (registered by the platform crate) calls
//! [`on_fork_in_child`]; and a page that the kernel wipes in any child, however it was made, tells
//! the rest (a raw `clone`, `_Fork`). A vfork child shares our memory and is its parent to us.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use lifetrace_transport::handshake::Origin;

use crate::session::{self, Session};
use crate::{sender, sys, thread, tls};

/// See the drawing in the crate's comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Nobody has looked for a recorder yet.
    Unborn = 0,
    /// A thread is doing so.
    Starting = 1,
    /// A session is open.
    Recording = 2,
    /// A fork of a recorded process, which has not looked for the recorder yet.
    Forked = 3,
    /// As if we were not there.
    Off = 4,
}

static PHASE: AtomicU32 = AtomicU32::new(Phase::Unborn as u32);
static FORK_MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
static NEXT_SAMPLE: AtomicU64 = AtomicU64::new(0);
static FIRST_SAMPLE: AtomicU64 = AtomicU64::new(0);

/// The right to start, held by one thread.
#[derive(Debug)]
pub struct Start {
    origin: Origin,
}

/// The phase now.
#[inline]
pub fn current() -> Phase {
    let phase = load();
    if phase == Phase::Recording && forked_unnoticed() {
        on_fork_in_child();
        return load();
    }
    phase
}

/// The open session, unless the recorder has ended it.
pub(crate) fn recording() -> Option<&'static Session> {
    let session = session::current()?;
    if session.header.stopped() {
        store(Phase::Off);
        return None;
    }
    Some(session)
}

/// Takes the right to start, if this is the time for it.
pub fn claim_start() -> Option<Start> {
    for (from, origin) in [(Phase::Unborn, Origin::Exec), (Phase::Forked, Origin::Fork)] {
        let (from, to) = (from as u32, Phase::Starting as u32);
        if PHASE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return Some(Start { origin });
        }
    }
    None
}

impl Start {
    /// Why.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Connects. The process is recorded only after [`finish`](Self::finish).
    pub fn connect(&self) -> Option<&'static Session> {
        let session = session::connect(self.origin)?;
        watch_for_forks();
        sys::prepare_thread_ends(crate::guard::thread_ended);
        FIRST_SAMPLE.store(NEXT_SAMPLE.load(Ordering::Relaxed), Ordering::Relaxed);
        Some(session)
    }

    /// Ends the start, one way or the other.
    pub fn finish(self, recorded: bool) {
        store(if recorded { Phase::Recording } else { Phase::Off });
    }

    /// It is too early to tell: somebody else will try again.
    pub fn postpone(self) {
        store(match self.origin {
            Origin::Exec => Phase::Unborn,
            Origin::Fork => Phase::Forked,
        });
    }
}

/// A number for a new sample.
pub fn next_sample() -> u64 {
    NEXT_SAMPLE.fetch_add(1, Ordering::Relaxed)
}

/// Whether a sample was announced in this session: not if it is inherited from a parent.
pub fn of_this_session(sample: u64) -> bool {
    sample >= FIRST_SAMPLE.load(Ordering::Relaxed)
}

/// To be called in the child of a fork, by its only thread, before it does anything else.
pub fn on_fork_in_child() {
    let phase = load();
    if phase == Phase::Off || phase == Phase::Unborn {
        return;
    }
    // Without a session the parent was itself a fork, and one that is followed.
    let session = session::current();
    let follow = session.is_none_or(|it| it.header.settings().follow_children != 0);
    session::abandon();
    sender::reset_after_fork();
    thread::reset_after_fork();
    FORK_MARK.store(core::ptr::null_mut(), Ordering::Relaxed);
    tls::set_state(0);
    tls::set_countdown(0);
    store(if follow { Phase::Forked } else { Phase::Off });
}

fn forked_unnoticed() -> bool {
    let mark = FORK_MARK.load(Ordering::Relaxed);
    // SAFETY: null, or a page that is mapped for the life of the process.
    let mark = unsafe { mark.as_ref() };
    mark.is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// Sets up the page that a child finds wiped. Without it (no memory, an old kernel) a raw `clone`
/// goes unnoticed, and the child's samples are lost in the parent's closed session.
fn watch_for_forks() {
    const PAGE: usize = 4096;
    let Some(page) = sys::map(PAGE) else { return };
    // SAFETY: the page was mapped a line ago.
    if unsafe { sys::wipe_on_fork(page, PAGE) } {
        let mark = page.cast::<AtomicU32>();
        // SAFETY: as above; zeroed memory is an atomic zero.
        unsafe { mark.as_ref() }.store(1, Ordering::Relaxed);
        FORK_MARK.store(mark.as_ptr(), Ordering::Relaxed);
    } else {
        // SAFETY: nobody knows the page.
        unsafe { sys::unmap(page, PAGE) };
    }
}

fn load() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Unborn,
        1 => Phase::Starting,
        2 => Phase::Recording,
        3 => Phase::Forked,
        _ => Phase::Off,
    }
}

fn store(phase: Phase) {
    PHASE.store(phase as u32, Ordering::Release);
}
