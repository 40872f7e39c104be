//! Joins the events of a block into its life.
//!
//! Holds live sampled blocks only, so its size is bounded by how many of them live at once.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{AllocationId, DomainId, SamplerId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::estimate::{Tally, Weight};

/// A sampled block, as far as its life is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// When it was allocated.
    pub born: Timestamp,
    /// When it moved to the major heap, if it has.
    pub promoted: Option<Timestamp>,
    /// Bytes that it takes, a runtime's header included.
    pub bytes: u64,
    /// What it took when it was measured last, with what belonged to it elsewhere; at its birth, if it never was.
    pub last_bytes: u64,
    /// How many blocks it stands for.
    pub weight: Weight,
    /// How many births the trace told before it.
    pub index: u64,
    /// By whom it was allocated.
    pub backtrace: NodeId,
    /// Where it was allocated.
    pub thread: ThreadId,
    /// Where it was allocated.
    pub domain: DomainId,
    /// Who sampled it.
    pub sampler: SamplerId,
    /// Where it was born.
    pub source: Source,
    /// Not a block of its own, but bytes that were added to one.
    pub is_growth: bool,
}

impl Block {
    /// What it adds to an amount of memory.
    pub fn tally(&self) -> Tally {
        let tally = self.weight.tally(self.bytes);
        if self.is_growth { tally.without_objects() } else { tally }
    }
}

/// The live sampled blocks.
#[derive(Clone, Debug, Default)]
pub struct History {
    live: FxHashMap<AllocationId, Block>,
}

impl History {
    /// A block is born. Gives back a block that lived under the same name, which a sound trace
    /// does not have.
    pub fn allocate(&mut self, id: AllocationId, block: Block) -> Option<Block> {
        self.live.insert(id, block)
    }

    /// A block is promoted, for the first time; nothing if it does not live or has been promoted.
    pub fn promote(&mut self, id: AllocationId, time: Timestamp) -> Option<Block> {
        let block = self.live.get_mut(&id).filter(|block| block.promoted.is_none())?;
        block.promoted = Some(time);
        Some(*block)
    }

    /// A block's life begins with its promotion; nothing if it does not live.
    pub fn begin_at_promotion(&mut self, id: AllocationId) -> Option<Block> {
        let block = self.live.get_mut(&id)?;
        block.born = block.promoted.unwrap_or(block.born);
        Some(*block)
    }

    /// A block has been measured; if it lives.
    pub fn measure(&mut self, id: AllocationId, bytes: u64) {
        if let Some(block) = self.live.get_mut(&id) {
            block.last_bytes = bytes;
        }
    }

    /// A block dies; nothing if it does not live.
    pub fn collect(&mut self, id: AllocationId) -> Option<Block> {
        self.live.remove(&id)
    }

    /// A block that lives now.
    pub fn get(&self, id: AllocationId) -> Option<&Block> {
        self.live.get(&id)
    }

    /// Whether a block lives now.
    pub fn has(&self, id: AllocationId) -> bool {
        self.live.contains_key(&id)
    }

    /// The blocks that live now, in no order.
    pub fn live(&self) -> impl Iterator<Item = (AllocationId, &Block)> {
        self.live.iter().map(|(&id, block)| (id, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: AllocationId = AllocationId(7);

    fn block(born: u64) -> Block {
        Block {
            born: Timestamp(born),
            promoted: None,
            bytes: 32,
            last_bytes: 32,
            weight: Weight::ONE,
            index: 0,
            backtrace: NodeId::ROOT,
            thread: ThreadId(0),
            domain: DomainId(0),
            sampler: SamplerId(0),
            source: Source::Minor,
            is_growth: false,
        }
    }

    #[test]
    fn a_life() {
        let mut history = History::default();
        assert_eq!(history.allocate(ID, block(10)), None);
        let promoted = Block { promoted: Some(Timestamp(20)), ..block(10) };
        assert_eq!(history.promote(ID, Timestamp(20)), Some(promoted));
        assert_eq!(history.live().collect::<Vec<_>>(), [(ID, &promoted)]);
        assert_eq!(history.collect(ID), Some(promoted));
        assert_eq!(history.live().count(), 0);
    }

    #[test]
    fn impossible_events_change_nothing() {
        let mut history = History::default();
        assert_eq!(history.promote(ID, Timestamp(1)), None);
        assert_eq!(history.collect(ID), None);
        history.allocate(ID, block(1));
        history.promote(ID, Timestamp(2));
        assert_eq!(history.promote(ID, Timestamp(3)), None);
        assert_eq!(history.allocate(ID, block(4)).map(|old| old.born), Some(Timestamp(1)));
    }
}
