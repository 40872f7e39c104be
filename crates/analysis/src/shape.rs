//! Backtraces as a reader sees them: lines instead of codes, some of them hidden, folded or cut off.
//!
//! A frame of the [`CallTree`] is a code; it has one line for each function that was inlined into it,
//! and two codes may have the same lines. A [`Shape`] makes of it a tree of lines in which what looks
//! the same is the same, so that what was counted by backtraces can be added up by what people see.
//!
//! ```text
//!   CallTree:  a ─ b ─ c           lines of b: p, q        Shaped:  a ─ p ─ q ─ c
//!                └ b'              lines of b': p, q                        └ of(b) = of(b')
//! ```
//!
//! It costs O(nodes), and names are asked for once a distinct code.

use std::ops::AddAssign;

use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::call_tree::{CallTree, NodeId, Tree};
use crate::names::{Frame, Names, Place, expand};

/// A line, by its number in a [`Shaped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(u32);

impl LineId {
    /// Its number, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is to become of backtraces.
#[derive(Clone, Copy, Default)]
pub struct Shape<'m> {
    /// Lines that are left out.
    pub hide: Option<&'m dyn Fn(&Frame<'_>) -> bool>,
    /// Whether of a function that calls itself again, through whatever others, the lines between are
    /// left out.
    pub collapse_recursion: bool,
    /// Lines that a backtrace must come through in this order, whatever is between them. It begins with
    /// the last of them; one that has not all of them is left out.
    pub focus: &'m [&'m dyn Fn(&Frame<'_>) -> bool],
}

/// Backtraces of lines.
#[derive(Clone, Debug)]
pub struct Shaped<'a> {
    tree: Tree<LineId>,
    lines: Vec<Frame<'a>>,
    /// By the number of the old node; nothing for what was left out.
    nodes: Vec<Option<NodeId>>,
}

impl<'a> Shaped<'a> {
    /// The backtraces of `tree`; `names` are those of the trace.
    pub fn new(tree: &CallTree, names: &'a impl Names, shape: &Shape<'_>) -> Self {
        let mut shaper = Shaper::new(names, shape);
        let mut states = Vec::with_capacity(1 + tree.len());
        states.push(shaper.root());
        for (_, parent, code) in tree.nodes() {
            let state = shaper.step(states[parent.index()], code);
            states.push(state);
        }
        let nodes = states.iter().map(|state: &State| state.node).collect();
        Self { tree: shaper.tree, lines: shaper.lines.lines, nodes }
    }

    /// What a backtrace became; nothing if it was left out.
    ///
    /// # Panics
    /// If `node` is not of the tree that was shaped.
    pub fn of(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()]
    }

    /// What was found by backtraces, added up by how they look; what was left out is left out.
    pub fn merge<T: Default + for<'t> AddAssign<&'t T>>(
        &self,
        found: impl IntoIterator<Item = (NodeId, T)>,
    ) -> Vec<(NodeId, T)> {
        let mut sums: FxHashMap<NodeId, T> = FxHashMap::default();
        for (node, what) in found {
            if let Some(look) = self.of(node) {
                *sums.entry(look).or_default() += &what;
            }
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|&(node, _)| node);
        sums
    }

    /// The tree of lines.
    pub fn tree(&self) -> &Tree<LineId> {
        &self.tree
    }

    /// All lines, by number.
    pub fn lines(&self) -> &[Frame<'a>] {
        &self.lines
    }

    /// What a line says.
    pub fn line(&self, line: LineId) -> Frame<'a> {
        self.lines[line.index()]
    }

    /// A backtrace's lines, innermost first.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = Frame<'a>> {
        self.tree.frames(node).map(|line| self.line(line))
    }
}

/// How far a backtrace has come.
#[derive(Clone, Copy, Debug)]
struct State {
    /// What it became; nothing before the focus.
    node: Option<NodeId>,
    /// How many lines of the focus it has come through.
    met: u32,
}

