//! What would go if a block went: itself, and all that it dominates.

use rustc_hash::FxHashMap;

use crate::dominators::Dominators;
use crate::graph::{BlockId, Graph};

/// What each block retains, by block. Those of a block and of one that it dominates overlap: they are never to be added.
#[derive(Clone, Debug)]
pub struct Retained {
    bytes: Amounts,
    blocks: Vec<u32>,
}

/// By block, amounts most of which are small.
#[derive(Clone, Debug)]
struct Amounts {
    /// Each amount; [`u32::MAX`] stands for those that are not below it.
    small: Vec<u32>,
    large: FxHashMap<u32, u64>,
}

impl Retained {
    /// Of all blocks; of what cannot be reached, nothing.
    pub fn of(graph: &Graph, dominators: &Dominators) -> Retained {
        let all = || (0..graph.len() as u32).map(BlockId);
        let is_block = |id: BlockId| dominators.is_reachable(id) && !graph.is_root(id);
        let mut bytes = Amounts { small: vec![0; graph.len()], large: FxHashMap::default() };
        for id in all().filter(|&id| dominators.is_reachable(id)) {
            bytes.set(id, graph.bytes(id));
        }
        let mut blocks: Vec<u32> = all().map(|id| u32::from(is_block(id))).collect();
        for (id, dominator) in dominators.inwards() {
            bytes.set(dominator, bytes.of(dominator).saturating_add(bytes.of(id)));
            blocks[dominator.index()] += blocks[id.index()];
        }
        Retained { bytes, blocks }
    }

    /// In bytes.
    pub fn bytes(&self, id: BlockId) -> u64 {
        self.bytes.of(id)
    }

    /// How many blocks, itself included.
    pub fn blocks(&self, id: BlockId) -> u32 {
        self.blocks[id.index()]
    }
}

impl Amounts {
    fn of(&self, id: BlockId) -> u64 {
        match self.small[id.index()] {
            u32::MAX => self.large.get(&id.0).copied().unwrap_or_default(),
            small => small.into(),
        }
    }

    fn set(&mut self, id: BlockId, amount: u64) {
        let small = u32::try_from(amount).unwrap_or(u32::MAX);
        self.small[id.index()] = small;
        if small == u32::MAX {
            self.large.insert(id.0, amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::graphs;

    proptest! {
        #[test]
        fn it_is_what_cannot_be_reached_any_more(graph in graphs(20)) {
            let dominators = Dominators::of(&graph);
            let retained = Retained::of(&graph, &dominators);
            for id in graph.blocks() {
                let mut gone = vec![];
                for other in graph.blocks().filter(|&it| dominators.is_reachable(it)) {
                    let mut above = Some(other);
                    while above.is_some_and(|it| it != id) {
                        above = above.and_then(|it| dominators.dominator(it));
                    }
                    if above.is_some() {
                        gone.push(other);
                    }
                }
                let bytes: u64 = gone.iter().map(|&it| graph.bytes(it)).sum();
                prop_assert_eq!((retained.bytes(id), retained.blocks(id) as usize), (bytes, gone.len()));
            }
        }
    }

    #[test]
    fn large_amounts_are_amounts() {
        let mut amounts = Amounts { small: vec![0; 2], large: FxHashMap::default() };
        for amount in [0, 1, u32::MAX.into(), u64::MAX, 1 << 32, u64::from(u32::MAX) - 1] {
            amounts.set(BlockId(1), amount);
            assert_eq!((amounts.of(BlockId(1)), amounts.of(BlockId(0))), (amount, 0));
        }
    }
}
