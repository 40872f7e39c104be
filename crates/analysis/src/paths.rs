//! Hot paths: sequences of lines, anywhere in backtraces, that explain most of something.
//!
//! Candidates are those that [`HotPaths`] finds. A backtrace may contain many of them; it is explained by
//! the most specific ones, those that are no part of a longer one in it. Of these the one is listed
//! first that explains most, then the one that explains most of what is left, and so on, while that
//! is as much as was asked for. So `main`, which is in all backtraces, explains what nothing else does.
//!
//! ```text
//!   backtrace     contains                      is explained by
//!   a b c d       a b c,  b c,  c d             a b c,  c d: whichever is listed first
//!   x b c         b c                           b c
//! ```
//!
//! A backtrace ends at its callsite: that `operator new` was called says nothing. Recursion is
//! [folded](Folded), or each depth of it would be a path of its own.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::call_tree::{NodeId, Tree};
use crate::estimate::Estimate;
use crate::folding::Folded;
use crate::shape::LineId;
use crate::sites::Sites;
use crate::statistics::heavy::{HotPath, HotPaths, Options};

/// The hot paths of some backtraces.
#[derive(Clone, Debug)]
pub struct Paths {
    folded: Folded,
    /// As they are to be read.
    pub paths: Vec<Path>,
    /// What all backtraces have.
    pub total: Estimate,
    /// By how much the estimate of a path may be too small, beside the error of sampling.
    pub error: f64,
}

/// A sequence of lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// A folded backtrace that ends with it.
    pub example: NodeId,
    /// How many lines it has.
    pub length: usize,
    /// What all backtraces have that contain it.
    pub total: Estimate,
    /// What of it is explained by no path before, nor by a longer one of these around this one.
    pub fresh: Estimate,
}

impl Paths {
    /// Of shaped backtraces that have these values. Each explains the given share of all at least.
    pub fn new(sites: &Sites<'_>, values: &[(NodeId, Estimate)], options: Options) -> Self {
        let folded = Folded::new(sites.shaped());
        let mut own = vec![Estimate::default(); 1 + folded.tree().len()];
        for &(node, value) in values {
            own[folded.of(sites.begin(node)).index()] += value;
        }
        let weights: Vec<_> = own.iter().map(|own| own.value).collect();
        let hot = HotPaths::of(folded.tree(), &weights, options);
        let kinds = Kinds::new(folded.tree(), &own, &hot.paths);
        let mut total = Estimate::default();
        own.iter().for_each(|own| total += own);
        let paths = kinds.list(&hot.paths, options.share * total.value);
        Self { paths, total, error: hot.error, folded }
    }

    /// The lines of a path, innermost first.
    pub fn lines(&self, path: &Path) -> impl Iterator<Item = LineId> {
        self.folded.tree().frames(path.example).take(path.length)
    }
}

/// Backtraces by which paths they contain.
struct Kinds {
    kinds: Vec<Kind>,
    /// Pairs of paths of which the first is a part of the second.
    inside: FxHashSet<(usize, usize)>,
}

struct Kind {
    value: Estimate,
    /// Paths in order of their numbers.
    contains: Vec<usize>,
    /// Those that are in no other of these.
    specific: Vec<usize>,
}

impl Kinds {
    /// `own` is what each backtrace has, by its number.
    fn new(tree: &Tree<LineId>, own: &[Estimate], paths: &[HotPath]) -> Self {
        let ends = ends(paths);
        let mut kinds = vec![(Vec::new(), own[NodeId::ROOT.index()])];
        let mut known = FxHashMap::from_iter([(Vec::new(), 0)]);
        let mut of = vec![0; own.len()];
        for (node, parent, _) in tree.nodes() {
            let mut kind = of[parent.index()];
            if let Some(ending) = ends.get(&node) {
                let mut contains: Vec<usize> = [&kinds[kind].0, ending.as_slice()].concat();
                contains.sort_unstable();
                contains.dedup();
                kind = *known.entry(contains).or_insert_with_key(|contains| {
                    kinds.push((contains.clone(), Estimate::default()));
                    kinds.len() - 1
                });
            }
            of[node.index()] = kind;
            kinds[kind].1 += own[node.index()];
        }
        let inside = inside(tree, paths);
        let kind = |(contains, value): (Vec<usize>, Estimate)| Kind {
            value,
            specific: specific(&contains, &inside),
            contains,
        };
        Self { kinds: kinds.into_iter().map(kind).collect(), inside }
    }

