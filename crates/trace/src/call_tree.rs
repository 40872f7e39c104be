//! Backtraces as nodes of a prefix tree.
//!
//! A node is one backtrace: its parent is the same backtrace without the innermost frame. A tree
//! remembers the path of the backtrace it followed last; a trace says how much of that the next one
//! shares, so following it costs O(changed frames), however deep the stack.

use std::hash::Hash;
use std::iter;

use rustc_hash::FxHashMap;

use crate::ids::LocationCode;

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

/// Backtraces whose frames are `F`s.
#[derive(Clone, Debug)]
pub struct Tree<F> {
    /// Without the root; a node's parent comes before it.
    nodes: Vec<Node<F>>,
    children: FxHashMap<Node<F>, NodeId>,
    /// The backtrace that was followed last: one node a frame, outermost first.
    followed: Vec<NodeId>,
}

/// All backtraces of a trace.
pub type CallTree = Tree<LocationCode>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node<F> {
    parent: NodeId,
    frame: F,
}

impl<F> Default for Tree<F> {
    fn default() -> Self {
        Self { nodes: Vec::new(), children: FxHashMap::default(), followed: Vec::new() }
    }
}

impl<F: Copy + Eq + Hash> Tree<F> {
    /// The node of `backtrace` (outermost frame first), whose first `common_prefix` frames are those of
    /// the backtrace that was followed last.
    pub fn follow(&mut self, common_prefix: usize, backtrace: &[F]) -> NodeId {
        self.follow_with(common_prefix, backtrace, |&frame| frame)
    }

    /// The node of `backtrace` as [`follow`](Self::follow) finds it, where `frame` says what the pieces of
    /// the backtrace stand for. It is asked for those after the prefix only.
    pub fn follow_with<C>(
        &mut self,
        common_prefix: usize,
        backtrace: &[C],
        mut frame: impl FnMut(&C) -> F,
    ) -> NodeId {
        let shared = common_prefix.min(backtrace.len()).min(self.followed.len());
        self.followed.truncate(shared);
        let mut node = self.followed.last().copied().unwrap_or(NodeId::ROOT);
        for code in &backtrace[shared..] {
            node = self.child(node, frame(code));
            self.followed.push(node);
        }
        node
    }

    /// The backtrace that has one frame more.
    pub fn child(&mut self, parent: NodeId, frame: F) -> NodeId {
        let node = Node { parent, frame };
        // The node after a node is mostly its first child, and often the one that is looked for.
        if self.nodes.get(parent.index()) == Some(&node) {
            return NodeId::new(parent.index() + 1);
        }
        *self.children.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            NodeId::new(self.nodes.len())
        })
    }

    /// The backtrace that has one frame more, if it was met before.
    pub fn existing_child(&self, parent: NodeId, frame: F) -> Option<NodeId> {
        self.children.get(&Node { parent, frame }).copied()
    }

    /// The frames of a backtrace, innermost first.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = F> {
        self.path(node).map(|(_, frame)| frame)
    }

    /// A backtrace and what it is without its innermost frames, to the last but the empty one; and the
    /// innermost frame of each.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = (NodeId, F)> {
        let with = |id: NodeId| self.node(id).map(|node| (id, node));
        iter::successors(with(node), move |(_, node)| with(node.parent))
            .map(|(id, node)| (id, node.frame))
    }

    /// A backtrace without its innermost frame, and that frame; nothing for the empty one.
    pub fn parent(&self, node: NodeId) -> Option<(NodeId, F)> {
        self.node(node).map(|node| (node.parent, node.frame))
    }

    /// All backtraces but the empty one, each after its parent: the backtrace, its parent, and the
    /// frame that it has more.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, NodeId, F)> {
        self.nodes_after(0)
    }

    /// All [`nodes`](Self::nodes) but the first so many.
    pub fn nodes_after(
        &self,
        first: usize,
    ) -> impl DoubleEndedIterator<Item = (NodeId, NodeId, F)> {
        let numbered = self.nodes[first.min(self.nodes.len())..].iter().enumerate();
        numbered.map(move |(index, node)| (NodeId::new(first + index + 1), node.parent, node.frame))
    }

    /// The number of backtraces but the empty one.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none but the empty one.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn node(&self, id: NodeId) -> Option<Node<F>> {
        self.nodes.get(id.index().checked_sub(1)?).copied()
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
        assert_eq!(tree.len(), 4);
    }

    #[test]
    fn an_impossible_prefix_is_as_long_as_it_can_be() {
        let mut tree = CallTree::default();
        tree.follow(7, &codes(&[1, 2]));
        let node = tree.follow(usize::MAX, &codes(&[1, 2, 3]));
        assert_eq!(innermost_last(&tree, node), codes(&[1, 2, 3]));
    }

    #[test]
    fn nodes_come_after_their_parents() {
        let mut tree = CallTree::default();
        tree.follow(0, &codes(&[1, 2]));
        tree.follow(1, &codes(&[1, 3]));
        let mut seen = vec![NodeId::ROOT];
        for (node, parent, code) in tree.nodes() {
            assert!(seen.contains(&parent));
            assert_eq!(tree.frames(node).next(), Some(code));
            seen.push(node);
        }
        assert_eq!(seen.len(), 4);
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
