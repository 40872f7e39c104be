//! The receiver's half of a session: rings in, ordered batches out.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lifetrace_trace::fact::Exit;
use lifetrace_transport::codec::MAX_LEN;
use lifetrace_transport::message::{Body, Message, MonotonicNanos};
use lifetrace_transport::ring::Damaged;
use rustix::process::Pid;

use crate::clock::monotonic_now;
use crate::end_memory::EndMemory;
use crate::image::Image;
use crate::looking::{Looked, Looking};
use crate::losses::Losses;
use crate::notes::{Note, Notes};
use crate::observe::ObserverHandle;
use crate::order::Reorder;
use crate::outcome::SessionEnd;
use crate::queue::{Ending, Work, WorkSender};
use crate::shm::Segment;
use crate::stat::Stat;
use crate::title::Title;
use crate::usage::Usage;

/// A pass takes no more than this from each ring, in bytes, so that a batch is small beside what may
/// wait in the queues.
const MOST_PER_RING: u64 = 256 << 10;

/// A trace that takes nothing for so long is taken to be stuck (a disk that hangs): from then on
/// there is no sign of life for the target, which, if recording is exact, would wait for ever.
const STUCK: Duration = Duration::from_secs(30);

/// How often one looks whether a process has executed another program. The last look before that is
/// the end of the trace, so there are more of them in the first moments.
const LOOKS_APART: Duration = Duration::from_millis(20);

/// So long after the first of a young session comes the next; from then on half of its age passes
/// until there is one more.
const FIRST_LOOKS_APART: Duration = Duration::from_millis(1);

/// With more sessions than these each is looked at more rarely, so that looks do not cost more.
const LOOKED_AT_OFTEN: u64 = 64;

/// Room for any message.
pub(crate) type MessageBuffer = Box<[u8; MAX_LEN]>;

/// Messages may be gathered so long before they are handed over. To work on many at once is cheaper than on a few
/// again and again: in between, what the trace is written by has left the processor's caches.
const LONGEST_GATHERING: Duration = Duration::from_millis(100);

/// So many bytes are handed over at once: about what a session's rings hold.
const WORTHWHILE: usize = 1 << 20;

/// How much a pass over the rings has found, in growing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    /// Nothing, or so little that a ring holds many times as much.
    Trickle,
    /// As much as one would like to find; or the session's thread has no time for us.
    Steady,
    /// So much that the next pass should follow at once.
    Torrent,
}

/// A session whose rings are being drained.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) pid: Pid,
    /// Readable when the process has ended.
    pub(crate) process: OwnedFd,
    segment: Segment,
    reorder: Reorder,
    notes: Notes,
    /// To be handed over.
    noted: Vec<Note>,
    observer: Option<ObserverHandle>,
    /// What it called itself when it said hello.
    title: Title,
    /// While it is full, the rings are left alone.
    queue: Arc<WorkSender>,
    /// What waited in it when that last changed, and the time.
    taken: (usize, Instant),
    /// Set by the session's thread when the trace cannot be written any more.
    failed: Arc<AtomicBool>,
    image: Image,
    since: MonotonicNanos,
    /// When the image was there last.
    seen: MonotonicNanos,
    end: Option<SessionEnd>,
    /// When it ended, if that was before it was noticed.
    ended: Option<MonotonicNanos>,
    /// Whether it was noticed by what has come after.
    has_seen_successor: bool,
    exit: Option<Exit>,
    usage: Option<Usage>,
    handed_over: bool,
    /// When messages were handed over last.
    last_handover: Instant,
    /// From then on they are gathered for no longer than this.
    gathering: Duration,
    /// What had been lost when the agent was told to stop. What it cannot say after that is no loss: it may still
    /// be waiting for room in a ring.
    lost_at_stop: Option<Losses>,
    /// If it is to be looked through.
    looking: Option<Looking>,
    /// It is to end as soon as its process has been looked through.
    is_ending: bool,
}

impl Session {
    pub(crate) fn new(
        image: Image,
        title: Title,
        process: OwnedFd,
        segment: Segment,
        queue: Arc<WorkSender>,
        failed: Arc<AtomicBool>,
    ) -> Session {
        let now = monotonic_now();
        let hears_mappings = segment.settings().sources.has_mappings();
        let is_looked_through = segment.settings().looks_for_lost != 0 || hears_mappings;
        let looking = is_looked_through.then(|| Looking::new(segment.exit_gate(), hears_mappings));
        Session {
            pid: image.pid(),
            process,
            segment,
            reorder: Reorder::new(),
            notes: Notes::default(),
            noted: Vec::new(),
            observer: None,
            title,
            queue,
            taken: (0, Instant::now()),
            failed,
            image,
            since: now,
            seen: now,
            end: None,
            ended: None,
            has_seen_successor: false,
            exit: None,
            usage: None,
            handed_over: false,
            last_handover: Instant::now(),
            gathering: Duration::ZERO,
            lost_at_stop: None,
            looking,
            is_ending: false,
        }
    }

