//! The data packet that is being filled.

use super::coder::Encoder;
use super::data::{Columns, FACTS, MAX_STEPS, PUSHED, STEPS, TOLD};
use crate::framing::packet::HEAD;
use crate::ids::Timestamp;

/// A packet is closed when its columns have so many bytes.
const FULL: usize = 32 << 10;

/// A packet is closed when it has so many new frames of backtraces.
const MANY_PUSHED: usize = 1 << 19;

/// A packet is closed when its columns have so many bytes and [`PATIENCE`] has passed since it was begun.
const WORTHWHILE: usize = 4 << 10;

/// How long a packet waits for more, if it has [`WORTHWHILE`] bytes, in microseconds.
const PATIENCE: u64 = 5_000_000;

/// A packet is closed after this time whatever is in it, in microseconds.
const LONG_PATIENCE: u64 = 30_000_000;

/// A column of frames is closed when it is as long as that, even in the middle of a backtrace.
const FULL_OF_FRAMES: usize = 1 << 20;

/// What has been said since the last packet.
pub(super) struct Draft {
    pub(super) frames: Encoder,
    pub(super) events: Encoder,
    pub(super) backtraces: Encoder,
    pub(super) facts: Encoder,
    /// Steps in the column of events.
    pub(super) steps: u64,
    /// Frames in the column of frames.
    pub(super) frame_count: u64,
    /// What the other columns say, as their [allowances](super::data::Allowance) count it.
    pub(super) told: usize,
    pub(super) pushed: usize,
    pub(super) fact_bytes: usize,
    /// Time of its first step.
    begin: Timestamp,
}

impl Draft {
    pub(super) fn new(begin: Timestamp) -> Self {
        Self {
            frames: Encoder::new(),
            events: Encoder::new(),
            backtraces: Encoder::new(),
            facts: Encoder::new(),
            steps: 0,
            frame_count: 0,
            told: 0,
            pushed: 0,
            fact_bytes: 0,
            begin,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps == 0 && self.frame_count == 0
    }

    /// Whether it should be closed before a step at `time`, which may take three with its directives.
    pub(super) fn is_due(&self, time: Timestamp) -> bool {
        let age = time.0.saturating_sub(self.begin.0);
        let is_old = age >= PATIENCE && self.len() >= WORTHWHILE || age >= LONG_PATIENCE;
        let is_full = self.len() >= FULL || self.steps + 4 > MAX_STEPS;
        !self.is_empty() && (is_full || is_old || self.pushed >= MANY_PUSHED)
    }

    pub(super) fn is_full_of_frames(&self) -> bool {
        self.frames.len() >= FULL_OF_FRAMES
    }

    /// The payload of the packet.
    pub(super) fn finish(self, sequence: u64) -> Vec<u8> {
        let mut columns = Columns {
            frames: self.frames.finish(),
            events: self.events.finish(),
            backtraces: self.backtraces.finish(),
            facts: self.facts.finish(),
        };
        TOLD.pad(&mut columns.frames, self.told);
        STEPS.pad(&mut columns.events, self.steps as usize);
        PUSHED.pad(&mut columns.backtraces, self.pushed);
        FACTS.pad(&mut columns.facts, self.fact_bytes);
        columns.encode(sequence, self.steps, self.frame_count)
    }

    /// Length of the packet, or a little more.
    pub(super) fn longest(&self) -> usize {
        /// What the end of a stream adds, and a column's length before it.
        const COLUMN: usize = 16;
        const FIELDS: usize = 64;
        let columns = [
            self.frames.len().max(TOLD.needed(self.told)),
            self.events.len().max(STEPS.needed(self.steps as usize)),
            self.backtraces.len().max(PUSHED.needed(self.pushed)),
            self.facts.len().max(FACTS.needed(self.fact_bytes)),
        ];
        HEAD + FIELDS + columns.iter().map(|column| column + COLUMN).sum::<usize>()
    }

    fn len(&self) -> usize {
        self.frames.len() + self.events.len() + self.backtraces.len() + self.facts.len()
    }
}
