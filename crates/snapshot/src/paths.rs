//! The shortest ways from the roots.

use std::collections::VecDeque;

use crate::graph::{BlockId, Graph};

/// From whom each block is found first, by a breadth-first search from all roots.
#[derive(Clone, Debug)]
pub struct Shortest {
    /// By block; itself if it cannot be reached, or is where the search begins.
    from: Vec<u32>,
}

impl Shortest {
    /// In a graph.
    pub fn of(graph: &Graph) -> Shortest {
        let mut from: Vec<u32> = (0..graph.len() as u32).collect();
        let mut open = VecDeque::from_iter((!graph.is_empty()).then_some(BlockId::ALL_ROOTS));
        while let Some(id) = open.pop_front() {
            for to in graph.references(id) {
                if to != BlockId::ALL_ROOTS && from[to.index()] == to.0 && to != id {
                    from[to.index()] = id.0;
                    open.push_back(to);
                }
            }
        }
        Shortest { from }
    }

    /// A shortest way to a block, from its root to it; nothing if it cannot be reached.
    pub fn path(&self, id: BlockId) -> Vec<BlockId> {
        let up = |&id: &BlockId| Some(BlockId(self.from[id.index()])).filter(|&it| it != id);
        let mut path: Vec<_> = std::iter::successors(Some(id), up).collect();
        path.reverse();
        match path.first() {
            Some(&BlockId::ALL_ROOTS) => path.split_off(1),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dominators::Dominators;
    use crate::graph::tests::graphs;

    proptest! {
        #[test]
        fn each_step_is_a_reference_and_no_way_is_shorter(graph in graphs(30)) {
            let (shortest, dominators) = (Shortest::of(&graph), Dominators::of(&graph));
            let mut lengths = vec![usize::MAX; graph.len()];
            let mut level = vec![BlockId::ALL_ROOTS];
            for length in 0..graph.len() {
                level.retain(|id| lengths[id.index()] == usize::MAX);
                level.iter().for_each(|id| lengths[id.index()] = length);
                level = level.iter().flat_map(|&id| graph.references(id)).collect();
            }
            for id in graph.blocks() {
                let path = shortest.path(id);
                prop_assert_eq!(path.is_empty(), !dominators.is_reachable(id));
                if let Some(first) = path.first() {
                    prop_assert!(graph.is_root(*first) && path.last() == Some(&id));
                    prop_assert_eq!(path.len(), lengths[id.index()]);
                }
                for step in path.windows(2) {
                    prop_assert!(graph.references(step[0]).any(|to| to == step[1]));
                }
            }
        }
    }
}
