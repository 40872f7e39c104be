//! Changes in the tree of backtraces.
//!
//! The trees of all runs are laid over each other by the names of functions: files and lines do not
//! matter, so neither does a rebuild. What came through a node is compared, and as many nodes are shown
//! as are asked for: those through which most has changed, with all that lead to them.

use rustc_hash::FxHashMap;

use crate::call_tree::{NodeId, Tree};
use crate::estimate::Estimate;
use crate::shape::Shaped;
use crate::statistics::correction::benjamini_hochberg;
use crate::statistics::rebuilt_name::rebuilt_name;
use crate::statistics::{Difference, Run};

/// The runs of one side, laid over each other.
#[derive(Clone, Debug, Default)]
pub struct TreeSide {
    runs: Vec<(FxHashMap<NodeId, Estimate>, f64)>,
}

/// A node, and what became of it; its parent is the last one before it that is one less deep.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeChange {
    /// Nodes between it and the root.
    pub depth: usize,
    /// Name of the function, as names are that outlive a rebuild.
    pub function: String,
    /// By how much what came through here changed.
    pub difference: Difference,
    /// Probability of such a change by chance, corrected for the number of nodes.
    pub p_value: f64,
}

/// Backtraces of names of both sides.
#[derive(Clone, Debug, Default)]
pub struct NameTree {
    tree: Tree<u32>,
    names: Vec<String>,
    ids: FxHashMap<String, u32>,
}

impl NameTree {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = u32::try_from(self.names.len()).expect("2^32 names do not fit in memory");
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The nodes that those of a run's tree have become.
    fn lay(&mut self, shaped: &Shaped<'_>) -> Vec<NodeId> {
        let ids: Vec<_> = shaped
            .lines()
            .map(|line| self.id(&rebuilt_name(line.place.function().unwrap_or("?"))))
            .collect();
        let mut nodes = vec![NodeId::ROOT];
        for (_, parent, line) in shaped.tree().nodes() {
            let node = self.tree.child(nodes[parent.index()], ids[line.index()]);
            nodes.push(node);
        }
        nodes
    }
}

impl TreeSide {
    /// Adds a run: what its backtraces, as they look, have of an amount. See [`Run::grain`].
    pub fn add(
        &mut self,
        common: &mut NameTree,
        shaped: &Shaped<'_>,
        values: &[(NodeId, Estimate)],
        grain: f64,
    ) {
        let nodes = common.lay(shaped);
        let mut sums: FxHashMap<NodeId, Estimate> = FxHashMap::default();
        for &(node, value) in values {
            *sums.entry(nodes[node.index()]).or_default() += value;
        }
        self.runs.push((sums, grain));
    }

    fn totals(&self, tree: &Tree<u32>) -> Vec<(Vec<Estimate>, f64)> {
        let total = |(sums, grain): &(FxHashMap<NodeId, Estimate>, f64)| {
            let mut totals = vec![Estimate::default(); 1 + tree.len()];
            sums.iter().for_each(|(node, &value)| totals[node.index()] += value);
            for (node, parent, _) in tree.nodes().rev() {
                let total = totals[node.index()];
                totals[parent.index()] += total;
            }
            (totals, *grain)
        };
        self.runs.iter().map(total).collect()
    }
}

/// The `rows` nodes through which most changed, and all that lead to them. Nothing if a side has no run.
pub fn compare_trees(
    common: &NameTree,
    before: &TreeSide,
    after: &TreeSide,
    rows: usize,
) -> Vec<TreeChange> {
    let tree = &common.tree;
    let sides = [before, after].map(|side| side.totals(tree));
    let difference = |node: NodeId| {
        let runs = |side: &[(Vec<Estimate>, f64)]| -> Vec<Run> {
            side.iter()
                .map(|(totals, grain)| Run { estimate: totals[node.index()], grain: *grain })
                .collect()
        };
        Difference::of(&runs(&sides[0]), &runs(&sides[1]))
    };
    let changes: Vec<_> = tree
        .nodes()
        .filter_map(|(node, ..)| difference(node).map(|difference| (node, difference)))
        .filter(|(_, difference)| difference.change() != 0.0)
        .collect();
    let raw: Vec<_> = changes.iter().map(|(_, difference)| difference.p_value()).collect();
    let all: FxHashMap<_, _> = changes
        .into_iter()
        .zip(benjamini_hochberg(&raw))
        .map(|((node, difference), p_value)| (node, (difference, p_value)))
        .collect();
    in_order(common, &greatest(tree, &all, rows))
}

