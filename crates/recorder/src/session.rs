//! The receiver's half of a session: rings in, ordered batches out.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lifetrace_transport::codec::MAX_LEN;
use lifetrace_transport::ring::Damaged;
use lifetrace_transport::segment::LostReason;
use rustix::process::Pid;

use crate::clock::monotonic_now;
use crate::order::Reorder;
use crate::outcome::SessionEnd;
use crate::queue::{Ending, Work, WorkSender};
use crate::shm::Segment;

/// Room for any message.
pub(crate) type MessageBuffer = Box<[u8; MAX_LEN]>;

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
    /// While it is full, the rings are left alone.
    queue: WorkSender,
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
        queue: WorkSender,
        failed: Arc<AtomicBool>,
    ) -> Session {
        Session {
            pid,
            process,
            segment,
            reorder: Reorder::new(),
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
        self.handed_over
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
        if self.queue.is_full() {
            return Flow::Steady;
        }
        let now = monotonic_now();
        let bytes = self.drain(buffer);
        let batch = self.reorder.release(self.end.is_none().then_some(now));
        if !batch.is_empty() {
            self.send(Work::Events(batch));
        }
        if let Some(end) = self.end {
            let ending = Ending { end, time: now, lost: self.lost() };
            self.send(Work::End(ending));
            self.handed_over = true;
        }
        match bytes {
            0 => Flow::Silent,
            bytes if bytes < self.segment.ring_bytes() / 8 => Flow::Steady,
            _ => Flow::Torrent,
        }
    }

    fn send(&mut self, work: Work) {
        if !self.queue.send(work) {
            // The thread is gone, and with it all reason to go on.
            self.close(SessionEnd::Stopped);
            self.handed_over = true;
        }
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
