//! Who alone holds a block: its immediate dominator, which is on every way from the roots to it.
//!
//! By semidominators and nearest common ancestors (Georgiadis and Tarjan, "Finding Dominators Revisited", 2004; the
//! version that is called semi-NCA): simple, and fast on graphs of programs, where ways are short. All work is done on
//! numbers of a depth-first search, so that a block's dominator always has a smaller number than the block.

use crate::graph::{BlockId, Graph};
use crate::set::{Bits, Set};

/// Of what cannot be reached.
const NONE: u32 = u32::MAX;

/// The tree of immediate dominators of all that can be reached from the roots.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// What can be reached, each after its dominator.
    order: Vec<u32>,
    /// By block, its immediate dominator, or [`NONE`]; what stands for all roots is its own.
    dominators: Vec<u32>,
}

impl Dominators {
    /// Of a graph.
    pub fn of(graph: &Graph) -> Dominators {
        let Search { order, parents, numbers } = Search::of(graph);
        let callers = Callers::of(graph, &order, &numbers);
        let semidominators = semidominators(&parents, &callers);
        drop(callers);
        let by_number = nearest_common_ancestors(parents, &semidominators);
        drop(semidominators);
        let mut dominators = numbers;
        for number in dominators.iter_mut().filter(|number| **number != NONE) {
            *number = order[by_number[*number as usize] as usize];
        }
        Dominators { order, dominators }
    }

    /// How many can be reached, what stands for all roots included.
    pub fn reachable(&self) -> usize {
        self.order.len()
    }

    /// Whether a block can be reached from a root.
    pub fn is_reachable(&self, id: BlockId) -> bool {
        self.dominators[id.index()] != NONE
    }

    /// The immediate dominator of a block; none of what stands for all roots, and of what cannot be reached.
    pub fn dominator(&self, id: BlockId) -> Option<BlockId> {
        let dominator = self.dominators[id.index()];
        (dominator != NONE && id != BlockId::ALL_ROOTS).then_some(BlockId(dominator))
    }

    /// What can be reached, each after all that it dominates, but for what stands for all roots; with its dominator.
    pub(crate) fn inwards(&self) -> impl Iterator<Item = (BlockId, BlockId)> + '_ {
        let blocks = self.order.iter().skip(1).rev().map(|&id| BlockId(id));
        blocks.map(|id| (id, BlockId(self.dominators[id.index()])))
    }
}

/// A depth-first search from what stands for all roots.
struct Search {
    order: Vec<u32>,
    /// By number, that of whom it was found by.
    parents: Vec<u32>,
    numbers: Vec<u32>,
}

impl Search {
    fn of(graph: &Graph) -> Search {
        let mut search =
            Search { order: Vec::new(), parents: Vec::new(), numbers: vec![NONE; graph.len()] };
        if graph.is_empty() {
            return search;
        }
        search.find(BlockId::ALL_ROOTS, 0);
        // A block's number, and where among all references the next of its own is.
        let mut stack = vec![(0, graph.row(BlockId::ALL_ROOTS).start)];
        while let Some((number, next)) = stack.last_mut() {
            let (number, end) = (*number, graph.row(BlockId(search.order[*number as usize])).end);
            let rest = *next..end;
            let found = rest.clone().find(|&at| !search.has(graph.reference(at)));
            *next = found.map_or(end, |at| at + 1);
            match found {
                Some(at) => {
                    let id = graph.reference(at);
                    let begin = graph.row(id).start;
                    stack.push((search.find(id, number), begin));
                }
                None => {
                    stack.pop();
                }
            }
        }
        search
    }

    fn has(&self, id: BlockId) -> bool {
        self.numbers[id.index()] != NONE
    }

    fn find(&mut self, id: BlockId, parent: u32) -> u32 {
        let number = self.order.len() as u32;
        self.numbers[id.index()] = number;
        self.order.push(id.0);
        self.parents.push(parent);
        number
    }
}

/// Who refers to those that several refer to, by the search's numbers. All others have been found by the only one.
struct Callers {
    several: Set,
    /// By rank among these.
    rows: Vec<u32>,
    callers: Vec<u32>,
}

impl Callers {
    fn of(graph: &Graph, order: &[u32], numbers: &[u32]) -> Callers {
        let to = |block: &u32| graph.references(BlockId(*block)).map(|id| numbers[id.index()]);
        let (mut once, mut several) = (Bits::of(order.len()), Bits::of(order.len()));
        for number in order.iter().flat_map(to) {
            match once.has(number) {
                true => several.add(number),
                false => once.add(number),
            }
        }
        drop(once);
        let several = Set::of(several);
        let mut rows = vec![0u32; several.len() + 1];
        let rank = |number: u32| several.rank(number);
        order.iter().flat_map(to).filter_map(rank).for_each(|rank| rows[rank + 1] += 1);
        for at in 1..rows.len() {
            rows[at] += rows[at - 1];
        }
        let mut next = rows.clone();
        let mut callers = vec![0; rows.last().map_or(0, |&count| count as usize)];
        for (from, block) in order.iter().enumerate() {
            for rank in to(block).filter_map(rank) {
                callers[next[rank] as usize] = from as u32;
                next[rank] += 1;
            }
        }
        Callers { several, rows, callers }
    }

