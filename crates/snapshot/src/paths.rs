//! The shortest ways from the roots.

use std::collections::VecDeque;

use crate::graph::{BlockId, Graph};

/// From whom each block is found first, by a breadth-first search from the roots: from those that say most at first, and
/// of what these do not hold from the others.
#[derive(Clone, Debug)]
pub struct Shortest {
    /// By block; itself if it cannot be reached, or is where the search begins.
    from: Vec<u32>,
}

impl Shortest {
    /// In a graph, of whose roots `say_little` picks those that are the last choice.
    pub fn of(graph: &Graph, say_little: impl Fn(BlockId) -> bool) -> Shortest {
        let mut shortest = Shortest { from: (0..graph.len() as u32).collect() };
        for is_last in [false, true] {
            let roots = graph.roots().filter(|&root| say_little(root) == is_last);
            shortest.search(graph, roots.collect());
        }
        shortest
    }

    fn search(&mut self, graph: &Graph, mut open: VecDeque<BlockId>) {
        for root in &open {
            self.from[root.index()] = BlockId::ALL_ROOTS.0;
        }
        while let Some(id) = open.pop_front() {
            for to in graph.references(id).filter(|&to| !graph.is_root(to)) {
                if self.from[to.index()] == to.0 && to != id {
                    self.from[to.index()] = id.0;
                    open.push_back(to);
                }
            }
        }
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
            let last = BlockId(1);
            let shortest = Shortest::of(&graph, |root| root == last);
            let dominators = Dominators::of(&graph);
            // By how many steps each can be reached from roots that are the last choice, or are not.
            let lengths = [false, true].map(|is_last| {
                let mut lengths = vec![usize::MAX; graph.len()];
                let mut level: Vec<_> = graph.roots().filter(|&it| (it == last) == is_last).collect();
                for length in 1..=graph.len() {
                    level.retain(|id| lengths[id.index()] == usize::MAX);
                    level.iter().for_each(|id| lengths[id.index()] = length);
                    let next = level.iter().flat_map(|&id| graph.references(id));
                    level = next.filter(|&id| !graph.is_root(id)).collect();
                }
                lengths
            });
            for id in graph.blocks() {
                let path = shortest.path(id);
                prop_assert_eq!(path.is_empty(), !dominators.is_reachable(id));
                if let Some(first) = path.first() {
                    prop_assert!(graph.is_root(*first) && path.last() == Some(&id));
                    let [first, last] = [&lengths[0], &lengths[1]].map(|of| of[id.index()]);
                    prop_assert_eq!(path.len(), if first == usize::MAX { last } else { first });
                }
                for step in path.windows(2) {
                    prop_assert!(graph.references(step[0]).any(|to| to == step[1]));
                }
            }
        }
    }
}
