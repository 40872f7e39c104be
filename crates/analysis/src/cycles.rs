//! How many collections a garbage collector began while a block lived.
//!
//! A trace may tell of some only, by their numbers: those between two that are told have passed as well.

use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{Cycle, Fact, Generation};
use rustc_hash::FxHashMap;

use crate::history::Block;

/// Collections, of young blocks and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collections {
    /// Of the young heap.
    pub minor: u64,
    /// Of the whole heap.
    pub major: u64,
}

/// Counts the collections of one generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    last: Option<u64>,
    running: Option<u64>,
    is_sparse: bool,
}

impl Counter {
    /// How many have passed since the last time; none at the end of one whose begin was told.
    pub fn take(&mut self, cycle: &Cycle) -> u64 {
        let Cycle { number, begins, .. } = *cycle;
        if !begins && self.running.take() == Some(number) {
            return 0;
        }
        if begins {
            self.running = Some(number);
        }
        let passed = self.last.map_or(1, |last| number.saturating_sub(last).max(1));
        self.last = Some(number);
        self.is_sparse |= passed > 1;
        passed
    }

    /// So many have ended by now, the runtime says: the first that is told is not the first there was.
    pub fn begin_at(&mut self, ended: u64) {
        self.last.get_or_insert(ended);
    }

    /// Whether there were some that the trace has not told of.
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }
}

/// Whether a block is in the young heap.
pub(crate) fn is_young(block: &Block) -> bool {
    block.source == Source::Minor && block.promoted.is_none()
}

/// Counts collections, and knows of each live block how many there had been when it was born.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    so_far: Collections,
    minor: Counter,
    major: Counter,
    /// By the number of the birth. Blocks that are older than the first collection are not there.
    at_birth: FxHashMap<u64, Collections>,
}

impl Cycles {
    /// All there were so far.
    pub fn so_far(&self) -> Collections {
        self.so_far
    }

    /// Takes what the trace tells.
    pub fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::Cycle(cycle) if cycle.generation == Generation::Minor => {
                self.so_far.minor = self.so_far.minor.saturating_add(self.minor.take(cycle));
            }
            Fact::Cycle(cycle) if cycle.generation == Generation::Major => {
                self.so_far.major = self.so_far.major.saturating_add(self.major.take(cycle));
            }
            Fact::Collector(collector) => {
                collector.minor_collections.inspect(|&ended| self.minor.begin_at(ended));
                collector.major_collections.inspect(|&ended| self.major.begin_at(ended));
            }
            _ => {}
        }
    }

    /// A block is born.
    pub fn born(&mut self, block: &Block) {
        if self.so_far != Collections::default() {
            self.at_birth.insert(block.index, self.so_far);
        }
    }

    /// A block is not looked at any more: how many began in its life.
    pub fn end(&mut self, block: &Block) -> Collections {
        let before = self.at_birth.remove(&block.index).unwrap_or_default();
        let minor = self.so_far.minor - before.minor;
        // The first one promotes it or finds it dead, where it is not known which one that was.
        let is_first = self.minor.is_sparse() && is_young(block);
        Collections {
            minor: if is_first { minor.min(1) } else { minor },
            major: self.so_far.major - before.major,
        }
    }
}
