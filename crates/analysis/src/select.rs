//! Which blocks of a trace are looked at, decided before anybody looks at them.
//!
//! A filter may ask for what is not known at a block's birth: when it dies, whether it is promoted,
//! when the trace ends. So a trace is read up to three times, and no reading keeps more than what lives:
//!
//! ```text
//!   Survey    end, peak, names of threads, wall clock     if the filter needs them; no backtraces
//!   Chooser   a bit for each birth                        if it looks ahead; no backtraces
//!   Admission at each birth: yes or no                    with backtraces, where frames are judged
//! ```
//!
//! Frames are judged once a node of the tree of backtraces, however deep it is.

use std::sync::Arc;

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{Bytes, SamplerId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

use crate::call_tree::CallTree;
use crate::filter::{
    Bounds, ClockReading, Filter, FrameFilter, FrameState, Life, LifeFilter, Line, Unknown,
};
use crate::history::Block;
use crate::lines;
use crate::machinery::Machinery;
use crate::names::Names;
use crate::replay::{Death, Observer};

/// What a filter must know of the whole trace.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    clock: Vec<ClockReading>,
    threads: FxHashMap<ThreadId, Arc<str>>,
}

impl Observer for Survey {
    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        match fact {
            Fact::WallClock(shows) => self.clock.push(ClockReading { at: time, shows: *shows }),
            Fact::ThreadName(fact) if !fact.name.is_empty() => {
                self.threads.insert(fact.thread, fact.name.clone());
            }
            _ => {}
        }
    }
}

/// Judges blocks by their lives.
#[derive(Clone, Debug)]
pub struct Judge {
    filter: LifeFilter,
    threads: FxHashMap<ThreadId, Arc<str>>,
    samplers: FxHashMap<SamplerId, Arc<str>>,
    has_threads: bool,
}

impl Judge {
    /// By what `filter` says of a trace that goes from `start` to `end` and has most bytes at `peak`.
    /// `has_threads` says whether its format has room for them.
    ///
    /// # Errors
    /// If something is not known that the filter needs.
    pub fn new(
        filter: &Filter,
        survey: Survey,
        start: Timestamp,
        [end, peak]: [Option<Timestamp>; 2],
        has_threads: bool,
    ) -> Result<Self, Unknown> {
        let filter = filter.resolve(&Bounds { start, end, peak, clock: &survey.clock })?;
        Ok(Self { filter, threads: survey.threads, samplers: FxHashMap::default(), has_threads })
    }

    fn accepts(&self, block: &Block, died: Option<Timestamp>) -> bool {
        self.filter.matches(&Life {
            born: block.born,
            died,
            promoted: block.promoted,
            bytes: Bytes(block.bytes),
            source: block.source,
            sampler: self.samplers.get(&block.sampler).map(|name| &**name),
            thread: self.has_threads.then_some(block.thread),
            thread_name: self.threads.get(&block.thread).map(|name| &**name),
        })
    }

    fn learn(&mut self, fact: &Fact) {
        if let Fact::Sampler(sampler) = fact {
            self.samplers.insert(sampler.id, sampler.name.clone());
        }
    }
}

/// Judges blocks when all of their lives is known.
#[derive(Clone, Debug)]
pub struct Chooser {
    judge: Judge,
    chosen: Bits,
}

impl Chooser {
    /// By this judge.
    pub fn new(judge: Judge) -> Self {
        Self { judge, chosen: Bits::default() }
    }
}

impl Observer for Chooser {
    fn died(&mut self, block: &Block, death: Death) {
        if self.judge.accepts(block, Some(death.time)) {
            self.chosen.set(block.index);
        }
    }

    fn survived(&mut self, block: &Block, _end: Timestamp) {
        if self.judge.accepts(block, None) {
            self.chosen.set(block.index);
        }
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) {
        self.judge.learn(fact);
    }
}

/// Says at a block's birth whether it is looked at.
#[derive(Clone, Debug)]
pub struct Admission {
    lives: Lives,
    frames: FrameFilter,
    machinery: Machinery,
    is_in_old_heap: bool,
    /// Of the backtraces so far.
    states: Vec<FrameState>,
}

#[derive(Clone, Debug)]
enum Lives {
    All,
    None,
    Judged(Box<Judge>),
    Chosen(Bits),
}

impl Admission {
    /// Of every block.
    pub fn all() -> Self {
        Self::new(Lives::All, &Filter::default())
    }

    /// Of none: the filter is about other traces.
    pub fn none() -> Self {
        Self::new(Lives::None, &Filter::default())
    }

    /// Of the blocks that `judge` accepts when they are born, and whose frames `filter` accepts.
    pub fn by_birth(judge: Judge, filter: &Filter) -> Self {
        Self::new(Lives::Judged(Box::new(judge)), filter)
    }

    /// Of the blocks that were chosen, and whose frames `filter` accepts.
    pub fn of_chosen(chooser: Chooser, filter: &Filter) -> Self {
        Self::new(Lives::Chosen(chooser.chosen), filter)
    }

    /// Whether every block is admitted.
    pub fn is_all(&self) -> bool {
        matches!(self.lives, Lives::All) && self.frames.is_empty()
    }

    fn new(lives: Lives, filter: &Filter) -> Self {
        let (frames, machinery) = (filter.frames(), filter.machinery().clone());
        let is_in_old_heap = filter.is_in_old_heap();
        Self { lives, frames, machinery, is_in_old_heap, states: vec![FrameState::default()] }
    }

    /// Whether blocks are looked at from then on when they are in an old heap.
    pub fn is_in_old_heap(&self) -> bool {
        self.is_in_old_heap
    }

    /// Whether a block is looked at that was just born.
    pub fn admits(&mut self, block: &Block, tree: &CallTree, names: &impl Names) -> bool {
        let is_chosen = match &self.lives {
            Lives::All => true,
            Lives::None => false,
            Lives::Judged(judge) => judge.accepts(block, None),
            Lives::Chosen(bits) => bits.get(block.index),
        };
        // States must keep up with the tree whatever is said of the block.
        is_chosen & (self.frames.is_empty() || self.likes_frames(block, tree, names))
    }

    /// To be told of every fact.
    pub fn learn(&mut self, fact: &Fact) {
        if let Lives::Judged(judge) = &mut self.lives {
            judge.learn(fact);
        }
    }

    fn likes_frames(&mut self, block: &Block, tree: &CallTree, names: &impl Names) -> bool {
        for (_, parent, code) in tree.nodes_after(self.states.len() - 1) {
            let mut lines: Vec<_> = lines::lines(names, &self.machinery, code).collect();
            lines.reverse();
            let enter = |state, line: &Line<'_>| self.frames.enter(state, line);
            let state = lines.iter().fold(self.states[parent.index()], enter);
            self.states.push(state);
        }
        self.frames.accepts(self.states[block.backtrace.index()])
    }
}

/// A bit for each birth, false until it is set.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, index: u64) {
        let word = (index / 64) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }

    fn get(&self, index: u64) -> bool {
        self.0.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}
