//! What would go if a block went: itself, and all that it dominates.

use crate::dominators::Dominators;
use crate::graph::{BlockId, Graph};

/// What each block retains, by block. Those of a block and of one that it dominates overlap: they are never to be added.
#[derive(Clone, Debug)]
pub struct Retained {
    bytes: Vec<u64>,
    blocks: Vec<u32>,
}

impl Retained {
    /// Of all blocks; of what cannot be reached, nothing.
    pub fn of(graph: &Graph, dominators: &Dominators) -> Retained {
        let own = |id: BlockId| if dominators.is_reachable(id) { graph.bytes(id) } else { 0 };
        let all = || (0..graph.len() as u32).map(BlockId);
        let is_block = |id: BlockId| dominators.is_reachable(id) && !graph.is_root(id);
        let mut bytes: Vec<u64> = all().map(own).collect();
        let mut blocks: Vec<u32> = all().map(|id| u32::from(is_block(id))).collect();
        for (id, dominator) in dominators.inwards() {
            bytes[dominator.index()] = bytes[dominator.index()].saturating_add(bytes[id.index()]);
            blocks[dominator.index()] += blocks[id.index()];
        }
        Retained { bytes, blocks }
    }

    /// In bytes.
    pub fn bytes(&self, id: BlockId) -> u64 {
        self.bytes[id.index()]
    }

    /// How many blocks, itself included.
    pub fn blocks(&self, id: BlockId) -> u32 {
        self.blocks[id.index()]
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
}
