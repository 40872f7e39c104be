//! Whether this process is being recorded, and the births that change that: start and fork. \[UNSAFE\]
//!
//! Fork is found out in two ways. `pthread_atfork` (registered by the platform crate) calls
//! [`on_fork_in_child`]; and a page that the kernel wipes in any child, however it was made, tells
//! the rest (a raw `clone`, `_Fork`). A vfork child shares our memory and is its parent to us.

pub mod machine;
mod patience;

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use lifetrace_transport::handshake::{Late, Origin, Unheard};

use self::machine::Machine;
pub use self::machine::Phase;
pub(crate) use self::patience::BETWEEN_LOOKS;
use crate::lock;
use crate::session::{self, Session};
use crate::{sender, sys, thread, tls};

/// The process's phase and its samples' ids: what each sample asks, in one cache line.
#[repr(align(64))]
struct PhaseState {
    machine: Machine,
    fork_mark: AtomicPtr<AtomicU32>,
    next_sample: AtomicU64,
    first_sample: AtomicU64,
}

const _: () = assert!(size_of::<PhaseState>() == 64);

static STATE: PhaseState = PhaseState {
    machine: Machine::new(AtomicU32::new(Phase::Unborn as u32)),
    fork_mark: AtomicPtr::new(core::ptr::null_mut()),
    next_sample: AtomicU64::new(0),
    first_sample: AtomicU64::new(0),
};

/// Who wants to know of a fork, in the child.
static FORK_LISTENER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The right to start, held by one thread.
#[derive(Debug)]
pub struct Start {
    origin: Origin,
}

/// The phase now.
#[inline(always)]
pub fn current() -> Phase {
    let phase = STATE.machine.phase();
    if phase == Phase::Recording && forked_unnoticed() { notice_fork() } else { phase }
}

#[cold]
#[inline(never)]
fn notice_fork() -> Phase {
    if STATE.machine.claim_fork(forked_unnoticed) {
        leave_parent();
    }
    STATE.machine.phase()
}

/// The open session, unless the recorder has ended it.
pub fn recording() -> Option<&'static Session> {
    let session = session::current()?;
    if session.header.stopped() {
        leave(session);
        return None;
    }
    Some(session)
}

#[cold]
fn leave(session: &Session) {
    if STATE.machine.end(patience::may_begin_again(session)) {
        patience::note_end();
    }
}

fn leave_if_dead(session: &Session) {
    if session.header.settings().is_standing != 0 && patience::is_dead(session) {
        leave(session);
    }
}

/// From now on a recorder is looked for again and again, where there is none.
pub fn wait_for_recorders() {
    patience::begin();
}

/// Whether that is so.
pub fn waits_for_recorders() -> bool {
    patience::is_endless()
}

/// From now on the agent of a managed runtime begins with each session, whenever that comes.
pub fn begin_managed_late() {
    patience::begin_managed_late();
}

/// To be called now and then, when a countdown has ended above all: leaves a recorder that has shown no sign of life for long, if another may come.
/// Takes the right to look for one once more, if there is none and it is time for that.
pub fn look_for_recorder() -> Option<Start> {
    if current() == Phase::Recording {
        recording().into_iter().for_each(leave_if_dead);
    }
    let is_due = STATE.machine.phase() == Phase::Waiting && patience::is_due();
    if !is_due || !STATE.machine.claim_late_start() {
        return None;
    }
    let unheard = Unheard(patience::unheard_millis());
    let can_begin_managed = patience::can_begin_managed();
    Some(Start { origin: Origin::Late(Late { unheard, can_begin_managed }) })
}

/// Takes the right to start, if this is the time for it.
pub fn claim_start() -> Option<Start> {
    STATE.machine.claim_start().map(|origin| Start { origin })
}

/// Takes the right to start for a program that says itself when to start and stop; `None` while it is
/// recorded.
pub fn claim_restart() -> Option<Start> {
    // A forked child that has not been found out yet is now.
    current();
    STATE.machine.claim_restart().then_some(Start { origin: Origin::Exec })
}

/// Ends the recording from this side: nobody enters any more.
pub fn end() {
    STATE.machine.end(false);
}

