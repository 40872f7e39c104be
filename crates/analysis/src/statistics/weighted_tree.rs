//! A prefix tree of backtraces with weights, laid out so that a subtree is a range.
//!
//! Nodes are numbered in preorder, without the root. Backtraces without weight are left out, and if
//! there are more nodes than wanted, the lightest: a backtrace whose end is left out counts as its
//! rest.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::call_tree::{NodeId, Tree};

/// In place of a node or class: none.
pub(super) const NONE: u32 = u32::MAX;

/// A prefix tree of backtraces with weights, in preorder: a subtree is a range of nodes.
pub(super) struct WeightedTree {
    /// What it was in the tree of backtraces.
    pub(super) origin: Vec<NodeId>,
    /// `NONE` for outermost frames.
    pub(super) parent: Vec<u32>,
    /// Equal frames have equal labels.
    pub(super) label: Vec<u32>,
    /// The first node after those below this one.
    pub(super) end: Vec<u32>,
    /// Weight of all backtraces that begin with this one.
    pub(super) weight: Vec<f64>,
    /// Weight of all backtraces.
    pub(super) total: f64,
    /// Weight of those that were shortened.
    pub(super) shortened: f64,
}

impl WeightedTree {
    /// Of the backtraces in `tree`, of which `weights` has one for each node's index. Weights that are
    /// not positive count as 0.
    pub(super) fn new<F: Copy + Eq + Hash>(tree: &Tree<F>, weights: &[f64], most: usize) -> Self {
        let sums = sums_below(tree, weights);
        let kept = kept(&sums, most);
        let shortened = |(node, parent, _): (NodeId, NodeId, F)| {
            let cut = !kept[node.index()] && kept[parent.index()];
            if cut { sums[node.index()] } else { 0.0 }
        };
        let mut laid_out = Self {
            origin: Vec::new(),
            parent: Vec::new(),
            label: Vec::new(),
            end: Vec::new(),
            weight: Vec::new(),
            total: sums[NodeId::ROOT.index()],
            shortened: tree.nodes().map(shortened).sum(),
        };
        laid_out.lay_out(tree, &sums, &kept);
        laid_out
    }

    pub(super) fn len(&self) -> usize {
        self.origin.len()
    }

    /// The nodes from this one outwards.
    pub(super) fn outwards(&self, node: u32) -> impl Iterator<Item = u32> {
        let some = |node: u32| (node != NONE).then_some(node);
        std::iter::successors(some(node), move |&node| some(self.parent[node as usize]))
    }

    fn lay_out<F: Copy + Eq + Hash>(&mut self, tree: &Tree<F>, sums: &[f64], kept: &[bool]) {
        let sizes = sizes(tree, kept);
        let count = sizes[0] as usize - 1;
        self.origin = vec![NodeId::ROOT; count];
        self.parent = vec![NONE; count];
        self.label = vec![0; count];
        self.end = vec![0; count];
        self.weight = vec![0.0; count];
        let mut labels = FxHashMap::default();
        // Where each node's next child goes, and where the node itself went.
        let mut next = vec![0u32; sizes.len()];
        for (node, parent, frame) in tree.nodes().filter(|(node, ..)| kept[node.index()]) {
            let at = next[parent.index()];
            next[parent.index()] += sizes[node.index()];
            next[node.index()] = at + 1;
            let distinct = labels.len() as u32;
            let at = at as usize;
            self.origin[at] = node;
            self.label[at] = *labels.entry(frame).or_insert(distinct);
            self.end[at] = at as u32 + sizes[node.index()];
            self.weight[at] = sums[node.index()];
        }
        self.find_parents();
    }

    fn find_parents(&mut self) {
        let mut open: Vec<u32> = Vec::new();
        for node in 0..self.len() as u32 {
            while open.last().is_some_and(|&last| self.end[last as usize] <= node) {
                open.pop();
            }
            self.parent[node as usize] = open.last().copied().unwrap_or(NONE);
            open.push(node);
        }
    }
}

/// By index: the weight of each backtrace with all that begin with it.
fn sums_below<F: Copy + Eq + Hash>(tree: &Tree<F>, weights: &[f64]) -> Vec<f64> {
    let own = |index: usize| weights.get(index).map_or(0.0, |weight| weight.max(0.0));
    let mut sums: Vec<f64> = (0..=tree.len()).map(own).collect();
    for (node, parent, _) in tree.nodes().rev() {
        sums[parent.index()] += sums[node.index()];
    }
    sums
}

/// By index, the root's among them: the heaviest. A node is never heavier than its parent, and comes
/// after it; so what is kept is a tree.
fn kept(sums: &[f64], most: usize) -> Vec<bool> {
    let mut heavy: Vec<usize> = (1..sums.len()).filter(|&index| sums[index] > 0.0).collect();
    if heavy.len() > most {
        let heaviest_first = |a: &usize, b: &usize| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b));
        heavy.select_nth_unstable_by(most, heaviest_first);
        heavy.truncate(most);
    }
    let mut kept = vec![false; sums.len()];
    kept[0] = true;
    heavy.into_iter().for_each(|index| kept[index] = true);
    kept
}

/// By index: how many nodes are kept there and below.
fn sizes<F: Copy + Eq + Hash>(tree: &Tree<F>, kept: &[bool]) -> Vec<u32> {
    let mut sizes: Vec<u32> = kept.iter().map(|&kept| u32::from(kept)).collect();
    for (node, parent, _) in tree.nodes().rev() {
        sizes[parent.index()] += sizes[node.index()];
    }
    sizes
}
