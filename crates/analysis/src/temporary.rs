//! What does not live long: candidates for the stack, an arena, or a buffer that is used again.

use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::NodeId;
use crate::filter::Micros;
use crate::history::Block;
use crate::replay::{Death, Observer};

/// Observes blocks that are freed before they have a certain age.
#[derive(Clone, Debug)]
pub struct Temporary {
    below: Micros,
    found: FxHashMap<NodeId, Balance>,
}

impl Temporary {
    /// Those that live shorter than this.
    pub fn new(below: Micros) -> Self {
        Self { below, found: FxHashMap::default() }
    }

    /// What was allocated and freed so soon, by backtrace, in their order: of each balance what was
    /// allocated, and how long it lived.
    pub fn balances(self) -> Vec<(NodeId, Balance)> {
        let mut balances: Vec<_> = self.found.into_iter().collect();
        balances.sort_unstable_by_key(|&(node, _)| node);
        balances
    }

    fn is_short(&self, born: Timestamp, died: Timestamp) -> bool {
        died.0.saturating_sub(born.0) < self.below.get()
    }
}

impl Observer for Temporary {
    fn died(&mut self, block: &Block, death: Death) {
        if self.is_short(block.born, death.time) {
            let balance = self.found.entry(block.backtrace).or_default();
            balance.allocated += &block.tally();
            balance.lives.end(block, death.time);
        }
    }
}
