//! Trees of callers and callees, with what is too small to matter left out.
//!
//! A tree is grown from what is large to what is small, until there are enough rows. Downwards, from
//! the outermost functions to the callsites, it is the tree of backtraces itself; upwards, from the
//! callsites (or from other places in backtraces) to their callers, backtraces are grouped by their next line, as far as anybody sees: so it
//! costs O(backtraces x rows), however deep they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::estimate::Estimate;
use crate::shape::{LineId, Shaped};

/// What is shown of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// A row has at least this part, between 0 and 1, of the whole.
    pub min_share: f64,
    /// There are at most so many rows.
    pub rows: usize,
}

/// A row of a tree; its parent is the last row before it that is one less deep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Rows between it and the root.
    pub depth: usize,
    /// What it says; nothing for backtraces without lines.
    pub line: Option<LineId>,
    /// All that came through here.
    pub total: Estimate,
    /// What of it goes no further.
    pub own: Estimate,
    /// How many rows below this one are too small to be shown.
    pub left_out: usize,
}

/// The tree from the outermost functions down, parents before their children, the greatest first.
pub fn down(
    shaped: &Shaped<'_>,
    values: impl IntoIterator<Item = (NodeId, Estimate)>,
    limits: &Limits,
) -> Vec<Row> {
    let tree = shaped.tree();
    let mut totals = vec![Estimate::default(); 1 + tree.len()];
    values.into_iter().for_each(|(node, value)| totals[node.index()] += value);
    let own = totals.clone();
    for (node, parent, _) in tree.nodes().rev() {
        let total = totals[node.index()];
        totals[parent.index()] += total;
    }
    let least = limits.min_share * totals[NodeId::ROOT.index()].value;
    let mut children: FxHashMap<NodeId, Vec<(NodeId, LineId)>> = FxHashMap::default();
    let mut small: FxHashMap<NodeId, usize> = FxHashMap::default();
    for (node, parent, line) in tree.nodes() {
        match totals[node.index()].value {
            0.0 => {}
            total if total >= least => children.entry(parent).or_default().push((node, line)),
            _ => *small.entry(parent).or_default() += 1,
        }
    }
    let expand = |node: &NodeId| {
        let children = children.remove(node).unwrap_or_default();
        Grown {
            children: children.into_iter().map(|(node, line)| (Some(line), node)).collect(),
            own: own[node.index()],
            small: small.get(node).copied().unwrap_or(0),
        }
    };
    grow(NodeId::ROOT, expand, |node| totals[node.index()], limits.rows)
}

/// The tree from where each value begins, a callsite for one, up to its callers, likewise.
pub fn up(
    shaped: &Shaped<'_>,
    values: impl IntoIterator<Item = (NodeId, Estimate)>,
    limits: &Limits,
) -> Vec<Row> {
    let tree = shaped.tree();
    let all: Vec<_> = values.into_iter().filter(|it| it.1.value > 0.0).collect();
    let least = limits.min_share * sum(&all).value;
    let expand = |paths: &Vec<(NodeId, Estimate)>| {
        let mut groups: FxHashMap<LineId, Vec<(NodeId, Estimate)>> = FxHashMap::default();
        let mut own = Estimate::default();
        for &(node, value) in paths {
            match tree.parent(node) {
                Some((parent, line)) => groups.entry(line).or_default().push((parent, value)),
                None => own += value,
            }
        }
        let before = groups.len();
        let mut children: Vec<_> =
            groups.into_iter().filter(|(_, paths)| sum(paths).value >= least).collect();
        children.sort_unstable_by_key(|&(line, _)| line);
        let small = before - children.len();
        let children = children.into_iter().map(|(line, paths)| (Some(line), paths)).collect();
        Grown { children, own, small }
    };
    grow(all, expand, |paths| sum(paths), limits.rows)
}

fn sum(paths: &[(NodeId, Estimate)]) -> Estimate {
    let mut sum = Estimate::default();
    paths.iter().for_each(|&(_, value)| sum += value);
    sum
}

/// What is below a row.
struct Grown<T> {
    children: Vec<(Option<LineId>, T)>,
    own: Estimate,
    small: usize,
}

/// A row, and where it is in the tree.
struct Placed {
    row: Row,
    children: Vec<usize>,
}

fn grow<T>(
    root: T,
    mut expand: impl FnMut(&T) -> Grown<T>,
    total: impl Fn(&T) -> Estimate,
    limit: usize,
) -> Vec<Row> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut waiting = BinaryHeap::new();
    // Of items by their number: the row of the parent, the line, the item.
    let mut items = vec![Some((None::<usize>, None, root))];
    waiting.push((Largest(f64::INFINITY), Reverse(0)));
    while let Some((_, Reverse(at))) = waiting.pop() {
        let Some((parent, line, item)) = items[at].take() else { continue };
        // The root is no row.
        if placed.len() > limit {
            if let Some(parent) = parent {
                placed[parent].row.left_out += 1;
            }
            continue;
        }
        let grown = expand(&item);
        let depth = parent.map_or(0, |parent| placed[parent].row.depth + 1);
        let row = Row { depth, line, total: total(&item), own: grown.own, left_out: grown.small };
        let number = placed.len();
        placed.push(Placed { row, children: Vec::new() });
        if let Some(parent) = parent {
            placed[parent].children.push(number);
        }
        for (line, child) in grown.children {
            waiting.push((Largest(total(&child).value), Reverse(items.len())));
            items.push(Some((Some(number), line, child)));
        }
    }
    in_order(&placed)
}

/// All rows but the root, parents before children. These were placed the greatest first.
fn in_order(placed: &[Placed]) -> Vec<Row> {
    let (mut rows, mut waiting) = (Vec::with_capacity(placed.len()), vec![0]);
    while let Some(at) = waiting.pop() {
        let Placed { row, children } = &placed[at];
        rows.push(Row { depth: row.depth.saturating_sub(1), ..*row });
        waiting.extend(children.iter().rev());
    }
    rows.remove(0);
    rows
}

/// A number that can be compared.
#[derive(PartialEq)]
struct Largest(f64);

impl Eq for Largest {}

impl PartialOrd for Largest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Largest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
