//! From a thread to its ring, with a bounded wait. \[UNSAFE\]
//!
//! A thread always writes to the same ring, so its own messages stay in order. When the ring is
//! full, it waits, holding the ring's lock, while the recorder makes room: up to [`Patience::Short`],
//! or, if recording is exact, as long as the recorder shows signs of life. Whoever has once waited in
//! vain spares the next one the wait until the recorder has moved. Where recording is exact, whoever waits for
//! the lock meanwhile waits as long as its holder may.

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_transport::codec;
use lifetrace_transport::message::{Body, Message, MonotonicNanos, ThreadId};
use lifetrace_transport::ring::Ring;
use lifetrace_transport::segment::LostReason;

use crate::lock::{Held, Lock, Patience};
use crate::session::{MAX_RINGS, Session};
use crate::sys;

static LOCKS: [Lock; MAX_RINGS] = [const { Lock::new() }; MAX_RINGS];

/// Where the consumer stood, plus 1, when somebody last waited for it in vain.
static STUCK: [AtomicU64; MAX_RINGS] = [const { AtomicU64::new(0) }; MAX_RINGS];

const SLEEP_MICROS: u32 = 200;

/// A thread's way to the recorder.
#[derive(Debug)]
pub struct Sender<'a> {
    pub(crate) session: &'static Session,
    pub(crate) thread: ThreadId,
    /// Room for the head of a message.
    pub(crate) head: &'a mut [u8; codec::MAX_HEAD],
    /// The time of all that is sent now, if its thread has the ring for itself.
    pub(crate) at_once: Option<MonotonicNanos>,
}

/// A thread has its ring for itself as long as it has this: what it sends was all at one time.
#[derive(Debug)]
pub(crate) struct AtOnce {
    _held: Held<'static>,
    pub(crate) time: MonotonicNanos,
}

impl AtOnce {
    /// From now on; `None` if another thread keeps the ring.
    pub(crate) fn begin(session: &Session, thread: ThreadId) -> Option<AtOnce> {
        let (index, patience) = place(session, thread);
        let held = LOCKS[index].acquire(patience)?;
        Some(AtOnce { _held: held, time: sys::now() })
    }
}

/// Which ring is a thread's, and how long to wait for it.
#[inline]
fn place(session: &Session, thread: ThreadId) -> (usize, Patience) {
    (thread.0 as usize % session.ring_count(), session.patience())
}

/// Takes a ring's lock, within the patience.
#[inline(always)]
fn acquire(session: &Session, index: usize, patience: Patience) -> Option<Held<'static>> {
    let held = LOCKS[index].acquire(patience);
    if held.is_none() && patience == Patience::Long { acquire_late(session, index) } else { held }
}

/// Goes on trying to take a ring's lock as long as its holder may have reason to keep it: while the recorder takes
/// messages from the ring, or has some to take and is alive. A holder that a debugger has stopped has none.
#[cold]
fn acquire_late(session: &Session, index: usize) -> Option<Held<'static>> {
    let ring = session.ring(index);
    let progress = || (ring.tail(), if ring.used() > 0 { session.header.heartbeat() } else { 0 });
    let mut before = None;
    while !session.header.stopped() && before != Some(progress()) {
        before = Some(progress());
        if let Some(held) = LOCKS[index].acquire(Patience::Long) {
            return Some(held);
        }
    }
    None
}

/// In a forked child: whoever held a lock is in the parent.
pub(crate) fn reset_after_fork() {
    LOCKS.iter().for_each(Lock::reset);
    STUCK.iter().for_each(|stuck| stuck.store(0, Ordering::Relaxed));
}

