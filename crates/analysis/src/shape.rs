//! Backtraces as a reader sees them: lines instead of codes, some of them hidden, folded or cut off.
//!
//! A frame of the [`CallTree`] is a code; it has one line for each function that was inlined into it,
//! and two codes may have the same lines. Here a tree of lines is made of it in which what looks the
//! same is the same, so that what was counted by backtraces can be added up by what people see. What
//! a [`View`] hides is left out, node by node as [`View::apply`] does it with a single backtrace.
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
use crate::filter::{Focus, Function, Line, View};
use crate::lines;
use crate::names::{NamedFrame, Names, Place};

/// A line, by its number in a [`Shaped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(u32);

impl LineId {
    /// Its number, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Backtraces of lines.
#[derive(Clone, Debug)]
pub struct Shaped<'a> {
    tree: Tree<LineId>,
    lines: Vec<Line<'a>>,
    /// By the number of the old node; nothing for what was left out.
    nodes: Vec<Option<NodeId>>,
}

impl<'a> Shaped<'a> {
    /// The backtraces of `tree`; `names` are those of the trace.
    pub fn new(tree: &CallTree, names: &'a impl Names, view: &View) -> Self {
        let mut shaper = Shaper {
            names,
            view,
            tree: Tree::default(),
            lines: Lines::default(),
            known: FxHashMap::default(),
        };
        let mut nodes = Vec::with_capacity(1 + tree.len());
        nodes.push(NodeId::ROOT);
        for (_, parent, code) in tree.nodes() {
            let node = shaper.step(nodes[parent.index()], code);
            nodes.push(node);
        }
        let Shaper { tree, lines: Lines { lines, .. }, .. } = shaper;
        match &view.focus {
            None => Self { tree, lines, nodes: nodes.into_iter().map(Some).collect() },
            Some(focus) => {
                let (tree, kept) = cut(&tree, &lines, focus);
                Self { tree, lines, nodes: nodes.iter().map(|node| kept[node.index()]).collect() }
            }
        }
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

    /// Of each shaped backtrace, by its node's number, where it has come through a path for the first time: the
    /// node of the path's last frame. Nothing for those that do not.
    pub fn ends_of(&self, path: &Focus) -> Vec<Option<NodeId>> {
        let mut progress = vec![(Progress::default(), None)];
        for (node, parent, _) in self.tree.nodes() {
            let (mut now, mut end) = progress[parent.index()];
            if now.enter(&self.tree, node, &self.lines, path).is_some() && now.is_through(path) {
                end = Some(node);
            }
            progress.push((now, end));
        }
        progress.into_iter().map(|(_, end)| end).collect()
    }

    /// The tree of lines.
    pub fn tree(&self) -> &Tree<LineId> {
        &self.tree
    }

    /// All lines, by number.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = NamedFrame<'a>> {
        self.lines.iter().map(|line| line.frame)
    }

    /// What a line says.
    pub fn line(&self, line: LineId) -> NamedFrame<'a> {
        self.lines[line.index()].frame
    }

    /// A backtrace's lines, innermost first.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = NamedFrame<'a>> {
        self.tree.frames(node).map(|line| self.line(line))
    }
}

struct Shaper<'a, 'v, N> {
    names: &'a N,
    view: &'v View,
    tree: Tree<LineId>,
    lines: Lines<'a>,
    /// The visible lines of a code, outermost first.
    known: FxHashMap<LocationCode, Vec<LineId>>,
}

impl<N: Names> Shaper<'_, '_, N> {
    fn step(&mut self, node: NodeId, code: LocationCode) -> NodeId {
        let lines = self.known.remove(&code).unwrap_or_else(|| self.visible_lines(code));
        let node = lines.iter().fold(node, |node, &line| self.child(node, line));
        self.known.insert(code, lines);
        node
    }

    fn visible_lines(&mut self, code: LocationCode) -> Vec<LineId> {
        let all = lines::lines(self.names, &self.view.machinery, code);
        let visible = all.filter(|line| !self.view.hide.iter().any(|it| it.matches(line)));
        let by_column = self.view.by_column;
        let mut lines: Vec<_> = visible.map(|line| self.lines.id(line, by_column)).collect();
        lines.reverse();
        lines
    }

