//! What both sides know between two checkpoints.

use super::backtraces::Backtraces;
use super::checkpoint::Checkpoint;
use super::events::Events;
use super::facts::Facts;
use super::frames::Frames;
use super::stacks::Stacks;

/// The models of all columns. Each checkpoint begins anew.
pub(super) struct Segment {
    pub(super) events: Events,
    pub(super) backtraces: Backtraces,
    pub(super) frames: Frames,
    pub(super) facts: Facts,
    pub(super) stacks: Stacks,
}

impl Segment {
    pub(super) fn new(checkpoint: &Checkpoint, is_writer: bool) -> Self {
        Self {
            events: checkpoint.events(is_writer),
            backtraces: Backtraces::new(),
            frames: Frames::new(),
            facts: Facts::new(),
            stacks: Stacks::default(),
        }
    }

    /// Begins anew, one part after the other: at no time is there memory for two segments.
    pub(super) fn renew(&mut self, checkpoint: &Checkpoint, is_writer: bool) {
        let Self { events, backtraces, frames, facts, stacks } = self;
        *stacks = Stacks::default();
        *facts = Facts::new();
        *frames = Frames::new();
        *backtraces = Backtraces::new();
        *events = checkpoint.events(is_writer);
    }
}
