//! How many collections a garbage collector began while a block lived.

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

/// Counts collections, and knows of each live block how many there had been when it was born.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    so_far: Collections,
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
            Fact::Cycle(Cycle { generation: Generation::Minor, begins: true, .. }) => {
                self.so_far.minor += 1;
            }
            Fact::Cycle(Cycle { generation: Generation::Major, begins: true, .. }) => {
                self.so_far.major += 1;
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
        Collections {
            minor: self.so_far.minor - before.minor,
            major: self.so_far.major - before.major,
        }
    }
}
