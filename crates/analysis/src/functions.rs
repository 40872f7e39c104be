//! Functions: how much they ask for themselves, and with all that they call.
//!
//! A function that is in a backtrace several times counts once. The outermost of these places decides:
//! what came through there is all that came through any of them. So one walk over the tree of
//! backtraces, noting which functions are on the way, gives all sums.

use rustc_hash::FxHashMap;

use crate::call_tree::{NodeId, Tree};
use crate::estimate::Estimate;
use crate::names::Place;
use crate::shape::{LineId, Shaped};
use crate::sites::Sites;
use lifetrace_trace::ids::LocationCode;

/// What a function has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Function<'a> {
    /// One of the places in it.
    pub place: Place<'a>,
    /// What it asked for itself: where it is the callsite.
    pub own: Estimate,
    /// What it, and all that it called, asked for.
    pub total: Estimate,
}

/// Functions are equal if name and file are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key<'a> {
    Known(&'a str, &'a str),
    Unknown(LocationCode),
    NoBacktrace,
}

impl<'a> Key<'a> {
    fn of(place: &Place<'a>) -> Self {
        match *place {
            Place::Known(location) => Self::Known(&location.defname, &location.filename),
            Place::Unknown(code) => Self::Unknown(code),
            Place::NoBacktrace => Self::NoBacktrace,
        }
    }
}

/// All functions of the backtraces that have these values, those that have most in total first.
pub fn functions<'a>(sites: &Sites<'a>, values: &[(NodeId, Estimate)]) -> Vec<Function<'a>> {
    let shaped = sites.shaped();
    let (of_line, mut functions) = number(shaped);
    let mut totals = vec![Estimate::default(); 1 + shaped.tree().len()];
    for &(node, value) in values {
        totals[node.index()] += value;
        if let Some((_, line)) = shaped.tree().parent(sites.begin(node)) {
            functions[of_line[line.index()]].own += value;
        }
    }
    for (node, parent, _) in shaped.tree().nodes().rev() {
        let total = totals[node.index()];
        totals[parent.index()] += total;
    }
    outermost(shaped.tree(), &of_line, functions.len(), |function, node| {
        functions[function].total += totals[node.index()];
    });
    functions.sort_by(|a, b| {
        let names = || Key::of(&a.place).cmp(&Key::of(&b.place));
        b.total.value.total_cmp(&a.total.value).then_with(names)
    });
    functions.retain(|function| function.total.value > 0.0);
    functions
}

/// The function of each line.
fn number<'a>(shaped: &Shaped<'a>) -> (Vec<usize>, Vec<Function<'a>>) {
    let (mut known, mut functions) = (FxHashMap::default(), Vec::new());
    let zero = Estimate::default();
    let of_line = shaped.lines().map(|frame| {
        *known.entry(Key::of(&frame.place)).or_insert_with(|| {
            functions.push(Function { place: frame.place, own: zero, total: zero });
            functions.len() - 1
        })
    });
    (of_line.collect(), functions)
}

/// Tells each place in the tree where a function is that isn't further out too.
fn outermost(
    tree: &Tree<LineId>,
    of_line: &[usize],
    functions: usize,
    mut tell: impl FnMut(usize, NodeId),
) {
    let children = Children::of(tree);
    let mut times_on_way = vec![0_u32; functions];
    // A node to enter, or a function to leave.
    let mut waiting: Vec<Result<NodeId, usize>> = children.of_node(NodeId::ROOT).map(Ok).collect();
    while let Some(next) = waiting.pop() {
        match next {
            Err(function) => times_on_way[function] -= 1,
            Ok(node) => {
                let Some((_, line)) = tree.parent(node) else { continue };
                let function = of_line[line.index()];
                if times_on_way[function] == 0 {
                    tell(function, node);
                }
                times_on_way[function] += 1;
                waiting.push(Err(function));
                waiting.extend(children.of_node(node).map(Ok));
            }
        }
    }
}

/// The children of each node, as lists that are linked.
struct Children {
    first: Vec<NodeId>,
    next: Vec<NodeId>,
}

impl Children {
    fn of(tree: &Tree<LineId>) -> Self {
        // The root is nobody's child.
        let none = vec![NodeId::ROOT; 1 + tree.len()];
        let mut children = Self { first: none.clone(), next: none };
        for (node, parent, _) in tree.nodes() {
            let first = &mut children.first[parent.index()];
            children.next[node.index()] = std::mem::replace(first, node);
        }
        children
    }

    fn of_node(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let is_one = |node: NodeId| (node != NodeId::ROOT).then_some(node);
        std::iter::successors(is_one(self.first[node.index()]), move |child| {
            is_one(self.next[child.index()])
        })
    }
}