    /// The paths as they are to be read; each explains so much at least.
    fn list(mut self, paths: &[HotPath], least: f64) -> Vec<Path> {
        let totals = sums(paths.len(), self.kinds.iter().map(|kind| (&kind.contains, kind.value)));
        let mut listed: Vec<(usize, Estimate)> = Vec::new();
        while let Some((path, fresh)) = self.first(paths)
            && fresh.value >= least
            && least > 0.0
        {
            listed.push((path, fresh));
            self.kinds.retain(|kind| !kind.specific.contains(&path));
        }
        self.explain_rest(&mut listed);
        listed.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let path = |(path, fresh): (usize, Estimate)| {
            let HotPath { example, length, .. } = paths[path];
            Path { example, length, total: totals[path], fresh }
        };
        listed.into_iter().map(path).collect()
    }

    /// The path that explains most; of those that explain the same, the longest.
    fn first(&self, paths: &[HotPath]) -> Option<(usize, Estimate)> {
        let kinds = self.kinds.iter().map(|kind| (&kind.specific, kind.value));
        let fresh = sums(paths.len(), kinds);
        let rank = |&path: &usize| (paths[path].length, Reverse(path));
        let most = (0..paths.len()).max_by(|a, b| {
            fresh[*a].value.total_cmp(&fresh[*b].value).then_with(|| rank(a).cmp(&rank(b)))
        });
        most.map(|path| (path, fresh[path]))
    }

    /// What longer paths would explain that are not listed is explained by what is listed of it.
    fn explain_rest(&self, listed: &mut [(usize, Estimate)]) {
        for kind in &self.kinds {
            let is_listed = |path: &&usize| listed.iter().any(|(it, _)| it == *path);
            let known: Vec<usize> = kind.contains.iter().filter(is_listed).copied().collect();
            let known = specific(&known, &self.inside);
            if let Some((_, fresh)) = listed.iter_mut().find(|(path, _)| known.contains(path)) {
                *fresh += kind.value;
            }
        }
    }
}

/// Of these paths, those that are in no other.
fn specific(paths: &[usize], inside: &FxHashSet<(usize, usize)>) -> Vec<usize> {
    let is_specific = |path: &&usize| !paths.iter().any(|outer| inside.contains(&(**path, *outer)));
    paths.iter().filter(is_specific).copied().collect()
}

/// What each path has, of sets of backtraces of which each has all of a list of paths.
fn sums<'k>(
    paths: usize,
    kinds: impl Iterator<Item = (&'k Vec<usize>, Estimate)>,
) -> Vec<Estimate> {
    let mut sums = vec![Estimate::default(); paths];
    for (paths, value) in kinds {
        paths.iter().for_each(|&path| sums[path] += value);
    }
    sums
}

/// The paths that end at a backtrace.
fn ends(paths: &[HotPath]) -> FxHashMap<NodeId, Vec<usize>> {
    let mut ends: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for (path, hot) in paths.iter().enumerate() {
        hot.occurrences.iter().for_each(|&node| ends.entry(node).or_default().push(path));
    }
    ends
}

