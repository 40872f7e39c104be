//! Being inside the agent: at most once per thread. \[UNSAFE\]
//!
//! A hook enters for as long as it works on a sample. A signal handler that interrupts it and
//! allocates finds the thread busy and passes through; so does an allocation by what we call ourselves. The
//! thread is marked before anything but the kernel is called, be it its first time
//! ([`ENTERING`]) or a later one. WARNING for future authors: what runs between
//! [`enter`] and the drop of [`Entered`] must not wait for a lock that a thread may hold while it allocates
//! (the loader's above all).

use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use lifetrace_transport::message::{BacktraceDelta, Body, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::backtrace::Backtraces;
use crate::lock::Patience;
use crate::managed::Managed;
use crate::phase::{self, Phase, Start};
use crate::random::Random;
use crate::room::{Room, Space};
use crate::sampler::{Hits, WORD};
use crate::sender::{AtOnce, Sender};
use crate::session::Session;
use crate::thread::{self, COUNTING, ENTERING, EXCLUDED, Thread};
use crate::{sys, tls};

/// Nobody allocates so many words.
const FAR_WORDS: u64 = 1 << 59;

/// Bytes that nobody allocates.
const FAR: i64 = i64::MAX / 2;

/// Streams of random numbers for gaps while paused, beyond those that threads are numbered from.
const FIRST_PAUSED_STREAM: u64 = 1 << 32;

static PASSED_OVER: AtomicU64 = AtomicU64::new(0);

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
    Hit(Entered, Hits),
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
        Phase::Starting | Phase::Off => Entry::Bypass,
    }
}

/// To be called when [`tls::take`] went below zero for a block of `words`.
#[cold]
pub fn countdown_ended(words: u64) -> Countdown {
    if is_excluded() {
        tls::set_countdown(FAR);
        return Countdown::Pass;
    }
    if is_busy() {
        lost_in_signal_handler();
        return Countdown::Pass;
    }
    if phase::current() == Phase::Recording {
        if let Some(session) = phase::recording().filter(|session| !samples_malloc(session)) {
            pass_over(session);
            return Countdown::Pass;
        }
        if tls::state() == 0 && !first_countdown(words) {
            return Countdown::Pass;
        }
    }
    match enter() {
        Entry::Recording(mut entered) => {
            let hits = entered.draw();
            Countdown::Hit(entered, hits)
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

/// To be called by a thread of the recorder, first of all: it is never sampled, and never waits for the
/// recorder.
pub fn exclude_thread() {
    tls::set_state(EXCLUDED);
    tls::set_countdown(FAR);
}

/// Malloc's blocks are sampled at another rate from now on, by each thread from its next epoch on. Whether
/// the recorder could be told: there may be no room for the news just now. `None` if nothing is recorded.
pub fn change_rate(per_word: f64) -> Option<bool> {
    let Entry::Recording(mut entered) = enter() else { return None };
    let is_told = entered.sender().0.push(Body::Rate { bits: per_word.to_bits() }).is_ok();
    if is_told {
        entered.session().change_rate(per_word, phase::samples());
    }
    Some(is_told)
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
            tls::set_countdown(first_gap(session) * WORD as i64);
        }
        _ => tls::set_countdown(FAR),
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

/// The first countdown of a fresh thread; whether the block at hand is hit.
fn first_countdown(words: u64) -> bool {
    let Some(session) = phase::recording() else { return true };
    let countdown = first_gap(session) - words as i64;
    tls::set_state(COUNTING);
    tls::set_countdown(countdown * WORD as i64);
    countdown < 0
}

/// Words before the first hit of a fresh thread.
fn first_gap(session: &Session) -> i64 {
    session.rate().gap(&mut stream(session)) as i64
}

/// Restarts the countdown while recording is paused, or for ever if malloc is not to be sampled. The
/// gaps have no memory: whenever it goes on, what is left of the last one is as good as a fresh one. So
/// a thread that was fresh is fresh no more; it would else draw a first gap in place of the hit that
/// this one leads to.
fn pass_over(session: &Session) {
    if tls::state() == 0 {
        tls::set_state(COUNTING);
    }
    let settings = session.header.settings();
    let gap = if !settings.sources.has_malloc() {
        FAR_WORDS
    } else if session.rate().probability() >= 1.0 {
        0
    } else {
        let stream = FIRST_PAUSED_STREAM + PASSED_OVER.fetch_add(1, Ordering::Relaxed);
        session.rate().gap(&mut Random::new(settings.seed, stream))
    };
    tls::set_countdown((gap * WORD) as i64);
}

/// Restarts the countdown where it can't lead to a sample now: never again when off, at once when
/// the agent is about to start, and at random when it records but could not serve this thread.
fn rest() {
    const AT_ONCE: i64 = 0;
    tls::set_countdown(match phase::current() {
        Phase::Off => FAR,
        Phase::Recording => phase::recording()
            .map_or(FAR, |session| (session.rate().gap(&mut stream(session)) * WORD) as i64),
        Phase::Unborn | Phase::Starting | Phase::Forked => AT_ONCE,
    });
}

fn lost_in_signal_handler() {
    if let Some(session) = phase::recording().filter(|session| samples_malloc(session)) {
        session.header.count_lost(LostReason::Reentrant);
    }
    rest();
}

fn stream(session: &Session) -> Random {
    Random::new(session.header.settings().seed, u64::from(thread::next_number()))
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
            tls::set_countdown(first_gap(session) * WORD as i64);
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
        let number = self.session().number;
        let thread: &mut Thread = self;
        thread.introduced_to = number;
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

    /// Draws the hits of the block that took the countdown below zero, and restarts it.
    fn draw(&mut self) -> Hits {
        let after = tls::countdown().wrapping_neg().max(WORD as i64) as u64 / WORD - 1;
        let rate = self.session.rate();
        let hits = rate.hits(&mut self.random, after);
        tls::set_countdown((hits.gap * WORD) as i64);
        hits
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
