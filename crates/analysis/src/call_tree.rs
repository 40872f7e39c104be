//! Backtraces as nodes of a prefix tree.
//!
//! A node is one backtrace: its parent is the same backtrace without the innermost frame. The tree
//! remembers the path of the backtrace it followed last; a trace says how much of that the next one
//! shares, so following it costs O(changed frames), however deep the stack.

use std::iter;

use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// A backtrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The backtrace without frames.
    pub const ROOT: Self = Self(0);

    fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("2^32 nodes do not fit in memory"))
    }

    /// Its number, from 0 for the root.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All backtraces of a trace.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// Without the root; a node's parent comes before it.
    nodes: Vec<Node>,
    children: FxHashMap<Node, NodeId>,
    /// The backtrace that was followed last: one node a frame, outermost first.
    path: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    parent: NodeId,
    code: LocationCode,
}

impl CallTree {
    /// The node of `backtrace` (outermost frame first), whose first `common_prefix` frames are those of
    /// the backtrace that was followed last.
    pub fn follow(&mut self, common_prefix: usize, backtrace: &[LocationCode]) -> NodeId {
        let shared = common_prefix.min(backtrace.len()).min(self.path.len());
        self.path.truncate(shared);
        let mut node = self.path.last().copied().unwrap_or(NodeId::ROOT);
        for &code in &backtrace[shared..] {
            node = self.child(node, code);
            self.path.push(node);
        }
        node
    }

    /// The frames of a backtrace, innermost first.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = LocationCode> {
        let ancestor = |node: &Node| self.node(node.parent);
        iter::successors(self.node(node), ancestor).map(|node| node.code)
    }

    /// All frames of all backtraces, a frame of many backtraces many times.
    pub fn codes(&self) -> impl Iterator<Item = LocationCode> {
        self.nodes.iter().map(|node| node.code)
    }

    /// The tree in which each frame is replaced by its `representative`, so that backtraces which
    /// become equal are one node; and for each node of this tree the one it has become.
    pub fn merged(
        &self,
        representative: impl Fn(LocationCode) -> LocationCode,
    ) -> (Self, Renumbering) {
        let mut tree = Self::default();
        let mut renumbering = vec![NodeId::ROOT];
        for node in &self.nodes {
            let parent = renumbering[node.parent.index()];
            renumbering.push(tree.child(parent, representative(node.code)));
        }
        (tree, Renumbering(renumbering))
    }

    fn child(&mut self, parent: NodeId, code: LocationCode) -> NodeId {
        let node = Node { parent, code };
        *self.children.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            NodeId::new(self.nodes.len())
        })
    }

    fn node(&self, id: NodeId) -> Option<Node> {
        self.nodes.get(id.index().checked_sub(1)?).copied()
    }
}

/// What nodes became when their tree was merged.
#[derive(Clone, Debug)]
pub struct Renumbering(Vec<NodeId>);

impl Renumbering {
    /// The new node.
    ///
    /// # Panics
    /// If `node` is not of the tree that was merged.
    pub fn of(&self, node: NodeId) -> NodeId {
        self.0[node.index()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn codes(raw: &[u64]) -> Vec<LocationCode> {
        raw.iter().copied().map(LocationCode).collect()
    }

    fn innermost_last(tree: &CallTree, node: NodeId) -> Vec<LocationCode> {
        let mut frames: Vec<_> = tree.frames(node).collect();
        frames.reverse();
        frames
    }

    fn common_prefix<T: PartialEq>(a: &[T], b: &[T]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    #[test]
    fn the_same_backtrace_is_the_same_node() {
        let mut tree = CallTree::default();
        let first = tree.follow(0, &codes(&[1, 2, 3]));
        let second = tree.follow(2, &codes(&[1, 2, 4]));
        assert_ne!(first, second);
        assert_eq!(tree.follow(0, &codes(&[1, 2, 3])), first);
        assert_eq!(tree.follow(3, &codes(&[1, 2, 3])), first);
        assert_eq!(tree.follow(0, &[]), NodeId::ROOT);
        assert_eq!(tree.codes().count(), 4);
    }

    #[test]
    fn an_impossible_prefix_is_as_long_as_it_can_be() {
        let mut tree = CallTree::default();
        tree.follow(7, &codes(&[1, 2]));
        let node = tree.follow(usize::MAX, &codes(&[1, 2, 3]));
        assert_eq!(innermost_last(&tree, node), codes(&[1, 2, 3]));
    }

    #[test]
    fn frames_that_become_equal_merge_backtraces() {
        let mut tree = CallTree::default();
        let odd = tree.follow(0, &codes(&[1, 3, 10]));
        let even = tree.follow(0, &codes(&[1, 2, 10]));
        let (merged, renumbering) = tree.merged(|code| LocationCode(code.0.min(2)));
        assert_eq!(renumbering.of(odd), renumbering.of(even));
        assert_eq!(innermost_last(&merged, renumbering.of(odd)), codes(&[1, 2, 2]));
        assert_eq!(renumbering.of(NodeId::ROOT), NodeId::ROOT);
    }

    proptest! {
        #[test]
        fn following_by_prefix_is_following_whole(
            stacks in prop::collection::vec(prop::collection::vec(0u64..4, 0..8), 1..40),
        ) {
            let (mut tree, mut whole) = (CallTree::default(), CallTree::default());
            let mut previous = Vec::new();
            for stack in stacks {
                let stack = codes(&stack);
                let node = tree.follow(common_prefix(&previous, &stack), &stack);
                prop_assert_eq!(node, whole.follow(0, &stack));
                prop_assert_eq!(innermost_last(&tree, node), stack.clone());
                previous = stack;
            }
        }
    }
}
