//! The receiver's half of a session: rings in, ordered batches out.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use lifetrace_transport::codec::MAX_LEN;
use lifetrace_transport::message::MonotonicNanos;
use lifetrace_transport::ring::Damaged;
use lifetrace_transport::segment::LostReason;
use rustix::process::Pid;

use crate::clock::monotonic_now;
use crate::order::{Batch, Reorder};
use crate::outcome::SessionEnd;
use crate::shm::Segment;

/// Room for any message.
pub(crate) type MessageBuffer = Box<[u8; MAX_LEN]>;

/// What the receiver hands to a session's own thread.
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

/// How much a pass over the rings has found, in growing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    /// Nothing.
    Silent,
    /// Something; or the session's thread has no time for us.
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
    /// What the bounded queue had no room for; while there is any, the rings are left alone.
    outbox: VecDeque<Work>,
    queue: SyncSender<Work>,
    /// Set by the session's thread when the trace cannot be written any more.
    failed: Arc<AtomicBool>,
    end: Option<SessionEnd>,
    handed_over: bool,
}

impl Session {
    pub(crate) fn new(
        pid: Pid,
        process: OwnedFd,
        segment: Segment,
        queue: SyncSender<Work>,
        failed: Arc<AtomicBool>,
    ) -> Session {
        Session {
            pid,
            process,
            segment,
            reorder: Reorder::new(),
            outbox: VecDeque::new(),
            queue,
            failed,
            end: None,
            handed_over: false,
        }
    }

    /// Nothing new will come; what is in the rings still counts.
    pub(crate) fn close(&mut self, end: SessionEnd) {
        self.segment.header().stop();
        self.end.get_or_insert(end);
    }

    /// Whether all has been handed over.
    pub(crate) fn is_over(&self) -> bool {
        self.handed_over && self.outbox.is_empty()
    }

    /// Whether any allocation has been heard.
    pub(crate) fn has_samples(&self) -> bool {
        self.reorder.has_samples()
    }

    /// Whether nothing new is awaited.
    pub(crate) fn is_closed(&self) -> bool {
        self.end.is_some()
    }

    /// One pass over the rings.
    pub(crate) fn pass(&mut self, buffer: &mut MessageBuffer) -> Flow {
        self.segment.header().beat();
        if self.failed.load(Ordering::Relaxed) {
            self.segment.header().stop();
        }
        if !self.deliver() || self.handed_over {
            return Flow::Steady;
        }
        let now = monotonic_now();
        let bytes = self.drain(buffer);
        let batch = self.reorder.release(self.end.is_none().then_some(now));
        if !batch.is_empty() {
            self.outbox.push_back(Work::Events(batch));
        }
        if let Some(end) = self.end {
            self.outbox.push_back(Work::End(Ending { end, time: now, lost: self.lost() }));
            self.handed_over = true;
        }
        self.deliver();
        match bytes {
            0 => Flow::Silent,
            bytes if bytes < self.segment.ring_bytes() / 8 => Flow::Steady,
            _ => Flow::Torrent,
        }
    }

    /// Empties the outbox as far as the queue has room; true when it is empty.
    fn deliver(&mut self) -> bool {
        while let Some(work) = self.outbox.pop_front() {
            match self.queue.try_send(work) {
                Ok(()) => {}
                Err(TrySendError::Full(work)) => {
                    self.outbox.push_front(work);
                    return false;
                }
                // The thread is gone, and with it all reason to go on.
                Err(TrySendError::Disconnected(_)) => {
                    self.close(SessionEnd::Stopped);
                    self.outbox.clear();
                    self.handed_over = true;
                }
            }
        }
        true
    }

    fn drain(&mut self, buffer: &mut MessageBuffer) -> u64 {
        let mut bytes = 0;
        for ring in 0..self.segment.ring_count() {
            match self.drain_ring(ring, buffer) {
                Ok(drained) => bytes += drained,
                Err(Damaged) => self.close(SessionEnd::Damaged),
            }
        }
        bytes
    }

    /// Takes what was in the ring when this began, so that no producer can keep us here.
    fn drain_ring(&mut self, ring: usize, buffer: &mut MessageBuffer) -> Result<u64, Damaged> {
        let waiting = self.segment.used(ring);
        let mut taken = 0;
        while taken < waiting {
            let Some(message) = self.segment.pop(ring, &mut buffer[..])? else { break };
            taken += record_bytes(message);
            self.reorder.push(message).map_err(|_| Damaged)?;
        }
        Ok(taken)
    }

    fn lost(&self) -> Vec<(LostReason, u64)> {
        let header = self.segment.header();
        let counts = LostReason::ALL.map(|reason| (reason, header.lost(reason)));
        counts.into_iter().filter(|&(_, count)| count > 0).collect()
    }
}

/// The room a message takes in a ring: its length, itself, and padding.
fn record_bytes(message: &[u8]) -> u64 {
    8 + message.len().next_multiple_of(8) as u64
}
