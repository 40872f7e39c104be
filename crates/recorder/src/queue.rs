//! From the receiver to a session's thread: a queue whose sender never waits.
//!
//! It is bounded by bytes, not by messages: the receiver may come by every millisecond with little,
//! while the thread is busy for longer than a target can wait (the first look at a large file's
//! debug information). What is full is for the sender to ask, before it takes more from a ring.
//!
//! All queues of this process share one room. A queue is full when it holds as much as is left of
//! that: alone it may take a half, of many slow ones each takes less, and there is always some left
//! for those that begin to fill (dynamic thresholds; Choudhury and Hahne, 1998). An empty queue is
//! never full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lifetrace_trace::fact::Exit;
use lifetrace_trace::ids::{AllocationId, Bytes};
use lifetrace_transport::message::{MonotonicNanos, SampleId};

use crate::collections::LastTotals;
use crate::end_memory::EndMemory;
use crate::looking::Looked;
use crate::losses::Losses;
use crate::order::Batch;
use crate::outcome::SessionEnd;

/// What may wait in all queues together, in bytes. Each can exceed its share by one batch.
const ROOM: usize = 12 << 20;

/// What waits in all queues of a room together, in bytes.
#[derive(Debug)]
struct Taken(AtomicUsize);

/// This process's room.
static TAKEN: Taken = Taken(AtomicUsize::new(0));

/// What samples are called in the trace.
pub(crate) type Numbers = Vec<(SampleId, AllocationId)>;

/// What the receiver hands over.
#[derive(Debug)]
pub(crate) enum Work {
    /// With the events lost so far.
    Events {
        batch: Batch,
        lost: Losses,
        /// What the process calls itself, if that is new.
        title: Option<Arc<str>>,
    },
    /// Somebody wants to know what the samples that live are called in the trace.
    Look(mpsc::Sender<Numbers>),
    /// What a look through the process's memory has found.
    Looked(Box<Looked>),
    End(Box<Ending>),
}

/// A session's last word.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) end: SessionEnd,
    /// Whether the program that has come after this one has said hello, too.
    pub(crate) is_followed: bool,
    pub(crate) time: MonotonicNanos,
    pub(crate) lost: Losses,
    /// Of a process that has died, if that is known.
    pub(crate) exit: Option<Exit>,
    /// The most resident memory that the process had been seen to have, if it was seen lately.
    pub(crate) peak_resident: Option<Bytes>,
    /// What is known of its memory at the end, if anybody wants to know.
    pub(crate) memory: Option<EndMemory>,
    /// What the agent has left behind of the collector.
    pub(crate) collector: Option<LastTotals>,
    /// What it has called itself last, if that is new.
    pub(crate) title: Option<Arc<str>>,
    /// The most memory of its own that it was seen to have, if it was.
    pub(crate) most_anonymous: Option<Bytes>,
}

impl Ending {
    /// How the process has ended; `None` of one that goes on.
    pub(crate) fn told_exit(&self) -> Option<Exit> {
        match self.end {
            SessionEnd::Died => Some(self.exit.unwrap_or(Exit::Unknown)),
            SessionEnd::Exec => Some(Exit::Exec),
            SessionEnd::Stopped | SessionEnd::Damaged => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct WorkSender {
    sender: mpsc::Sender<Work>,
    waiting: Arc<AtomicUsize>,
    taken: &'static Taken,
}

#[derive(Debug)]
pub(crate) struct WorkReceiver {
    receiver: mpsc::Receiver<Work>,
    waiting: Arc<AtomicUsize>,
    taken: &'static Taken,
}

/// An empty queue's two ends.
pub(crate) fn queue() -> (WorkSender, WorkReceiver) {
    queue_in(&TAKEN)
}

fn queue_in(taken: &'static Taken) -> (WorkSender, WorkReceiver) {
    let (sender, receiver) = mpsc::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let sender = WorkSender { sender, waiting: Arc::clone(&waiting), taken };
    (sender, WorkReceiver { receiver, waiting, taken })
}

impl WorkSender {
    pub(crate) fn is_full(&self) -> bool {
        is_full(self.waiting(), self.taken.0.load(Ordering::Relaxed))
    }

    /// How much waits, in bytes.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Hands over, even if the queue is full; false when the other end is gone.
    pub(crate) fn send(&self, work: Work) -> bool {
        let size = size(&work);
        self.waiting.fetch_add(size, Ordering::Relaxed);
        self.taken.0.fetch_add(size, Ordering::Relaxed);
        let sent = self.sender.send(work).is_ok();
        if !sent {
            self.taken.0.fetch_sub(size, Ordering::Relaxed);
        }
        sent
    }
}

fn is_full(own: usize, taken: usize) -> bool {
    own > 0 && own >= ROOM.saturating_sub(taken)
}

impl WorkReceiver {
    /// The oldest work, waiting for some up to `patience`.
    pub(crate) fn receive(&self, patience: Duration) -> Result<Work, RecvTimeoutError> {
        let work = self.receiver.recv_timeout(patience)?;
        self.waiting.fetch_sub(size(&work), Ordering::Relaxed);
        self.taken.0.fetch_sub(size(&work), Ordering::Relaxed);
        Ok(work)
    }
}

/// Nobody takes what is left.
impl Drop for WorkReceiver {
    fn drop(&mut self) {
        while self.receive(Duration::ZERO).is_ok() {}
    }
}

fn size(work: &Work) -> usize {
    match work {
        Work::Events { batch, .. } => batch.size(),
        Work::Look(_) | Work::Looked(_) | Work::End(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{allocation, encoded};
    use crate::order::Reorder;
    use lifetrace_transport::message::{Message, ThreadId};

    fn batch() -> Batch {
        let body = allocation(0, 8, &[0; 10_000]);
        let message = Message { time: MonotonicNanos(1), thread: ThreadId(1), body };
        let mut reorder = Reorder::new();
        reorder.push(&encoded(&message)).unwrap();
        reorder.release(None)
    }

    #[test]
    fn full_is_a_matter_of_bytes() {
        static ALONE: Taken = Taken(AtomicUsize::new(0));
        let (sender, receiver) = queue_in(&ALONE);
        let mut sent = 0;
        while !sender.is_full() {
            assert!(sender.send(Work::Events {
                batch: batch(),
                lost: Losses::default(),
                title: None
            }));
            sent += batch().size();
        }
        assert!(sent >= ROOM / 2 && sent < ROOM / 2 + batch().size());
        while receiver.receive(Duration::ZERO).is_ok() {}
        assert!(!sender.is_full());
    }

    #[test]
    fn many_full_queues_leave_room_for_others() {
        let mut taken = 0;
        for _ in 0..100 {
            let mut own = 0;
            while !is_full(own, taken) {
                own += 4096;
                taken += 4096;
            }
            assert!(own > 0);
        }
        assert!(taken <= ROOM + 100 * 4096);
        assert!(!is_full(0, taken));
    }

    #[test]
    fn an_end_without_its_other() {
        let (sender, receiver) = queue();
        assert!(matches!(receiver.receive(Duration::ZERO), Err(RecvTimeoutError::Timeout)));
        drop(receiver);
        assert!(!sender.send(Work::Events {
            batch: batch(),
            lost: Losses::default(),
            title: None
        }));
        let (sender, receiver) = queue();
        drop(sender);
        assert!(matches!(receiver.receive(Duration::ZERO), Err(RecvTimeoutError::Disconnected)));
    }
}
