//! A heap at one moment, for whoever wants to make estimates of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{Module, Sampler};
use lifetrace_trace::frame::Frame;

use super::blocks::Sum;
use super::tree::{NOWHERE, Node};

/// What had been sampled of a process, and how much of it was live, at one moment: all of it, or
/// what happened [since](Snapshot::since) another.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Process id.
    pub pid: u32,
    /// The program.
    pub executable: PathBuf,
    /// From here on things were counted.
    pub from: SystemTime,
    /// When it was taken. What was sampled within the last twentieth of a second may be missing.
    pub until: SystemTime,
    /// How blocks were sampled; the rate is that of a word.
    pub samplers: Vec<Sampler>,
    /// The object files that frames are in, by number.
    pub modules: Vec<Module>,
    /// Events that were lost before they were counted, allocations or deaths.
    pub lost: u64,
    /// By backtrace, size and sampler, in the order in which they were met first.
    pub blocks: Vec<Blocks>,
    /// Of the tree.
    pub(crate) nodes: Vec<Node>,
    pub(crate) frames: Vec<Arc<Frame>>,
    /// Which session it is of.
    pub(crate) session: u64,
}

/// Sampled blocks of one backtrace that have about the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Where they were allocated.
    pub backtrace: Backtrace,
    /// Of which heap.
    pub source: Source,
    /// Whether these are bytes that were added to blocks (by `realloc`), and not blocks of their own.
    pub is_growth: bool,
    /// Place in the snapshot's list of samplers.
    pub sampler: usize,
    /// Mean size of one, of all that have been, in bytes; their number of words is the same, or differs
    /// by less than a 64th.
    pub mean_bytes: u64,
    /// All that were sampled.
    pub allocated: Sum,
    /// Those of them that have died. In what happened since another snapshot, there may be more than
    /// were allocated.
    pub freed: Sum,
}

/// A backtrace of a [`Snapshot`], and of those of the same session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Backtrace(pub(crate) u32);

impl Snapshot {
    /// The frames of a backtrace, innermost first, each with a number that is its own.
    pub fn frames(&self, backtrace: Backtrace) -> impl Iterator<Item = (u32, &Frame)> {
        let node = |number: u32| (number != NOWHERE).then(|| self.nodes[number as usize]);
        std::iter::successors(node(backtrace.0), move |inner| node(inner.caller))
            .map(|Node { frame, .. }| (frame, &*self.frames[frame as usize]))
    }

    /// Sampled blocks that have not died, of those that were allocated in its time.
    pub fn live_samples(&self) -> u64 {
        let live = |it: &Blocks| it.allocated.blocks.saturating_sub(it.freed.blocks);
        self.blocks.iter().map(live).sum()
    }

    /// How long things were counted.
    pub fn duration(&self) -> Duration {
        self.until.duration_since(self.from).unwrap_or_default()
    }

    /// What happened between `earlier` and this one: what was allocated, and what died, of older blocks too.
    /// `None` if they are not of the same session, or in another order.
    pub fn since(&self, earlier: &Snapshot) -> Option<Snapshot> {
        let is_later = earlier.session == self.session
            && earlier.from == self.from
            && earlier.blocks.len() <= self.blocks.len();
        is_later.then(|| {
            let mut rest = self.clone();
            for (blocks, before) in rest.blocks.iter_mut().zip(&earlier.blocks) {
                blocks.allocated = blocks.allocated.since(before.allocated);
                blocks.freed = blocks.freed.since(before.freed);
            }
            rest.lost = self.lost.saturating_sub(earlier.lost);
            rest.from = earlier.until;
            rest
        })
    }
}