    fn child(&mut self, node: NodeId, line: LineId) -> NodeId {
        if !self.view.collapse_recursion || self.tree.existing_child(node, line).is_some() {
            return self.tree.child(node, line);
        }
        let node = self.before(node, line).unwrap_or(node);
        self.tree.child(node, line)
    }

    /// What the backtrace is up to, and without, an earlier call of the same function.
    fn before(&self, node: NodeId, line: LineId) -> Option<NodeId> {
        let function = |line: LineId| Function::of(&self.lines.lines[line.index()]);
        let wanted = function(line);
        let (earlier, _) = self.tree.path(node).find(|&(_, line)| function(line) == wanted)?;
        self.tree.parent(earlier).map(|(parent, _)| parent)
    }
}

/// How far a backtrace has come in a path.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Stretches that it has been through, and at which depth the last of them ended.
    stretches: usize,
    end: usize,
    depth: usize,
    /// What it is from the path's first line on, once it has been through the first stretch.
    within: Option<NodeId>,
}

/// The backtraces that go through a path, from its first line on; and what each became.
fn cut(
    tree: &Tree<LineId>,
    lines: &[Line<'_>],
    focus: &Focus,
) -> (Tree<LineId>, Vec<Option<NodeId>>) {
    let mut shorter = Tree::default();
    let mut progress = vec![Progress::default()];
    for (node, parent, line) in tree.nodes() {
        let mut now = progress[parent.index()];
        now.within = now.within.map(|within| shorter.child(within, line));
        if let Some(stretch) = now.enter(tree, node, lines, focus) {
            now.within.get_or_insert_with(|| {
                stretch.iter().rev().fold(NodeId::ROOT, |node, &line| shorter.child(node, line))
            });
        }
        progress.push(now);
    }
    let kept = progress.iter().map(|it| it.within.filter(|_| it.is_through(focus))).collect();
    (shorter, kept)
}

impl Progress {
    /// Goes on to `node`; the stretch that ends there, innermost line first, if one does.
    fn enter(
        &mut self,
        tree: &Tree<LineId>,
        node: NodeId,
        lines: &[Line<'_>],
        focus: &Focus,
    ) -> Option<Vec<LineId>> {
        self.depth += 1;
        let stretch = focus.stretches().get(self.stretches)?;
        if self.depth - self.end < stretch.len() {
            return None;
        }
        let last: Vec<_> = tree.frames(node).take(stretch.len()).collect();
        let mut steps = last.iter().rev().zip(stretch);
        if !steps.all(|(line, it)| it.matches(&lines[line.index()])) {
            return None;
        }
        (self.stretches, self.end) = (self.stretches + 1, self.depth);
        Some(last)
    }

    fn is_through(&self, focus: &Focus) -> bool {
        self.stretches == focus.stretches().len()
    }
}

/// Lines that have been met.
#[derive(Clone, Debug, Default)]
struct Lines<'a> {
    lines: Vec<Line<'a>>,
    ids: FxHashMap<(Key<'a>, bool, Option<&'a str>, Columns), LineId>,
}

/// The first and the last one, if they matter.
type Columns = Option<(u32, u32)>;

impl<'a> Lines<'a> {
    fn id(&mut self, line: Line<'a>, by_column: bool) -> LineId {
        let Line { frame, module } = line;
        let columns = frame.place.columns().filter(|_| by_column);
        let key = (Key::of(&frame.place), frame.inlined, module, columns);
        *self.ids.entry(key).or_insert_with(|| {
            self.lines.push(line);
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
    use proptest::prelude::*;

    use crate::filter::FramePattern;
    use crate::names::testing::Book;

    use super::*;

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

    fn view(hide: &[&str], collapse_recursion: bool, focus: Option<&str>) -> View {
        View {
            hide: hide.iter().map(|text| FramePattern::parse(text).unwrap()).collect(),
            collapse_recursion,
            focus: focus.map(|text| Focus::parse(text).unwrap()),
            ..View::default()
        }
    }

    fn shaped(stacks: &[&[u64]], view: &View) -> Vec<Option<String>> {
        let (book, mut tree) = (book(), CallTree::default());
        let mut follow = |stack: &&[u64]| {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            tree.follow(0, &codes)
        };
        let nodes: Vec<_> = stacks.iter().map(&mut follow).collect();
        let shaped = Shaped::new(&tree, &book, view);
        let text = |node| {
            let mut names: Vec<_> = shaped.frames(node).map(name).collect();
            names.reverse();
            names.join(" ")
        };
        nodes.into_iter().map(|node| shaped.of(node).map(text)).collect()
    }

    fn name(frame: NamedFrame<'_>) -> &str {
        frame.place.function().unwrap_or("?")
    }

    /// What [`View::apply`] makes of a backtrace.
    fn applied(stack: &[u64], view: &View) -> Option<String> {
        let book = book();
        let expanded = stack.iter().flat_map(|&code| {
            let mut frames: Vec<_> = crate::names::expand(&book, LocationCode(code)).collect();
            frames.reverse();
            frames
        });
        let mut lines: Vec<_> = expanded.map(|frame| Line { frame, module: None }).collect();
        let is_kept = view.apply(&mut lines);
        let names: Vec<_> = lines.iter().map(|line| name(line.frame)).collect();
        is_kept.then(|| names.join(" "))
    }

    fn texts(expected: &[Option<&str>]) -> Vec<Option<String>> {
        expected.iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn lines_of_equal_looks_are_equal() {
        let (book, mut tree) = (book(), CallTree::default());
        let one = tree.follow(0, &[1, 10, 2].map(LocationCode));
        let other = tree.follow(0, &[1, 11, 2].map(LocationCode));
        let shaped = Shaped::new(&tree, &book, &View::default());
        assert_ne!(one, other);
        assert_eq!(shaped.of(one), shaped.of(other));
        assert_eq!(shaped.of(NodeId::ROOT), Some(NodeId::ROOT));
        let inlined: Vec<_> =
            shaped.frames(shaped.of(one).unwrap()).map(|frame| frame.inlined).collect();
        assert_eq!(inlined, [false, true, false, false]);
    }

    #[test]
    fn hidden_lines_are_gone() {
        let expected = texts(&[Some("a q b"), Some(""), Some("? a")]);
        assert_eq!(shaped(&[&[1, 10, 2], &[], &[7, 1]], &view(&["p"], false, None)), expected);
    }

    #[test]
    fn recursion_is_folded_whatever_is_between() {
        let stacks: [&[u64]; 4] = [&[1, 2, 2, 3], &[1, 2, 1, 2, 4], &[1, 2, 3, 1, 4], &[7, 7]];
        let expected = texts(&[Some("a b c"), Some("a b d"), Some("a d"), Some("?")]);
        assert_eq!(shaped(&stacks, &view(&[], true, None)), expected);
    }

    #[test]
    fn a_focus_is_where_backtraces_begin() {
        let stacks: [&[u64]; 4] = [&[1, 2, 10, 3], &[10, 1, 3], &[4, 1, 10], &[]];
        let expected = texts(&[Some("a b p q c"), None, Some("a p q"), None]);
        assert_eq!(shaped(&stacks, &view(&[], false, Some("a;*;q"))), expected);
    }

    proptest! {
        #[test]
        fn trees_are_shaped_as_backtraces_are(
            stacks in prop::collection::vec(prop::collection::vec(prop::sample::select(
                vec![1_u64, 2, 3, 4, 7, 10, 11]), 0..9), 1..20),
            hide in prop::sample::select(vec![&[][..], &["b"], &["p", "c"], &["q"]]),
            collapse in any::<bool>(),
            focus in prop::option::of(prop::sample::select(
                vec!["a", "a;b", "a;a;*;a", "b;*;q;*;b", "p;q", "c;*;a;b", "d;*;d"])),
        ) {
            let view = view(hide, collapse, focus);
            let stacks: Vec<&[u64]> = stacks.iter().map(Vec::as_slice).collect();
            let expected: Vec<_> = stacks.iter().map(|stack| applied(stack, &view)).collect();
            prop_assert_eq!(shaped(&stacks, &view), expected);
        }
    }
}
