//! Threads that decode segments ahead of the reader.
//!
//! Every checkpoint begins anew, so no segment needs another. The reader finds packets and sees to
//! their order; a thread takes a whole segment, whose packets come to it one by one, and gives back
//! pieces, which the reader takes segment after segment as if it had decoded them itself.
//!
//! ```text
//! Packets ── bodies ──> thread: Decoding ── pieces, a bounded number ──> Reader
//!    └────── jobs (a segment each, in their order) ──> the next thread that is free
//! ```
//!
//! Nobody waits for ever: segments are begun in their order, so the one whose pieces the reader wants
//! is being decoded; and its thread never waits for a packet that the reader wants to hear of, since
//! that one has been handed over before. A thread ends when the reader is gone.

use std::io;
use std::num::NonZero;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::checkpoint::Checkpoint;
use super::decoding::{Body, Decoding, Reading};
use super::piece::Piece;

/// Pieces of a segment that wait for the reader: most segments have fewer.
const MAX_PIECES: usize = 64;

/// The threads.
pub(super) struct Ahead {
    jobs: Sender<Job>,
    threads: usize,
}

/// A segment.
struct Job {
    checkpoint: Checkpoint,
    reading: Reading,
    bodies: Receiver<Body>,
    pieces: SyncSender<Piece>,
}

impl Ahead {
    /// Starts threads.
    ///
    /// # Errors
    /// If the system has none to give.
    pub(super) fn start(threads: NonZero<usize>) -> io::Result<Self> {
        let (jobs, receiver) = mpsc::channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads.get() {
            let receiver = Arc::clone(&receiver);
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let work = move || while next().map(Job::run).is_ok() {};
            thread::Builder::new().name("decode".into()).spawn(work)?;
        }
        Ok(Self { jobs, threads: threads.get() })
    }

    /// How many segments are worth being handed over at a time.
    pub(super) fn segments(&self) -> usize {
        2 * self.threads
    }

    /// Hands a segment over: where its packets go, and where its pieces come from.
    pub(super) fn begin(
        &self,
        checkpoint: Checkpoint,
        reading: Reading,
    ) -> (Sender<Body>, Receiver<Piece>) {
        let (sender, bodies) = mpsc::channel();
        let (pieces, receiver) = mpsc::sync_channel(MAX_PIECES);
        // Without threads there will be no pieces, and the reader says why.
        let _ = self.jobs.send(Job { checkpoint, reading, bodies, pieces });
        (sender, receiver)
    }
}

impl Job {
    /// Until the segment is over, something is wrong with it, or nobody wants to know.
    fn run(self) {
        let mut decoding = Decoding::new(&self.checkpoint, self.reading);
        for body in self.bodies {
            decoding.begin(body);
            loop {
                let piece = decoding.piece();
                let outcome = piece.outcome;
                if self.pieces.send(piece).is_err() {
                    return;
                }
                match outcome {
                    None => {}
                    Some(Ok(())) => break,
                    Some(Err(_)) => return,
                }
            }
        }
    }
}
