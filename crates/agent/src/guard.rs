//! Being inside the agent: at most once per thread. \[UNSAFE\]
//!
//! A hook enters for as long as it works on a sample. A signal handler that interrupts it and
//! allocates finds the thread busy and passes through; so does an allocation by what we call ourselves. The
//! thread is marked before anything but the kernel is called, be it its first time
//! ([`ENTERING`]) or a later one. WARNING for future authors: what runs between
//! [`enter`] and the drop of [`Entered`] must not wait for a lock that a thread may hold while it allocates
//! (the loader's above all).

use core::ops::{Deref, DerefMut};
use core::sync::atomic::{Ordering, compiler_fence};

use lifetrace_transport::message::{BacktraceDelta, Body, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::backtrace::Backtraces;
use crate::countdown::{self, Draw};
use crate::lock::Patience;
use crate::managed::Managed;
use crate::phase::{self, Phase, Start};
use crate::room::{Room, Space};
use crate::sampler::{Rate, WORD};
use crate::sender::{AtOnce, Sender};
use crate::session::{self, Session};
use crate::thread::{self, COUNTING, ENTERING, EXCLUDED, Thread};
use crate::{sys, tls};

/// What a hook may do now.
#[derive(Debug)]
pub enum Entry {
    /// Work on a sample.
    Recording(Entered),
    /// Start the agent first, then try again.
    Start(Start),
    /// Pass through: not recording, or busy already.
    Bypass,
}

/// The thread is inside the agent until this is dropped.
#[derive(Debug)]
pub struct Entered {
    thread: *mut Thread,
    session: &'static Session,
    errno: i32,
    space: Space,
    at_once: Option<AtOnce>,
}

/// What a countdown below zero has turned out to be.
#[derive(Debug)]
pub enum Countdown {
    /// A block with hits.
    Hit(Entered, Draw),
    /// Start the agent first, then try again.
    Start(Start),
    /// No hit, or nothing to be done about it.
    Pass,
}

/// Enters, if this thread can. Losses are the caller's to count: only it knows whether there is one.
pub fn enter() -> Entry {
    enter_as(Entered::new)
}

/// Enters, if this thread can, for a caller who runs on a stack of the agent's own.
#[inline]
pub fn enter_on_own_stack() -> Entry {
    enter_as(|session| Entered::with(session, |_| Space::Ample))
}

/// Succeeds only if recording, the thread registered, and stack ample; else no side effects, and
/// [`enter_on_own_stack`] may do more. A part of its caller, as are others that each sample of a managed runtime
/// passes.
#[inline(always)]
pub fn try_enter_fast() -> Option<Entered> {
    if phase::current() != Phase::Recording {
        return None;
    }
    let session = phase::recording()?;
    let thread = thread::current()?;
    // SAFETY: this thread's own; if it is not busy, nobody else refers to it.
    let (state, errno) = unsafe { (&mut *thread, *(*thread).errno) };
    if state.busy || state.introduced_to != session.number {
        return None;
    }
    let space = state.room.below(sys::stack_pointer());
    if space != Space::Ample {
        return None;
    }
    state.busy = true;
    compiler_fence(Ordering::SeqCst);
    Some(Entered { thread, session, errno, space, at_once: None })
}

#[inline]
fn enter_as(enter: impl FnOnce(&'static Session) -> Option<Entered>) -> Entry {
    if is_busy() {
        return Entry::Bypass;
    }
    match phase::current() {
        Phase::Recording => match phase::recording().and_then(enter) {
            Some(entered) => Entry::Recording(entered),
            None => Entry::Bypass,
        },
        Phase::Unborn | Phase::Forked => match phase::claim_start() {
            Some(start) => Entry::Start(start),
            None => Entry::Bypass,
        },
        Phase::Starting | Phase::Off | Phase::Waiting => Entry::Bypass,
    }
}

/// To be called when [`tls::take`] went below zero for a block of `words`.
#[cold]
pub fn countdown_ended(words: u64) -> Countdown {
    if is_excluded() {
        countdown::never();
        return Countdown::Pass;
    }
    if is_busy() {
        lost_in_signal_handler();
        return Countdown::Pass;
    }
    if let Some(start) = phase::look_for_recorder() {
        return Countdown::Start(start);
    }
    if phase::current() == Phase::Recording {
        let session = phase::recording();
        if let Some(session) = session.filter(|session| !samples_malloc(session)) {
            countdown::pass_over(session);
            return Countdown::Pass;
        }
        if tls::state() == 0 && session.is_some_and(|it| !countdown::first(it, words)) {
            return Countdown::Pass;
        }
    }
    match enter() {
        Entry::Recording(mut entered) => {
            let draw = countdown::draw(entered.session, &mut entered.random);
            Countdown::Hit(entered, draw)
        }
        Entry::Start(start) => Countdown::Start(start),
        Entry::Bypass => {
            rest();
            Countdown::Pass
        }
    }
}

fn samples_malloc(session: &Session) -> bool {
    !session.header.paused() && session.header.settings().sources.has_malloc()
}

/// Whether this thread is inside the agent, or none of the program's.
pub fn is_busy() -> bool {
    match tls::state() {
        0 | COUNTING => false,
        ENTERING | EXCLUDED => true,
        // SAFETY: the pointer is this thread's own and stays mapped.
        thread => unsafe { (*(thread as *const Thread)).busy },
    }
}

/// Does `work` with this thread busy, if it can be: a signal handler that interrupts it then passes through.
pub fn while_busy<T>(work: impl FnOnce() -> T) -> T {
    let Some(thread) = thread::current().filter(|_| !is_busy()) else { return work() };
    // SAFETY: this thread's own, which stays mapped, and nobody refers to it now: it is not busy.
    unsafe { (*thread).busy = true };
    let result = work();
    // SAFETY: as above; who finds it busy leaves it alone.
    unsafe { (*thread).busy = false };
    result
}

/// For how long a thread that has not entered may wait for a lock of the agent's.
pub fn patience() -> Patience {
    match phase::recording() {
        _ if is_busy() && !is_excluded() => Patience::None,
        Some(session) => session.patience(),
        None => Patience::Short,
    }
}

/// Counts an event that is lost, if this process is recorded.
pub fn count_lost(reason: LostReason) {
    if let Some(session) = phase::recording() {
        session.header.count_lost(reason);
    }
}

/// To be called by a thread of the recorder, first of all: it is never sampled, and never waits for the recorder.
pub fn exclude_thread() {
    tls::set_state(EXCLUDED);
    countdown::never();
}

/// Malloc's blocks are sampled at another rate from now on: the probability of a word, in (0, 1]. Each thread goes on at
/// that of before until its next sample, or its next epoch. False if nothing is recorded.
pub fn change_rate(per_word: f64) -> bool {
    let session = phase::recording();
    session.inspect(|it| it.header.set_rate(per_word)).is_some()
}

fn is_excluded() -> bool {
    tls::state() == EXCLUDED
}

/// To be called when [`tls::take_of`] has refused a block of `words` and the thread's countdown is of
/// another epoch than `epoch`: draws one that is. Whether the block is hit.
#[cold]
pub fn enter_epoch(epoch: usize, words: u64) -> bool {
    tls::set_epoch(epoch);
    match phase::recording() {
        Some(session) if phase::current() == Phase::Recording && !is_excluded() => {
            if tls::state() == 0 {
                tls::set_state(COUNTING);
            }
            countdown::restart_fresh(session);
        }
        _ => countdown::never(),
    }
    tls::take((words * WORD) as usize)
}

/// Counts the release of a sample that could not be sent because this thread is inside the agent already. Any
/// other reason has been counted where it was found; and what is released once the session has ended, while the
/// recorder is yet to write it down, is no loss.
pub fn count_lost_release(sample: u64) {
    if is_busy()
        && let Some(session) = phase::recording()
        && phase::of_this_session(sample)
    {
        session.header.count_lost(LostReason::Reentrant);
    }
}

/// Counts a sample that could not be told of because this thread is inside the agent already.
pub fn count_lost_birth() {
    if is_busy()
        && !is_excluded()
        && let Some(session) = phase::recording()
        && !session.header.paused()
    {
        session.header.count_lost(LostReason::Reentrant);
    }
}

/// The end of a thread: its last words, and its `Thread` back to the pool.
pub fn thread_ended() {
    let Some(thread) = thread::current() else { return };
    if let Entry::Recording(mut entered) = enter() {
        entered.send(Body::ThreadEnded);
    }
    if !is_busy() {
        thread::release(thread);
    }
}

/// Restarts the countdown where it can't lead to a sample now: never again when off, at once when
/// the agent is about to start, and at random when it records but could not serve this thread.
fn rest() {
    const AT_ONCE: i64 = 0;
    let session = match phase::current() {
        Phase::Off => return countdown::never(),
        Phase::Unborn | Phase::Starting | Phase::Forked => return tls::set_countdown(AT_ONCE),
        Phase::Recording => phase::recording(),
        Phase::Waiting if session::current().is_none() => {
            return tls::set_countdown(phase::BETWEEN_LOOKS);
        }
        Phase::Waiting => session::current(),
    };
    session.map_or_else(countdown::never, countdown::restart_fresh);
}

fn lost_in_signal_handler() {
    if let Some(session) = phase::recording().filter(|session| samples_malloc(session)) {
        session.header.count_lost(LostReason::Reentrant);
    }
    rest();
}

impl Entered {
    fn new(session: &'static Session) -> Option<Self> {
        Self::with(session, |room| room.below(sys::stack_pointer()))
    }

    /// The stack is looked at before the thread is marked: who overflows it there, and jumps out of that, leaves
    /// nothing behind. Only the kernel is asked for that.
    fn with(session: &'static Session, space: impl FnOnce(&mut Room) -> Space) -> Option<Self> {
        let known = thread::current();
        let mut fresh = Room::default();
        let room = match known {
            // SAFETY: this thread's own, and not busy: nobody else refers to it.
            Some(thread) => unsafe { &mut (*thread).room },
            None => &mut fresh,
        };
        let space = space(room);
        if space == Space::None {
            session.header.count_lost(LostReason::NoStack);
            return None;
        }
        let thread = known.or_else(|| Self::acquire(session, fresh))?;
        // SAFETY: as above; so is its `errno`.
        let errno = unsafe {
            (*thread).busy = true;
            compiler_fence(Ordering::SeqCst);
            *(*thread).errno
        };
        let mut entered = Entered { thread, session, errno, space, at_once: None };
        if known.is_none() {
            // What libc allocates for it is not the program's.
            tls::aside(sys::call_at_thread_end);
        }
        if entered.introduced_to != session.number {
            entered.introduce();
        }
        Some(entered)
    }

    /// Gives this thread its record. Until it has that, it is marked as on its way in.
    #[cold]
    fn acquire(session: &'static Session, room: Room) -> Option<*mut Thread> {
        let before = tls::state();
        tls::set_state(ENTERING);
        compiler_fence(Ordering::SeqCst);
        if before == 0 {
            // It is here before it has allocated: to free, or for a managed runtime.
            countdown::restart_fresh(session);
        }
        let seed = session.header.settings().seed;
        let thread = tls::aside(|| thread::acquire(seed, room));
        if thread.is_none() {
            session.header.count_lost(LostReason::NoThreadRecord);
            tls::set_state(before);
        }
        thread
    }

    /// Introduces this thread to a session that does not know it.
    #[cold]
    fn introduce(&mut self) {
        let (number, first_rate) = (self.session.number, self.session.first_rate().probability());
        let thread: &mut Thread = self;
        thread.introduced_to = number;
        thread.counts_by = first_rate;
        thread.backtraces.forget();
        thread.managed.clear();
        let os_id = tls::aside(sys::thread_os_id);
        self.send(Body::ThreadStarted { os_id });
    }

    /// The session that this thread speaks to.
    pub fn session(&self) -> &'static Session {
        self.session
    }

    /// Whether the stack has room for a backtrace to be captured.
    pub fn has_room_for_backtrace(&self) -> bool {
        self.space == Space::Ample
    }

    /// Has all that is sent until this is dropped be of one time, and sent without asking for the time and for the
    /// ring again. To be called where nothing but messages follow. Where all is recorded these may be many, and
    /// others must not wait for long: there it does nothing.
    pub fn send_at_once(&mut self) {
        if !self.session.header.settings().exact() {
            self.at_once = AtOnce::begin(self.session, self.id);
        }
    }

    /// Whether half of this thread's ring is free: whether there is no hurry for the recorder.
    pub fn has_ring_room(&self) -> bool {
        let session = self.session;
        let ring = session.ring(self.id.0 as usize % session.ring_count());
        ring.used() <= u64::from(session.header.settings().ring_bytes) / 2
    }

    /// Sends `body` to the recorder; whether it got through.
    pub fn send(&mut self, body: Body<'_>) -> bool {
        self.sender().0.send(body)
    }

    /// The way to the recorder, beside the thread's backtraces.
    pub fn sender(&mut self) -> (Sender<'_>, &mut Backtraces, &mut Managed) {
        let session = self.session;
        let at_once = self.at_once.as_ref().map(|at_once| at_once.time);
        let Thread { id, head, backtraces, managed, .. } = &mut **self;
        (Sender { session, thread: *id, head, at_once }, backtraces, managed)
    }

    /// Sends an allocation of `source` with the thread's current backtrace there; whether it got
    /// through. If it did not, the next backtrace is sent whole.
    #[inline(always)]
    pub fn send_with_backtrace(
        &mut self,
        source: SourceKind,
        body: impl FnOnce(BacktraceDelta<'_>) -> Body<'_>,
    ) -> bool {
        let (mut sender, backtraces, managed) = self.sender();
        if source.is_managed() {
            let is_sent = sender.send_here(body(managed.delta()));
            if is_sent {
                managed.mark_sent()
            } else {
                managed.forget()
            }
            return is_sent;
        }
        let is_sent = sender.send(body(backtraces.delta()));
        if is_sent {
            backtraces.mark_sent()
        } else {
            backtraces.forget()
        }
        is_sent
    }

    /// By which rate what is sent of malloc's blocks now counts.
    pub fn rate(&self) -> Rate {
        Rate::per_word(self.counts_by)
    }

    /// Has what is sent of malloc's blocks from now on count by this rate, the probability of a word; false if the
    /// recorder could not be told.
    pub fn count_by(&mut self, rate: f64) -> bool {
        let is_told = self.counts_by == rate || self.send(Body::Rate { bits: rate.to_bits() });
        if is_told {
            self.counts_by = rate;
        }
        is_told
    }
}

impl Deref for Entered {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        // SAFETY: `busy` makes this guard the only way to this thread's own `Thread`.
        unsafe { &*self.thread }
    }
}

impl DerefMut for Entered {
    fn deref_mut(&mut self) -> &mut Thread {
        // SAFETY: as above.
        unsafe { &mut *self.thread }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Before a signal handler may enter, which would wait for the ring that this thread has.
        self.at_once = None;
        self.busy = false;
        // SAFETY: this thread's own.
        unsafe { *(*self.thread).errno = self.errno };
    }
}