    /// None if nobody but who has found it refers to it.
    fn of_number(&self, number: u32) -> Option<&[u32]> {
        let rank = self.several.rank(number)?;
        Some(&self.callers[self.rows[rank] as usize..self.rows[rank + 1] as usize])
    }
}

/// Of each number, the smallest from which a way leads to it all of whose inner numbers are greater than it.
fn semidominators(parents: &[u32], callers: &Callers) -> Vec<u32> {
    let mut semidominators: Vec<u32> = (0..parents.len() as u32).collect();
    let mut forest = Forest::of(parents);
    for number in (1..parents.len() as u32).rev() {
        let callers = callers.of_number(number).unwrap_or_default().iter();
        let least = callers.map(|&from| forest.least(from, number, &semidominators)).min();
        semidominators[number as usize] = least.unwrap_or(parents[number as usize]);
    }
    semidominators
}

/// The search's tree, of which numbers from some one on are joined to their parents; ways up are shortened.
struct Forest {
    ancestors: Vec<u32>,
    /// On the way from each to its ancestor, which is not included, the one with the smallest semidominator.
    labels: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn of(parents: &[u32]) -> Forest {
        let labels = (0..parents.len() as u32).collect();
        Forest { ancestors: parents.to_vec(), labels, path: Vec::new() }
    }

    /// The smallest semidominator on the way up from `from`, as far as numbers are greater than `joined`.
    fn least(&mut self, from: u32, joined: u32, semidominators: &[u32]) -> u32 {
        let semi = |label: u32| semidominators[label as usize];
        if from <= joined {
            return from;
        }
        let mut at = from;
        while self.ancestors[at as usize] > joined {
            self.path.push(at);
            at = self.ancestors[at as usize];
        }
        let top = self.ancestors[at as usize];
        let mut best = self.labels[at as usize];
        while let Some(below) = self.path.pop() {
            let label = self.labels[below as usize];
            if semi(label) < semi(best) {
                best = label;
            }
            self.labels[below as usize] = best;
            self.ancestors[below as usize] = top;
        }
        semi(best)
    }
}

/// The immediate dominators: of each, the first of its ancestors' that is not beyond its semidominator.
fn nearest_common_ancestors(parents: Vec<u32>, semidominators: &[u32]) -> Vec<u32> {
    let mut dominators = parents;
    for number in 1..dominators.len() {
        let mut candidate = dominators[number];
        while candidate > semidominators[number] {
            candidate = dominators[candidate as usize];
        }
        dominators[number] = candidate;
    }
    dominators
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Builder;
    use crate::graph::tests::graphs;

    /// What can be reached if one block is not there.
    fn reached_without(graph: &Graph, left_out: Option<BlockId>) -> Vec<bool> {
        let mut reached = vec![false; graph.len()];
        let mut open = vec![BlockId::ALL_ROOTS];
        while let Some(id) = open.pop() {
            if Some(id) != left_out && !std::mem::replace(&mut reached[id.index()], true) {
                open.extend(graph.references(id));
            }
        }
        reached
    }

    /// The dominators of each block: by leaving out each of the others.
    fn naive(graph: &Graph) -> Vec<Option<BlockId>> {
        let all: Vec<BlockId> = (0..graph.len() as u32).map(BlockId).collect();
        let reached = reached_without(graph, None);
        let without: Vec<_> = all.iter().map(|&id| reached_without(graph, Some(id))).collect();
        let dominates = |one: BlockId, other: BlockId| {
            one != other && reached[other.index()] && !without[one.index()][other.index()]
        };
        let nearest = |&id: &BlockId| {
            let above: Vec<_> = all.iter().copied().filter(|&one| dominates(one, id)).collect();
            let is_nearest =
                |&&one: &&BlockId| above.iter().all(|&it| it == one || dominates(it, one));
            above.iter().find(is_nearest).copied()
        };
        all.iter().map(nearest).collect()
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_naive_twin(graph in graphs(24)) {
            let dominators = Dominators::of(&graph);
            let reached = reached_without(&graph, None);
            for (index, expected) in naive(&graph).into_iter().enumerate() {
                let id = BlockId(index as u32);
                prop_assert_eq!(dominators.dominator(id), expected, "{:?}", id);
                prop_assert_eq!(dominators.is_reachable(id), reached[index]);
            }
        }
    }

    #[test]
    fn a_long_chain_takes_no_stack() {
        const BLOCKS: u32 = 300_000;
        let mut builder = Builder::new(1).unwrap();
        for number in 1..BLOCKS {
            builder
                .add(1, [BlockId(number + 1), BlockId(number.saturating_sub(1).max(1))])
                .unwrap();
        }
        let graph = builder.finish();
        let dominators = Dominators::of(&graph);
        assert_eq!(dominators.reachable(), BLOCKS as usize);
        assert_eq!(dominators.dominator(BlockId(BLOCKS - 1)), Some(BlockId(BLOCKS - 2)));
    }

    #[test]
    fn nothing_is_no_trouble() {
        assert_eq!(Dominators::of(&Graph::default()).reachable(), 0);
    }
}