    /// Has the process observed from outside.
    pub(crate) fn have_observed(&mut self, observer: ObserverHandle) {
        observer.watch(self.image.clone(), self.title.clone(), self.notes.clone());
        self.observer = Some(observer);
    }

    /// Nobody looks at what is told before it is in a file, so it need not be handed over with each pass.
    pub(crate) fn gather(&mut self) {
        self.gathering = LONGEST_GATHERING;
    }

    /// Tells the agent whether to sample. A session that is about to end does not: else a program that is sampled densely
    /// could send more than can be taken in, for ever.
    pub(crate) fn set_paused(&self, paused: bool) {
        self.segment.header().set_paused(paused || self.is_ending);
    }

    /// Has the process looked through now, if that is done at all.
    pub(crate) fn want_look(&mut self) {
        if let Some(looking) = &mut self.looking {
            looking.want();
        }
    }

    /// Ends the session from our side, when its process has been looked through.
    pub(crate) fn end(&mut self) {
        let is_open = self.end.is_none();
        self.is_ending = true;
        if !self.looking.as_mut().is_some_and(|looking| is_open && looking.delays_stop()) {
            self.close(SessionEnd::Stopped);
        }
    }

    /// Nothing new will come; what is in the rings still counts.
    pub(crate) fn close(&mut self, end: SessionEnd) {
        self.stop();
        if self.end.is_none() && end == SessionEnd::Died {
            let stat = Stat::read(self.pid);
            self.exit = stat.as_ref().and_then(Stat::exit);
            self.usage = stat.and_then(|stat| Usage::of_ended(self.pid, &stat));
        }
        self.end.get_or_insert(end);
        if let Some(looking) = &mut self.looking {
            looking.give_up();
        }
    }

    /// The process has executed another program, which has said hello.
    pub(crate) fn replace(&mut self) {
        self.has_seen_successor = true;
        self.close_at_exec();
    }

    /// Closes the session if the process is found to have executed another program. One of so many
    /// `sessions`.
    pub(crate) fn look_for_exec(&mut self, sessions: usize) {
        let now = monotonic_now();
        if self.end.is_some() || !self.until_next_look(now, sessions).is_zero() {
            return;
        }
        match self.image.is_gone() {
            false => self.seen = now,
            true if self.image.is_replaced() => self.close_at_exec(),
            // It ends, which its handle tells soon.
            true => {}
        }
    }

    /// When to look again, of so many `sessions`.
    pub(crate) fn until_next_look(&self, now: MonotonicNanos, sessions: usize) -> Duration {
        let nanos = |from: MonotonicNanos, to: MonotonicNanos| to.0.saturating_sub(from.0);
        let usually = LOOKS_APART.as_nanos() as u64 * (1 + sessions as u64 / LOOKED_AT_OFTEN);
        let first = FIRST_LOOKS_APART.as_nanos() as u64;
        let apart = (nanos(self.since, self.seen) / 2).max(first).min(usually);
        Duration::from_nanos(apart.saturating_sub(nanos(self.seen, now)))
    }

    /// Whatever came between was the other program's.
    fn close_at_exec(&mut self) {
        if self.end.is_none() && self.image.is_gone() {
            self.ended = Some(self.seen);
        }
        self.close(SessionEnd::Exec);
    }

    /// Whether all has been handed over.
    pub(crate) fn is_over(&self) -> bool {
        self.handed_over
    }

    /// Whether any allocation has been observed.
    pub(crate) fn has_samples(&self) -> bool {
        self.reorder.has_samples()
    }

    /// Whether its process has executed another program, as far as is known.
    pub(crate) fn has_left_by_exec(&self) -> bool {
        self.end == Some(SessionEnd::Exec)
    }

    /// Whether nothing new is awaited.
    pub(crate) fn is_closed(&self) -> bool {
        self.end.is_some()
    }

    /// One pass over the rings.
    pub(crate) fn pass(&mut self, buffer: &mut MessageBuffer) -> Flow {
        if !self.is_stuck() {
            self.segment.header().beat();
        }
        if self.failed.load(Ordering::Relaxed) {
            self.stop();
        }
        if self.queue.is_full() {
            return Flow::Steady;
        }
        // None of them is of a later time than what is handed over with them.
        self.noted.append(&mut self.notes.take());
        if let Some(looking) = &mut self.looking {
            looking.collect();
        }
        let now = monotonic_now();
        let drained = self.drain(buffer);
        let looked = self.look(&drained);
        let is_looking = self.looking.as_ref().is_some_and(Looking::is_under_way);
        let is_last = self.end.is_some() && drained.rest_from.is_none() && !is_looking;
        let is_due = looked.is_some() || self.last_handover.elapsed() >= self.gathering;
        if is_last || is_due || self.reorder.size() >= WORTHWHILE {
            let until = drained.rest_from.map_or(now, |rest| rest.min(now));
            self.hand_over((!is_last).then_some(until));
        }
        if let Some(looked) = looked {
            self.send(Work::Looked(Box::new(looked)));
        }
        if let Some(end) = self.end.filter(|_| is_last) {
            let time = self.ended.unwrap_or(now);
            let ending = Ending {
                end,
                is_followed: self.has_seen_successor,
                time,
                lost: self.lost(),
                exit: self.exit,
                peak_resident: self.notes.peak(time),
                memory: self.end_memory(),
                collector: self.segment.header().last_words().collector(),
                title: self.notes.take_title(),
                most_anonymous: self.notes.most_anonymous(),
            };
            self.send(Work::End(Box::new(ending)));
            self.handed_over = true;
        }
        match drained.bytes {
            _ if drained.rest_from.is_some() => Flow::Torrent,
            bytes if bytes < self.segment.ring_bytes() / 64 => Flow::Trickle,
            bytes if bytes < self.segment.ring_bytes() / 8 => Flow::Steady,
            _ => Flow::Torrent,
        }
    }

