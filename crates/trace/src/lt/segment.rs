//! What both sides know between two checkpoints.

use super::backtraces::Backtraces;
use super::checkpoint::Checkpoint;
use super::events::Events;
use super::facts::Facts;
use super::frames::Frames;
use super::stacks::Stacks;

/// The major version since which backtraces have runs.
const RUNS_SINCE: u64 = 2;

/// The models of all columns. Each checkpoint begins anew.
pub(super) struct Segment {
    pub(super) events: Events,
    pub(super) backtraces: Backtraces,
    pub(super) frames: Frames,
    pub(super) facts: Facts,
    pub(super) stacks: Stacks,
}

impl Segment {
    /// To be read, of a trace of that major version.
    pub(super) fn to_read(checkpoint: &Checkpoint, major: u64) -> Self {
        Self::new(checkpoint, major >= RUNS_SINCE, false)
    }

    /// To be written.
    pub(super) fn to_write(checkpoint: &Checkpoint) -> Self {
        Self::new(checkpoint, true, true)
    }

    fn new(checkpoint: &Checkpoint, has_runs: bool, is_writer: bool) -> Self {
        Self {
            events: checkpoint.events(is_writer),
            backtraces: Backtraces::new(has_runs),
            frames: Frames::new(),
            facts: Facts::new(),
            stacks: Stacks::default(),
        }
    }

    /// Begins anew to be written, one part after the other: at no time is there memory for two segments.
    pub(super) fn renew(&mut self, checkpoint: &Checkpoint) {
        let Self { events, backtraces, frames, facts, stacks } = self;
        *stacks = Stacks::default();
        *facts = Facts::new();
        *frames = Frames::new();
        *backtraces = Backtraces::new(true);
        *events = checkpoint.events(true);
    }
}
