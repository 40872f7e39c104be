//! What blocks took in the end, with what belonged to them elsewhere, where a runtime has measured it.

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::estimate::Tally;
use crate::history::Block;
use crate::replay::{Death, Observer};

/// By backtrace, what its blocks took at their deaths, or at the end of the trace; those that were never measured, at
/// their births.
#[derive(Debug, Default)]
pub struct Held {
    by_node: FxHashMap<NodeId, Tally>,
    is_measured: bool,
}

impl Held {
    /// What the blocks of a backtrace took; none if nothing in the trace was measured.
    pub fn of(&self, node: NodeId) -> Option<Tally> {
        let tally = self.by_node.get(&node).copied().unwrap_or_default();
        self.is_measured.then_some(tally)
    }

    fn add(&mut self, block: &Block) {
        *self.by_node.entry(block.backtrace).or_default() += &block.weight.tally(block.last_bytes);
    }
}

impl Observer for Held {
    fn died(&mut self, block: &Block, _: Death) {
        self.add(block);
    }

    fn survived(&mut self, block: &Block, _: Timestamp) {
        self.add(block);
    }

    fn fact(&mut self, _: Timestamp, fact: &Fact) {
        self.is_measured |= matches!(fact, Fact::Resize(_));
    }
}