impl Sender<'_> {
    /// Counts what cannot be sent for another reason than that the ring has no room.
    pub fn count_lost(&self, reason: LostReason) {
        self.session.header.count_lost(reason);
    }

    /// Sends `body` to the recorder; whether it got through. A loss is counted.
    pub fn send(&mut self, body: Body<'_>) -> bool {
        let pushed = self.push(body);
        self.is_through(pushed)
    }

    /// Sends `body` to the recorder, as a part of the caller; whether it got through. A loss is counted.
    #[inline(always)]
    pub(crate) fn send_here(&mut self, body: Body<'_>) -> bool {
        let pushed = self.push_here(body);
        self.is_through(pushed)
    }

    #[inline]
    fn is_through(&self, pushed: Result<(), LostReason>) -> bool {
        if let Err(reason) = pushed {
            self.session.header.count_lost(reason);
        }
        pushed.is_ok()
    }

    /// Sends `body` to the recorder. What cannot be sent is no loss: the caller sends it again, or reports to its own
    /// caller that it could not.
    ///
    /// # Errors
    /// Why it did not get through.
    #[inline(never)]
    pub(crate) fn push(&mut self, body: Body<'_>) -> Result<(), LostReason> {
        self.push_here(body)
    }

    #[inline(always)]
    fn push_here(&mut self, body: Body<'_>) -> Result<(), LostReason> {
        let Sender { session, thread, head, at_once } = self;
        let (index, patience) = place(session, *thread);
        let _held = match at_once {
            Some(_) => None,
            None => Some(acquire(session, index, patience).ok_or(LostReason::RingBusy)?),
        };
        let ring = session.ring(index);
        let sending = Sending { ring, thread: *thread, at_once: *at_once };
        if sending.send(body, head) {
            return Ok(());
        }
        let send = || sending.send_again(body, head);
        let is_sent = wait_for(session, patience, &sending.ring, &STUCK[index], send);
        if is_sent { Ok(()) } else { Err(LostReason::RingFull) }
    }
}

/// One message on its way to a ring, whose lock the thread has.
struct Sending<'a> {
    ring: Ring<'a>,
    thread: ThreadId,
    at_once: Option<MonotonicNanos>,
}

impl Sending<'_> {
    /// Whether there was room for it.
    #[inline(always)]
    fn send(&self, body: Body<'_>, head: &mut [u8; codec::MAX_HEAD]) -> bool {
        // The time is taken here, after a wait, so that a ring's messages are in order.
        let time = self.at_once.unwrap_or_else(sys::now);
        let encoded = codec::encode(&Message { time, thread: self.thread, body }, head);
        // SAFETY: the lock makes this thread the ring's only producer in this process, and no other
        // process writes to a segment: a forked child leaves its parent's before it sends.
        unsafe { self.ring.push(encoded.head, encoded.tail) }.is_ok()
    }

    #[cold]
    #[inline(never)]
    fn send_again(&self, body: Body<'_>, head: &mut [u8; codec::MAX_HEAD]) -> bool {
        self.send(body, head)
    }
}

/// Until it is sent; false when it is time to give up.
#[cold]
fn wait_for(
    session: &Session,
    patience: Patience,
    ring: &Ring<'_>,
    stuck: &AtomicU64,
    mut send: impl FnMut() -> bool,
) -> bool {
    let mut wait = Wait::new(session, patience);
    while wait.again(ring, stuck) {
        if send() {
            return true;
        }
    }
    false
}

/// One wait for room.
struct Wait<'a> {
    session: &'a Session,
    patience: Patience,
    heartbeat: u64,
    deadline: u64,
}

impl<'a> Wait<'a> {
    fn new(session: &'a Session, patience: Patience) -> Self {
        let heartbeat = session.header.heartbeat();
        let deadline = sys::now().0 + patience.millis() * 1_000_000;
        Wait { session, patience, heartbeat, deadline }
    }

    /// Sleeps a little; false when it is time to give up.
    fn again(&mut self, ring: &Ring<'_>, stuck: &AtomicU64) -> bool {
        let position = ring.tail() + 1;
        if stuck.load(Ordering::Relaxed) == position || self.session.header.stopped() {
            return false;
        }
        let heartbeat = self.session.header.heartbeat();
        if self.patience == Patience::Long && heartbeat != self.heartbeat {
            self.heartbeat = heartbeat;
            self.deadline = sys::now().0 + self.patience.millis() * 1_000_000;
        }
        if sys::now().0 > self.deadline {
            stuck.store(position, Ordering::Relaxed);
            return false;
        }
        sys::sleep_micros(SLEEP_MICROS);
        true
    }
}