/// Those that changed most, and all that lead to them.
fn greatest(tree: &Tree<u32>, all: &Changes, rows: usize) -> Changes {
    let size = |node: &NodeId| all[node].0.change().abs();
    let mut nodes: Vec<_> = all.keys().copied().collect();
    nodes.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    let with_parents = nodes.iter().take(rows).flat_map(|&node| tree.path(node));
    with_parents.filter_map(|(node, _)| all.get(&node).map(|change| (node, *change))).collect()
}

/// A node's difference, and the probability of it by chance.
type Changes = FxHashMap<NodeId, (Difference, f64)>;

fn in_order(common: &NameTree, shown: &Changes) -> Vec<TreeChange> {
    let mut children: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    for &node in shown.keys() {
        if let Some((parent, _)) = common.tree.parent(node) {
            children.entry(parent).or_default().push(node);
        }
    }
    for siblings in children.values_mut() {
        let size = |node: &NodeId| shown[node].0.change().abs();
        siblings.sort_by(|a, b| size(a).total_cmp(&size(b)).then(b.cmp(a)));
    }
    let mut changes = Vec::with_capacity(shown.len());
    let mut waiting: Vec<_> =
        children.get(&NodeId::ROOT).into_iter().flatten().map(|&node| (node, 0)).collect();
    while let Some((node, depth)) = waiting.pop() {
        let name = common.tree.parent(node).map_or(0, |(_, name)| name);
        let function = common.names[name as usize].clone();
        let (difference, p_value) = shown[&node];
        changes.push(TreeChange { depth, function, difference, p_value });
        let below = children.get(&node).into_iter().flatten();
        waiting.extend(below.map(|&child| (child, depth + 1)));
    }
    changes
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::Location;
    use lifetrace_trace::ids::LocationCode;

    use super::*;
    use crate::call_tree::CallTree;
    use crate::filter::View;
    use crate::names::Names;

    /// Code N is the function of the Nth name.
    struct Book(Vec<Vec<Location>>);

    impl Names for Book {
        fn locations(&self, code: LocationCode) -> &[Location] {
            &self.0[code.0 as usize]
        }
    }

    fn book(names: &[&str]) -> Book {
        let location = |name: &&str| Location {
            filename: "".into(),
            line: 1,
            start_char: 0,
            end_char: 0,
            defname: (*name).into(),
        };
        Book(names.iter().map(|name| vec![location(name)]).collect())
    }

    fn side(common: &mut NameTree, book: &Book, stacks: &[(&[u64], f64)]) -> TreeSide {
        let mut tree = CallTree::default();
        let values: Vec<_> = stacks
            .iter()
            .map(|(stack, value)| {
                let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
                (
                    tree.follow(0, &codes),
                    Estimate { value: *value, variance: *value, uncertain: *value },
                )
            })
            .collect();
        let shaped = Shaped::new(&tree, book, &View::default());
        let mut side = TreeSide::default();
        side.add(common, &shaped, &shaped.merge(values), 1.0);
        side
    }

    #[test]
    fn what_leads_to_a_change_is_shown_with_it() {
        let mut common = NameTree::default();
        let (old, new) = (book(&["main", "f.cold", "g", "h"]), book(&["h", "g", "f", "main"]));
        let before = side(&mut common, &old, &[(&[0, 1, 2], 100.0), (&[0, 3], 50.0)]);
        let after = side(&mut common, &new, &[(&[3, 2, 1], 900.0), (&[3, 0], 50.0)]);
        let changes = compare_trees(&common, &before, &after, 1);
        let rows: Vec<_> = changes
            .iter()
            .map(|it| (it.depth, it.function.as_str(), it.difference.change()))
            .collect();
        assert_eq!(rows, [(0, "main", 800.0)]);
        let changes = compare_trees(&common, &before, &after, 10);
        let names: Vec<_> = changes.iter().map(|it| (it.depth, it.function.as_str())).collect();
        assert_eq!(names, [(0, "main"), (1, "f"), (2, "g")], "h has not changed");
        assert!(changes.iter().all(|change| change.p_value < 1e-6));
        assert!(compare_trees(&common, &before, &TreeSide::default(), 10).is_empty());
    }
}