/// See [`Kinds`].
fn inside(tree: &Tree<LineId>, paths: &[HotPath]) -> FxHashSet<(usize, usize)> {
    let lines: Vec<Vec<LineId>> = paths.iter().map(|path| path.frames(tree).collect()).collect();
    let mut starts: FxHashMap<LineId, Vec<usize>> = FxHashMap::default();
    for (path, lines) in lines.iter().enumerate() {
        starts.entry(lines[0]).or_default().push(path);
    }
    let mut inside = FxHashSet::default();
    for (outer, lines_of_outer) in lines.iter().enumerate() {
        for (at, line) in lines_of_outer.iter().enumerate() {
            let parts = starts.get(line).into_iter().flatten();
            let parts = parts.filter(|&&path| lines_of_outer[at..].starts_with(&lines[path]));
            inside.extend(parts.filter(|&&path| path != outer).map(|&path| (path, outer)));
        }
    }
    inside
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
    use crate::shape::Shaped;

    /// Code 9 is `malloc`; others are functions `f1`, `f2`...
    struct Book(Vec<Vec<Location>>);

    impl Book {
        fn new() -> Self {
            let location = |name: String| Location {
                filename: "".into(),
                line: 1,
                start_char: 0,
                end_char: 0,
                defname: name.into(),
            };
            let name = |code| if code == 9 { "malloc".to_owned() } else { format!("f{code}") };
            Self((0..10).map(|code| vec![location(name(code))]).collect())
        }
    }

    impl Names for Book {
        fn locations(&self, code: LocationCode) -> &[Location] {
            &self.0[code.0 as usize]
        }
    }

    type Stack = Vec<u64>;

    /// Paths (outermost line first) with total and fresh values.
    fn found(stacks: &[(Stack, u32)], share: f64) -> Vec<(Stack, f64, f64)> {
        let (book, mut tree) = (Book::new(), CallTree::default());
        let mut follow = |(stack, value): &(Stack, u32)| {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            (tree.follow(0, &codes), Estimate::new(f64::from(*value), 1.0))
        };
        let values: Vec<_> = stacks.iter().map(&mut follow).collect();
        let sites = Sites::new(Shaped::new(&tree, &book, &View::default()));
        let values = sites.shaped().merge(values);
        let paths = Paths::new(&sites, &values, Options { share, ..Options::default() });
        let all: u32 = stacks.iter().map(|(_, value)| value).sum();
        assert_eq!((paths.total.value, paths.error), (f64::from(all), 0.0));
        let frames = |path: &Path| {
            let mut lines: Vec<_> = paths
                .lines(path)
                .map(|line| sites.shaped().line(line).place.function().unwrap()[1..].parse())
                .collect::<Result<_, _>>()
                .unwrap();
            lines.reverse();
            (lines, path.total.value, path.fresh.value)
        };
        paths.paths.iter().map(frames).collect()
    }

    #[test]
    fn what_longer_paths_explain_is_no_news() {
        let stacks = [(vec![1, 2, 3], 60), (vec![1, 2, 4], 28), (vec![1, 5], 6), (vec![1, 6], 6)];
        let expected =
            [(vec![1, 2, 3], 60.0, 60.0), (vec![1, 2, 4], 28.0, 28.0), (vec![1], 100.0, 12.0)];
        assert_eq!(found(&stacks, 0.1), expected);
    }

    #[test]
    fn of_two_that_explain_the_same_one_is_listed() {
        let stacks = [(vec![1, 2], 50), (vec![1, 3], 10), (vec![4, 2], 40)];
        let expected = [(vec![1, 2], 50.0, 50.0), (vec![4, 2], 40.0, 40.0)];
        assert_eq!(found(&stacks, 0.2), expected);
        let crossing = [(vec![1, 2, 3], 50), (vec![1, 2, 4], 40), (vec![5, 2, 3], 30)];
        let expected = [(vec![1, 2, 3], 50.0, 50.0), (vec![1, 2, 4], 40.0, 40.0)];
        let found = found(&crossing, 0.3);
        assert_eq!(found[..2], expected);
    }

    #[test]
    fn machinery_is_no_part_of_a_path() {
        let stacks = [(vec![1, 2, 9], 5), (vec![3, 9], 4), (vec![4, 9, 9], 1)];
        assert_eq!(found(&stacks, 0.2), [(vec![1, 2], 5.0, 5.0), (vec![3], 4.0, 4.0)]);
    }

    #[test]
    fn nothing_has_no_paths() {
        assert_eq!(found(&[], 0.1), []);
        assert_eq!(found(&[(vec![], 7)], 0.1), []);
    }

    fn contains(stack: &[u64], path: &[u64]) -> bool {
        stack.windows(path.len()).any(|window| window == path)
    }

    proptest! {
        /// Functions are called in ascending order, so nothing is folded.
        #[test]
        fn each_backtrace_is_explained_once(
            stacks in prop::collection::vec((prop::collection::btree_set(1u64..9, 1..8), 1u32..20), 1..20),
            share in 0.02f64..0.5,
        ) {
            let stacks: Vec<(Stack, u32)> =
                stacks.into_iter().map(|(stack, value)| (stack.into_iter().collect(), value)).collect();
            let all: u32 = stacks.iter().map(|(_, value)| value).sum();
            let found = found(&stacks, share);
            let mut explained = 0.0;
            for (rank, (path, total, fresh)) in found.iter().enumerate() {
                let with = || stacks.iter().filter(|(stack, _)| contains(stack, path));
                prop_assert_eq!(*total, f64::from(with().map(|(_, value)| value).sum::<u32>()));
                prop_assert!(*fresh >= share * f64::from(all) && fresh <= total);
                explained += fresh;
                prop_assert!(rank == 0 || found[rank - 1].2 >= *fresh);
                // What no listed path but this one is in, it explains.
                let alone = with().filter(|(stack, _)| {
                    !found.iter().any(|(other, ..)| other != path && contains(stack, other))
                });
                prop_assert!(f64::from(alone.map(|(_, value)| value).sum::<u32>()) <= *fresh);
            }
            prop_assert!(explained <= f64::from(all));
        }
    }
}
