//! Backtraces as a prefix tree of frames: what a hundred thousand of them have in common is there once.

use std::sync::Arc;

use lifetrace_trace::call_tree::{self, NodeId};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// The names of codes are looked up again when there are more: a program that makes code as it runs
/// has no end of them.
const MOST_CODES: usize = 1 << 18;

/// Backtraces of frames with names. Grows with the distinct backtraces that have been, and by nothing else.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) backtraces: call_tree::Tree<u32>,
    frames: Frames,
}

/// Each frame once; its place is its number.
#[derive(Debug, Default)]
struct Frames {
    all: Vec<Arc<Frame>>,
    codes: FxHashMap<LocationCode, u32>,
    numbers: FxHashMap<Arc<Frame>, u32>,
}

impl Tree {
    /// The node of a backtrace, outermost frame first, of which so many leading frames are those of
    /// the last one.
    pub(crate) fn node(
        &mut self,
        backtrace: &[LocationCode],
        common_prefix: usize,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> NodeId {
        let frames = &mut self.frames;
        self.backtraces.follow_with(common_prefix, backtrace, |&code| frames.number(code, locate))
    }

    /// By their numbers, which the backtraces have.
    pub(crate) fn frames(&self) -> &[Arc<Frame>] {
        &self.frames.all
    }
}

impl Frames {
    /// The frame's number; one that has had several codes has one number.
    fn number(&mut self, code: LocationCode, locate: &mut dyn FnMut(LocationCode) -> Frame) -> u32 {
        if let Some(&frame) = self.codes.get(&code) {
            return frame;
        }
        if self.codes.len() >= MOST_CODES {
            self.codes = FxHashMap::default();
        }
        let frame = Arc::new(locate(code));
        let number = *self.numbers.entry(Arc::clone(&frame)).or_insert_with(|| {
            self.all.push(frame);
            self.all.len() as u32 - 1
        });
        self.codes.insert(code, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifetrace_trace::event::remark;
    use proptest::prelude::*;

    fn codes(numbers: &[u64]) -> Vec<LocationCode> {
        numbers.iter().map(|&number| LocationCode(number)).collect()
    }

    /// Codes that differ by 100 are of the same place.
    fn locate(code: LocationCode) -> Frame {
        vec![remark(&(code.0 % 100).to_string())].into()
    }

    fn names(tree: &Tree, node: NodeId) -> Vec<String> {
        let frames = tree.backtraces.frames(node).map(|frame| &tree.frames()[frame as usize]);
        let mut names: Vec<_> = frames.map(|it| it.locations[0].defname.to_string()).collect();
        names.reverse();
        names
    }

    #[test]
    fn what_is_common_is_there_once() {
        let mut tree = Tree::default();
        let first = tree.node(&codes(&[1, 2, 3]), 0, &mut locate);
        let second = tree.node(&codes(&[1, 2, 4]), 2, &mut locate);
        let again = tree.node(&codes(&[101, 2, 103]), 0, &mut locate);
        assert_eq!((first, again), (again, first));
        assert_ne!(first, second);
        assert_eq!((tree.backtraces.len(), tree.frames().len()), (4, 4));
        assert_eq!(names(&tree, second), ["1", "2", "4"]);
        assert_eq!(tree.node(&[], 0, &mut locate), NodeId::ROOT);
    }

    #[test]
    fn codes_that_never_come_again_are_forgotten() {
        let mut tree = Tree::default();
        for code in 0..3 * MOST_CODES as u64 {
            tree.node(&[LocationCode(code)], 0, &mut locate);
        }
        assert!(tree.frames.codes.len() <= MOST_CODES);
        assert_eq!((tree.backtraces.len(), tree.frames().len()), (100, 100));
    }

    proptest! {
        #[test]
        fn every_backtrace_is_what_it_was(
            backtraces in prop::collection::vec(prop::collection::vec(0..6u64, 0..8), 1..100),
        ) {
            let mut tree = Tree::default();
            let mut last: Vec<u64> = Vec::new();
            for backtrace in backtraces {
                let common = last.iter().zip(&backtrace).take_while(|(a, b)| a == b).count();
                let node = tree.node(&codes(&backtrace), common, &mut locate);
                let expected: Vec<String> = backtrace.iter().map(u64::to_string).collect();
                prop_assert_eq!(names(&tree, node), expected);
                last = backtrace;
            }
        }
    }
}