    /// Goes on with the look through the process, and tells what it has found.
    fn look(&mut self, drained: &Drained) -> Option<Looked> {
        let looking = self.looking.as_mut().filter(|_| drained.rest_from.is_none())?;
        looking.go_on(self.pid, Losses::read(self.segment.header()))
    }

    fn end_memory(&self) -> Option<EndMemory> {
        let words = self.segment.header().last_words();
        let is_wanted = self.observer.as_ref().is_some_and(ObserverHandle::wants_counters);
        is_wanted.then(|| EndMemory::new(words, self.usage))
    }

    /// Messages older than `before`, or all there are, and what was noted.
    fn hand_over(&mut self, before: Option<MonotonicNanos>) {
        self.last_handover = Instant::now();
        let mut batch = self.reorder.release(before);
        batch.notes = std::mem::take(&mut self.noted);
        let title = self.notes.take_title();
        if !batch.is_empty() || title.is_some() {
            self.send(Work::Events { batch, lost: self.lost(), title });
        }
    }

    /// Whether the session's thread has not taken anything from a full queue for long.
    fn is_stuck(&mut self) -> bool {
        let waiting = self.queue.waiting();
        if waiting != self.taken.0 || !self.queue.is_full() {
            self.taken = (waiting, Instant::now());
        }
        self.taken.1.elapsed() > STUCK
    }

    fn send(&mut self, work: Work) {
        if !self.queue.send(work) {
            // The thread is gone, and with it all reason to go on.
            self.close(SessionEnd::Stopped);
            self.handed_over = true;
        }
    }

    fn drain(&mut self, buffer: &mut MessageBuffer) -> Drained {
        let mut all = Drained::default();
        for ring in 0..self.segment.ring_count() {
            match self.drain_ring(ring, buffer) {
                Ok(drained) => all.add(&drained),
                Err(Damaged) => self.close(SessionEnd::Damaged),
            }
        }
        all
    }

    /// Takes what was in the ring when this began, so that no producer can keep us here, or as much
    /// as a pass may take.
    fn drain_ring(&mut self, ring: usize, buffer: &mut MessageBuffer) -> Result<Drained, Damaged> {
        let waiting = self.segment.used(ring);
        let (mut bytes, mut last) = (0, None);
        while bytes < waiting.min(MOST_PER_RING) {
            let Some(record) = self.segment.pop(ring, &mut buffer[..])? else { break };
            bytes += record_bytes(record);
            let message = self.reorder.push(record).map_err(|_| Damaged)?;
            last = Some(message.time);
            if let Some(looking) = &mut self.looking {
                looking.take(&message);
            }
            if let Some(observer) = &self.observer {
                report_threads(observer, self.pid, &message);
            }
        }
        Ok(Drained { bytes, rest_from: last.filter(|_| bytes < waiting) })
    }

    /// Tells the agent that nobody listens any more.
    fn stop(&mut self) {
        let lost = self.lost();
        self.lost_at_stop.get_or_insert(lost);
        self.segment.header().stop();
    }

    fn lost(&self) -> Losses {
        self.lost_at_stop.unwrap_or_else(|| Losses::read(self.segment.header()))
    }
}

/// What a pass has taken from rings.
#[derive(Clone, Copy, Debug, Default)]
struct Drained {
    bytes: u64,
    /// The time of the last message taken from a ring that has more, the earliest of several:
    /// younger ones may have to wait for what is left there.
    rest_from: Option<MonotonicNanos>,
}

impl Drained {
    fn add(&mut self, other: &Drained) {
        self.bytes += other.bytes;
        self.rest_from = match (self.rest_from, other.rest_from) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (one, another) => one.or(another),
        };
    }
}

fn report_threads(observer: &ObserverHandle, pid: Pid, message: &Message<'_>) {
    match message.body {
        Body::ThreadStarted { os_id } => observer.thread_started(pid, message.thread, os_id),
        Body::ThreadEnded => observer.thread_ended(pid, message.thread),
        _ => {}
    }
}

/// The room a message takes in a ring: its length, itself, and padding.
fn record_bytes(message: &[u8]) -> u64 {
    8 + message.len().next_multiple_of(8) as u64
}
