//! The tree of dominators from above: what each block alone holds.

use crate::dominators::Dominators;
use crate::graph::{BlockId, Graph};

/// By block, those that it immediately dominates.
#[derive(Clone, Debug)]
pub struct Tree {
    rows: Vec<u32>,
    children: Vec<BlockId>,
}

/// On a walk over the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The block, before all that it dominates.
    Enter(BlockId),
    /// The block, after all that it dominates.
    Leave(BlockId),
}

impl Tree {
    /// Of a graph.
    pub fn of(graph: &Graph, dominators: &Dominators) -> Tree {
        let mut rows = vec![0u32; graph.len() + 1];
        for (_, dominator) in dominators.inwards() {
            rows[dominator.index() + 1] += 1;
        }
        for at in 1..rows.len() {
            rows[at] += rows[at - 1];
        }
        let mut next = rows.clone();
        let mut children = vec![BlockId::ALL_ROOTS; dominators.reachable().saturating_sub(1)];
        for (id, dominator) in dominators.inwards() {
            let place = &mut next[dominator.index()];
            children[*place as usize] = id;
            *place += 1;
        }
        Tree { rows, children }
    }

    /// What a block immediately dominates.
    pub fn children(&self, id: BlockId) -> &[BlockId] {
        &self.children[self.rows[id.index()] as usize..self.rows[id.index() + 1] as usize]
    }

    /// All that can be reached, from what stands for all roots on.
    pub fn walk(&self) -> impl Iterator<Item = Step> + '_ {
        let is_empty = self.rows.len() <= 1;
        let mut stack = Vec::from_iter((!is_empty).then_some(Step::Enter(BlockId::ALL_ROOTS)));
        std::iter::from_fn(move || {
            let step = stack.pop()?;
            if let Step::Enter(id) = step {
                stack.push(Step::Leave(id));
                stack.extend(self.children(id).iter().map(|&child| Step::Enter(child)));
            }
            Some(step)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::graphs;

    proptest! {
        #[test]
        fn a_walk_meets_each_within_its_dominator(graph in graphs(40)) {
            let dominators = Dominators::of(&graph);
            let tree = Tree::of(&graph, &dominators);
            let (mut open, mut met) = (Vec::new(), 0);
            for step in tree.walk() {
                match step {
                    Step::Enter(id) => {
                        prop_assert_eq!(open.last().copied(), dominators.dominator(id));
                        open.push(id);
                        met += 1;
                    }
                    Step::Leave(id) => prop_assert_eq!(open.pop(), Some(id)),
                }
            }
            prop_assert_eq!((met, open), (dominators.reachable(), vec![]));
        }
    }
}
