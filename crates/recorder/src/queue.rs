//! From the receiver to a session's thread: a queue whose sender never waits.
//!
//! It is bounded by bytes, not by messages: the receiver may come by every millisecond with little,
//! while the thread is busy for longer than a target can wait (the first look at a large file's
//! debug information). What is full is for the sender to ask, before it takes more from a ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lifetrace_transport::message::MonotonicNanos;
use lifetrace_transport::segment::LostReason;

use crate::order::Batch;
use crate::outcome::SessionEnd;

/// So many bytes may wait before the queue is full.
const ROOM: usize = 16 << 20;

/// What the receiver hands over.
#[derive(Debug)]
pub(crate) enum Work {
    Events(Batch),
    End(Ending),
}

/// A session's last word.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) end: SessionEnd,
    pub(crate) time: MonotonicNanos,
    pub(crate) lost: Vec<(LostReason, u64)>,
}

#[derive(Debug)]
pub(crate) struct WorkSender {
    sender: mpsc::Sender<Work>,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(crate) struct WorkReceiver {
    receiver: mpsc::Receiver<Work>,
    waiting: Arc<AtomicUsize>,
}

/// An empty queue's two ends.
pub(crate) fn queue() -> (WorkSender, WorkReceiver) {
    let (sender, receiver) = mpsc::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let sender = WorkSender { sender, waiting: Arc::clone(&waiting) };
    (sender, WorkReceiver { receiver, waiting })
}

impl WorkSender {
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= ROOM
    }

    /// Hands over, even if the queue is full; false when the other end is gone.
    pub(crate) fn send(&self, work: Work) -> bool {
        self.waiting.fetch_add(size(&work), Ordering::Relaxed);
        self.sender.send(work).is_ok()
    }
}

impl WorkReceiver {
    /// The oldest work, waiting for some up to `patience`.
    pub(crate) fn receive(&self, patience: Duration) -> Result<Work, RecvTimeoutError> {
        let work = self.receiver.recv_timeout(patience)?;
        self.waiting.fetch_sub(size(&work), Ordering::Relaxed);
        Ok(work)
    }
}

fn size(work: &Work) -> usize {
    match work {
        Work::Events(batch) => batch.size(),
        Work::End(_) => 0,
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
        let (sender, receiver) = queue();
        let mut sent = 0;
        while !sender.is_full() {
            assert!(sender.send(Work::Events(batch())));
            sent += 1;
        }
        assert_eq!(sent, ROOM.div_ceil(batch().size()));
        receiver.receive(Duration::ZERO).unwrap();
        assert!(!sender.is_full());
    }

    #[test]
    fn an_end_without_its_other() {
        let (sender, receiver) = queue();
        assert!(matches!(receiver.receive(Duration::ZERO), Err(RecvTimeoutError::Timeout)));
        drop(receiver);
        assert!(!sender.send(Work::Events(batch())));
        let (sender, receiver) = queue();
        drop(sender);
        assert!(matches!(receiver.receive(Duration::ZERO), Err(RecvTimeoutError::Disconnected)));
    }
}