impl Start {
    /// Why.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Connects. The process is recorded only after [`finish`](Self::finish).
    pub fn connect(&self) -> Option<&'static Session> {
        self.connect_to(session::socket_path()?)
    }

    /// Connects to the recorder that listens at `path`. The process is recorded only after [`finish`](Self::finish).
    pub fn connect_to(&self, path: &[u8]) -> Option<&'static Session> {
        let before = session::current();
        let session = session::connect(self.origin, path)?;
        if let Some(before) = before.filter(|_| matches!(self.origin, Origin::Late(_))) {
            before.give_back_rings();
        }
        self.begin();
        Some(session)
    }

    /// Becomes the session with this memory, `bytes` long, of a recorder that has made it and listens at `path`. The
    /// process is recorded only after [`finish`](Self::finish).
    pub fn join(
        &self,
        memory: &sys::Descriptor,
        bytes: usize,
        path: &[u8],
    ) -> Option<&'static Session> {
        let (session, _) = session::join(memory, bytes, path)?;
        self.begin();
        Some(session)
    }

    /// As [`join`](Self::join); the memory of earlier sessions is given back.
    ///
    /// # Safety
    /// When the earlier session had ended there was a moment at which no thread was in the agent: so none knows a session
    /// that was before that.
    pub unsafe fn join_anew(
        &self,
        memory: &sys::Descriptor,
        bytes: usize,
        path: &[u8],
    ) -> Option<&'static Session> {
        let (session, before) = session::join(memory, bytes, path)?;
        self.begin();
        if let Some(before) = before {
            // SAFETY: by contract.
            unsafe { session::give_back(before) };
        }
        Some(session)
    }

    fn begin(&self) {
        watch_for_forks();
        sys::prepare_thread_ends(crate::guard::thread_ended);
        STATE.first_sample.store(STATE.next_sample.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Ends the start, one way or the other.
    pub fn finish(self, recorded: bool) {
        let otherwise = if patience::is_endless() { Phase::Waiting } else { Phase::Off };
        STATE.machine.settle(if recorded { Phase::Recording } else { otherwise });
    }

    /// It is too early to tell: somebody else will try again.
    pub fn postpone(self) {
        STATE.machine.settle(match self.origin {
            Origin::Exec => Phase::Unborn,
            Origin::Fork => Phase::Forked,
            Origin::Late(_) => Phase::Waiting,
        });
    }
}

/// A number for a new sample.
pub fn next_sample() -> u64 {
    STATE.next_sample.fetch_add(1, Ordering::Relaxed)
}

/// How many numbers for samples have been given.
pub fn samples() -> u64 {
    STATE.next_sample.load(Ordering::Relaxed)
}

/// Whether a sample was announced in this session: not if it is inherited from a parent.
pub fn of_this_session(sample: u64) -> bool {
    sample >= STATE.first_sample.load(Ordering::Relaxed)
}

/// To be called in the child of a fork, by its only thread, before it does anything else.
pub fn on_fork_in_child() {
    let phase = STATE.machine.phase();
    if phase != Phase::Off && phase != Phase::Unborn {
        leave_parent();
    }
}

/// Has `listener` called in each forked child of a recorded process, at the fork if libc has made it, else as soon as
/// the child is found out to be one.
pub fn listen_to_forks(listener: fn()) {
    FORK_LISTENER.store(listener as *mut c_void, Ordering::Release);
}

fn notify_fork_listener() {
    let listener = FORK_LISTENER.load(Ordering::Acquire);
    if !listener.is_null() {
        // SAFETY: `listen_to_forks` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn()>(listener)() };
    }
}

/// Lets go of all that is the parent's. Nobody else uses it meanwhile: this is the only thread, or
/// has claimed the fork.
fn leave_parent() {
    lock::CONTEXT.reset();
    notify_fork_listener();
    // Without a session the parent was itself a fork, and one that is followed.
    let session = session::current();
    let follow = session.is_none_or(|it| it.header.settings().follow_children != 0);
    session::abandon();
    sender::reset_after_fork();
    thread::reset_after_fork();
    sys::reset_after_fork();
    STATE.fork_mark.store(core::ptr::null_mut(), Ordering::Relaxed);
    tls::set_state(0);
    tls::set_countdown(0);
    STATE.machine.settle(if follow { Phase::Forked } else { Phase::Off });
}

fn forked_unnoticed() -> bool {
    let mark = STATE.fork_mark.load(Ordering::Relaxed);
    // SAFETY: null, or a page that is mapped for the life of the process.
    let mark = unsafe { mark.as_ref() };
    mark.is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// Sets up the page that a child finds wiped. Without it (no memory, an old kernel) a raw `clone`
/// goes unnoticed, and the child's samples are lost in the parent's closed session.
fn watch_for_forks() {
    const PAGE: usize = 4096;
    if !STATE.fork_mark.load(Ordering::Relaxed).is_null() {
        return;
    }
    let Some(page) = sys::map(PAGE) else { return };
    // SAFETY: the page was mapped a line ago.
    if unsafe { sys::wipe_on_fork(page, PAGE) } {
        let mark = page.cast::<AtomicU32>();
        // SAFETY: as above; zeroed memory is an atomic zero.
        unsafe { mark.as_ref() }.store(1, Ordering::Relaxed);
        STATE.fork_mark.store(mark.as_ptr(), Ordering::Relaxed);
    } else {
        // SAFETY: nobody knows the page.
        unsafe { sys::unmap(page, PAGE) };
    }
}
