//! A heap at one moment, for whoever wants to make estimates of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lifetrace_trace::call_tree::NodeId;
use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{Module, Sampler};
use lifetrace_trace::frame::Frame;
use rustc_hash::FxHashSet;

use super::blocks::{Balance, Kind, Sum};

/// What had been sampled of a process, and how much of it was live, at one moment: all of it, or
/// what happened [since](Snapshot::since) another.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Process id.
    pub pid: u32,
    /// The program.
    pub executable: Arc<Path>,
    /// From here on things were counted: since sampling began, or since another snapshot.
    pub from: SystemTime,
    /// Whether it is since another one.
    pub is_delta: bool,
    /// When it was taken. What was sampled right before may be missing: within a twentieth of a second, but
    /// for the first time that names of code are looked up, which takes as long as that takes.
    pub until: SystemTime,
    /// How blocks were sampled; the rate is that of a word.
    pub samplers: Vec<Sampler>,
    /// The object files that frames are in, by number.
    pub modules: Vec<Arc<Module>>,
    /// Events that were lost before they were counted, allocations or deaths.
    pub lost: u64,
    /// By backtrace, size and sampler, in the order in which they were met first.
    pub blocks: Vec<Blocks>,
    /// Of each backtrace but the empty one, by number from 1 on: its caller's, and the number of its frame.
    pub(crate) nodes: Vec<(NodeId, u32)>,
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
    /// What those that live take with all that belongs to them, in bytes, as far as the runtime has measured it; what
    /// it has not counts as at its birth. In what happened since another snapshot, what this has changed by.
    pub taken: i64,
}

/// A backtrace of a [`Snapshot`], and of those of the same session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Backtrace(pub(crate) NodeId);

/// The object files that frames are in.
pub(crate) fn modules(frames: &[Arc<Frame>]) -> FxHashSet<u32> {
    frames.iter().filter_map(|frame| frame.module).collect()
}

impl Blocks {
    pub(crate) fn of(kind: &Kind, balance: &Balance) -> Blocks {
        Blocks {
            backtrace: Backtrace(kind.node),
            source: kind.source,
            is_growth: kind.is_growth,
            sampler: kind.sampler.into(),
            mean_bytes: balance.allocated.bytes / balance.allocated.blocks.max(1),
            allocated: balance.allocated,
            freed: balance.freed,
            taken: i64::try_from(balance.taken).unwrap_or(i64::MAX),
        }
    }
}

impl Snapshot {
    /// An empty one of a program, with room for blocks, nodes, frames, modules and samplers.
    pub(crate) fn with_room(
        executable: Arc<Path>,
        [blocks, nodes, frames, modules, samplers]: [usize; 5],
    ) -> Snapshot {
        Snapshot {
            pid: 0,
            executable,
            from: SystemTime::UNIX_EPOCH,
            is_delta: false,
            until: SystemTime::UNIX_EPOCH,
            samplers: Vec::with_capacity(samplers),
            modules: Vec::with_capacity(modules),
            lost: 0,
            blocks: Vec::with_capacity(blocks),
            nodes: Vec::with_capacity(nodes),
            frames: Vec::with_capacity(frames),
            session: 0,
        }
    }

    /// In the same order.
    pub(crate) fn capacities(&self) -> [usize; 5] {
        [
            self.blocks.capacity(),
            self.nodes.capacity(),
            self.frames.capacity(),
            self.modules.capacity(),
            self.samplers.capacity(),
        ]
    }

    pub(crate) fn forget_unused_modules(&mut self) {
        let used = modules(&self.frames);
        self.modules.retain(|module| used.contains(&module.number));
    }

    /// The frames of a backtrace, innermost first, each with a number that is its own.
    pub fn frames(&self, backtrace: Backtrace) -> impl Iterator<Item = (u32, &Frame)> {
        let node = |id: NodeId| self.nodes.get(id.index().checked_sub(1)?).copied();
        std::iter::successors(node(backtrace.0), move |&(caller, _)| node(caller))
            .map(|(_, frame)| (frame, &*self.frames[frame as usize]))
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
            && !(earlier.is_delta || self.is_delta)
            && earlier.blocks.len() <= self.blocks.len();
        is_later.then(|| {
            let mut rest = self.clone();
            for (blocks, before) in rest.blocks.iter_mut().zip(&earlier.blocks) {
                blocks.allocated = blocks.allocated.since(before.allocated);
                blocks.freed = blocks.freed.since(before.freed);
                blocks.taken = blocks.taken.saturating_sub(before.taken);
            }
            rest.lost = self.lost.saturating_sub(earlier.lost);
            (rest.from, rest.is_delta) = (earlier.until, true);
            rest
        })
    }
}