struct Shaper<'a, 'm, N> {
    names: &'a N,
    shape: &'m Shape<'m>,
    tree: Tree<LineId>,
    lines: Lines<'a>,
    /// The visible lines of a code, outermost first.
    known: FxHashMap<LocationCode, Vec<LineId>>,
}

impl<'a, 'm, N: Names> Shaper<'a, 'm, N> {
    fn new(names: &'a N, shape: &'m Shape<'m>) -> Self {
        let (tree, lines, known) = Default::default();
        Self { names, shape, tree, lines, known }
    }

    fn root(&self) -> State {
        let node = self.shape.focus.is_empty().then_some(NodeId::ROOT);
        State { node, met: 0 }
    }

    fn step(&mut self, state: State, code: LocationCode) -> State {
        let lines = self.known.remove(&code).unwrap_or_else(|| self.visible_lines(code));
        let state = lines.iter().fold(state, |state, &line| self.line(state, line));
        self.known.insert(code, lines);
        state
    }

    fn line(&mut self, state: State, line: LineId) -> State {
        match state.node {
            Some(node) => State { node: Some(self.child(node, line)), ..state },
            None => self.seek(state, line),
        }
    }

    fn child(&mut self, node: NodeId, line: LineId) -> NodeId {
        if !self.shape.collapse_recursion || self.tree.existing_child(node, line).is_some() {
            return self.tree.child(node, line);
        }
        self.earlier(node, line).unwrap_or_else(|| self.tree.child(node, line))
    }

    /// The part of the backtrace that ends in the same function.
    fn earlier(&self, node: NodeId, line: LineId) -> Option<NodeId> {
        let function = |line: LineId| self.lines.lines[line.index()].place.function();
        let wanted = function(line)?;
        self.tree.path(node).find(|&(_, line)| function(line) == Some(wanted)).map(|(node, _)| node)
    }

    /// Goes on towards the focus.
    fn seek(&mut self, state: State, line: LineId) -> State {
        let frame = &self.lines.lines[line.index()];
        if !self.shape.focus[state.met as usize](frame) {
            return state;
        }
        let met = state.met + 1;
        let is_there = met as usize == self.shape.focus.len();
        State { node: is_there.then(|| self.tree.child(NodeId::ROOT, line)), met }
    }

    fn visible_lines(&mut self, code: LocationCode) -> Vec<LineId> {
        let hide = self.shape.hide;
        let frames = expand(self.names, code).filter(|frame| !hide.is_some_and(|it| it(frame)));
        let mut lines: Vec<_> = frames.map(|frame| self.lines.id(frame)).collect();
        lines.reverse();
        lines
    }
}

/// Lines that have been met.
#[derive(Clone, Debug, Default)]
struct Lines<'a> {
    lines: Vec<Frame<'a>>,
    ids: FxHashMap<(Key<'a>, bool), LineId>,
}

impl<'a> Lines<'a> {
    fn id(&mut self, frame: Frame<'a>) -> LineId {
        *self.ids.entry((Key::of(&frame.place), frame.inlined)).or_insert_with(|| {
            self.lines.push(frame);
            LineId(u32::try_from(self.lines.len() - 1).expect("2^32 lines do not fit in memory"))
        })
    }
}

/// What makes two places equal, and their order where nothing else decides: function, file and line. A
/// column more or less does not matter to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key<'a> {
    /// Function, file, line.
    Known(&'a str, &'a str, u32),
    /// A frame without any location.
    Unknown(LocationCode),
    /// There was no backtrace.
    NoBacktrace,
}

