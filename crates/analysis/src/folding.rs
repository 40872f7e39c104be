//! Backtraces in which repetitions are folded: `main, eval, apply, eval, apply, eval` becomes
//! `main, eval, apply, eval`.
//!
//! Wherever functions repeat themselves at once, as a whole, their first turn is left out; so a
//! recursion is shown once, however deep it is, and its turns are the same to whoever counts. Unlike
//! [collapsing](crate::filter::View::collapse_recursion) it takes no function for recursive that is
//! merely used twice, as `List.iter` is by many: what lies between would be lost.
//!
//! A backtrace is folded frame by frame, outermost first, so backtraces that begin alike do so when
//! folded, and it costs O(nodes).

use rustc_hash::FxHashMap;

use crate::call_tree::{NodeId, Tree};
use crate::filter::{Function, Line};
use crate::shape::{LineId, Shaped};

/// More functions than these are not looked at for a repetition.
const LONGEST_TURN: usize = 12;

/// Folded backtraces.
#[derive(Clone, Debug)]
pub struct Folded {
    tree: Tree<LineId>,
    /// By the number of the shaped node.
    of: Vec<NodeId>,
}

impl Folded {
    /// Those of these backtraces.
    pub fn new(shaped: &Shaped<'_>) -> Self {
        let functions = functions(shaped);
        let mut folded = Self { tree: Tree::default(), of: vec![NodeId::ROOT] };
        for (_, parent, line) in shaped.tree().nodes() {
            let node = folded.tree.child(folded.of[parent.index()], line);
            let node = folded.without_repetition(node, &functions);
            folded.of.push(node);
        }
        folded
    }

    /// What a shaped backtrace became.
    ///
    /// # Panics
    /// If `node` is not of the tree that was folded.
    pub fn of(&self, node: NodeId) -> NodeId {
        self.of[node.index()]
    }

    /// The tree of lines.
    pub fn tree(&self) -> &Tree<LineId> {
        &self.tree
    }

    /// The node, without its last lines if they repeat those before; it had no repetition before its last line.
    fn without_repetition(&mut self, node: NodeId, functions: &[usize]) -> NodeId {
        let mut last = [(NodeId::ROOT, 0, None); 2 * LONGEST_TURN];
        let mut depth = 0;
        for ((id, line), place) in self.tree.path(node).zip(&mut last) {
            *place = (id, functions[line.index()], Some(line));
            depth += 1;
        }
        let is_same = |turn: &usize| (0..*turn).all(|at| last[at].1 == last[at + turn].1);
        let Some(turn) = (1..=depth / 2).find(is_same) else { return node };
        let before = last[..depth].get(2 * turn).map(|it| it.0);
        let before = before.unwrap_or_else(|| self.parent(last[2 * turn - 1].0));
        let lines = last[..turn].iter().rev().filter_map(|it| it.2);
        lines.fold(before, |node, line| self.tree.child(node, line))
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.tree.parent(node).map_or(NodeId::ROOT, |(parent, _)| parent)
    }
}

/// A number for the function of each line.
fn functions(shaped: &Shaped<'_>) -> Vec<usize> {
    let mut known = FxHashMap::default();
    let number = |frame| {
        let next = known.len();
        *known.entry(Function::of(&Line { frame, module: None })).or_insert(next)
    };
    shaped.lines().map(number).collect()
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::Location;
    use lifetrace_trace::ids::LocationCode;
    use proptest::prelude::*;

    use super::*;
    use crate::call_tree::CallTree;
    use crate::filter::View;
    use crate::names::Names;

    /// Code 10 is line 0 of function `1`, and so on.
    struct Book(Vec<Vec<Location>>);

    impl Names for Book {
        fn locations(&self, code: LocationCode) -> &[Location] {
            &self.0[code.0 as usize]
        }
    }

    fn book() -> Book {
        let location = |code: u32| Location {
            filename: "".into(),
            line: 1 + code % 10,
            start_char: 0,
            end_char: 0,
            defname: (code / 10).to_string().into(),
        };
        Book((0..100).map(|code| vec![location(code)]).collect())
    }

    fn folded(stacks: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let (book, mut tree) = (book(), CallTree::default());
        let mut follow = |stack: &Vec<u64>| {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            tree.follow(0, &codes)
        };
        let nodes: Vec<_> = stacks.iter().map(&mut follow).collect();
        let shaped = Shaped::new(&tree, &book, &View::default());
        let folded = Folded::new(&shaped);
        let code = |line| match shaped.line(line).place {
            crate::Place::Known(at) => {
                at.defname.parse::<u64>().unwrap() * 10 + u64::from(at.line) - 1
            }
            place => panic!("{place:?}"),
        };
        let codes = |node| {
            let node = folded.of(shaped.of(node).unwrap());
            let mut codes: Vec<_> = folded.tree().frames(node).map(code).collect();
            codes.reverse();
            codes
        };
        nodes.into_iter().map(codes).collect()
    }

    /// From a stack that is written out.
    fn naive(stack: &[u64]) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for &code in stack {
            kept.push(code);
            let function = |at: usize| kept[at] / 10;
            let repeats = |turn: &usize| {
                let end = kept.len();
                (0..*turn).all(|at| function(end - 1 - at) == function(end - 1 - at - turn))
            };
            if let Some(turn) = (1..=LONGEST_TURN.min(kept.len() / 2)).find(repeats) {
                let end = kept.len();
                kept.drain(end - 2 * turn..end - turn);
            }
        }
        kept
    }

    fn check(stack: &[u64], expected: &[u64]) {
        assert_eq!(folded(&[stack.to_vec()]), [expected]);
    }

    #[test]
    fn repetitions_are_folded() {
        check(&[], &[]);
        check(&[10, 20, 20, 20, 30], &[10, 20, 30]);
        check(&[10, 20, 30, 20, 30, 20, 40], &[10, 20, 30, 20, 40]);
        check(&[10, 20, 10, 20], &[10, 20]);
    }

    #[test]
    fn the_last_turn_stays() {
        check(&[10, 21, 22, 23, 30], &[10, 23, 30]);
        check(&[10, 21, 31, 22, 32], &[10, 22, 32]);
    }

    #[test]
    fn what_is_used_twice_is_no_recursion() {
        check(&[10, 20, 30, 40, 20, 50], &[10, 20, 30, 40, 20, 50]);
    }

    proptest! {
        #[test]
        fn trees_are_folded_as_stacks_are(
            stacks in prop::collection::vec(
                prop::collection::vec(prop::sample::select(vec![10_u64, 11, 20, 30, 40]), 0..40),
                1..20,
            ),
        ) {
            let expected: Vec<_> = stacks.iter().map(|stack| naive(stack)).collect();
            prop_assert_eq!(folded(&stacks), expected);
        }

        #[test]
        fn long_turns_are_folded_as_stacks_are(
            turn in prop::collection::vec(1_u64..9, 1..14),
            times in 1_usize..5,
        ) {
            let stack: Vec<_> = turn.iter().map(|function| function * 10).collect::<Vec<_>>().repeat(times);
            prop_assert_eq!(folded(std::slice::from_ref(&stack)), [naive(&stack)]);
        }
    }
}