impl<'a> Key<'a> {
    /// That of a place.
    pub fn of(place: &Place<'a>) -> Self {
        match *place {
            Place::Known(Location { defname, filename, line, .. }) => {
                Self::Known(defname, filename, *line)
            }
            Place::Unknown(code) => Self::Unknown(code),
            Place::NoBacktrace => Self::NoBacktrace,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Book(HashMap<LocationCode, Vec<Location>>);

    impl Names for Book {
        fn locations(&self, code: LocationCode) -> &[Location] {
            self.0.get(&code).map_or(&[], Vec::as_slice)
        }
    }

    /// Code 1 is function `a`, and so on; code 10 is `p` with `q` inlined into it, as is code 11.
    fn book() -> Book {
        let location = |name: &str| Location {
            filename: "".into(),
            line: 1,
            start_char: 0,
            end_char: 0,
            defname: name.into(),
        };
        let letters = ["a", "b", "c", "d"].iter().zip(1..);
        let simple = letters.map(|(name, code)| (LocationCode(code), vec![location(name)]));
        let inlined = [10, 11].map(|code| (LocationCode(code), vec![location("p"), location("q")]));
        Book(simple.chain(inlined).collect())
    }

    fn shaped(stacks: &[&[u64]], shape: &Shape<'_>) -> Vec<Option<String>> {
        let (book, mut tree) = (book(), CallTree::default());
        let mut follow = |stack: &&[u64]| {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            tree.follow(0, &codes)
        };
        let nodes: Vec<_> = stacks.iter().map(&mut follow).collect();
        let shaped = Shaped::new(&tree, &book, shape);
        let text = |node| {
            let mut names: Vec<_> =
                shaped.frames(node).map(|frame| frame.place.function().unwrap_or("?")).collect();
            names.reverse();
            names.join(" ")
        };
        nodes.into_iter().map(|node| shaped.of(node).map(text)).collect()
    }

    fn is(name: &'static str) -> impl Fn(&Frame<'_>) -> bool {
        move |frame| frame.place.function() == Some(name)
    }

    fn texts(expected: &[Option<&str>]) -> Vec<Option<String>> {
        expected.iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn lines_of_equal_looks_are_equal() {
        let (book, mut tree) = (book(), CallTree::default());
        let one = tree.follow(0, &[1, 10, 2].map(LocationCode));
        let other = tree.follow(0, &[1, 11, 2].map(LocationCode));
        let shaped = Shaped::new(&tree, &book, &Shape::default());
        assert_ne!(one, other);
        assert_eq!(shaped.of(one), shaped.of(other));
        assert_eq!(shaped.of(NodeId::ROOT), Some(NodeId::ROOT));
        let inlined: Vec<_> =
            shaped.frames(shaped.of(one).unwrap()).map(|frame| frame.inlined).collect();
        assert_eq!(inlined, [false, true, false, false]);
    }

    #[test]
    fn hidden_lines_are_gone() {
        let hide = is("p");
        let shape = Shape { hide: Some(&hide), ..Shape::default() };
        let expected = texts(&[Some("a q b"), Some(""), Some("? a")]);
        assert_eq!(shaped(&[&[1, 10, 2], &[], &[7, 1]], &shape), expected);
    }

    #[test]
    fn recursion_is_folded_whatever_is_between() {
        let shape = Shape { collapse_recursion: true, ..Shape::default() };
        let stacks: [&[u64]; 4] = [&[1, 2, 2, 3], &[1, 2, 1, 2, 4], &[1, 2, 3, 1, 4], &[7, 7]];
        let expected = texts(&[Some("a b c"), Some("a b d"), Some("a d"), Some("? ?")]);
        assert_eq!(shaped(&stacks, &shape), expected);
    }

    #[test]
    fn a_focus_is_where_backtraces_begin() {
        let (first, second) = (is("a"), is("q"));
        let focus: [&dyn Fn(&Frame<'_>) -> bool; 2] = [&first, &second];
        let shape = Shape { focus: &focus, ..Shape::default() };
        let stacks: [&[u64]; 4] = [&[1, 2, 10, 3], &[10, 1, 3], &[4, 1, 10], &[]];
        let expected = texts(&[Some("q c"), None, Some("q"), None]);
        assert_eq!(shaped(&stacks, &shape), expected);
    }
}
