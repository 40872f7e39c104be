//! Hot paths: the sequences of frames that explain most.
//!
//! A path is a sequence of neighbouring frames, anywhere in a backtrace. Its weight is that of all
//! backtraces that contain it, each counted once however often the path recurs in it. `main` is in
//! all of them and explains nothing; so paths are looked at from the longest to the shortest, and
//! one is reported if the backtraces that contain it, *without those that contain a reported longer
//! path around it*, weigh at least a given share. (Hierarchical heavy hitters: Cormode, Korn,
//! Muthukrishnan and Srivastava 2003; of substrings, as Memtrace's viewer has them.) What is
//! reported is thus as specific as it can be, and together explains all but what is thinly spread.
//!
//! The weights are exact for up to [`Options::most_nodes`] distinct backtraces (with their
//! beginnings). Of a larger tree the lightest ends are cut off first: then each weight is too small
//! by at most [`HotPaths::error`].
//!
//! A backtrace is never written out; see [`repeats`](super::repeats) for time and memory. At a share
//! of 1 %, 50,000 backtraces of 700 frames, of which each has 14 that the one before has not (674,000
//! nodes), take 0.9 G instructions; 46,000 of a compiler, up to 6,092 frames deep (628,000 nodes),
//! 2.3 G. Recursion should be folded before: a recursion of a hundred depths is a hundred paths, of
//! which each explains a little. Of the compiler's backtraces that leaves 17,000 nodes, and paths
//! worth reading.

use std::hash::Hash;

use super::repeats::{Class, Cover, EMPTY, Repeats};
use super::weighted_tree::WeightedTree;
use crate::call_tree::{NodeId, Tree};

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The least share of all weight that a path must explain by itself, over 0 and at most 1.
    pub share: f64,
    /// How many nodes of the tree are looked at; each takes some 130 bytes while backtraces have
    /// less than a thousand frames.
    pub most_nodes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { share: 0.01, most_nodes: 2_000_000 }
    }
}

/// The hot paths of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct HotPaths {
    /// Those that explain most by themselves first.
    pub paths: Vec<HotPath>,
    /// Weight of all backtraces.
    pub total: f64,
    /// By how much a weight may be too small.
    pub error: f64,
}

/// A sequence of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct HotPath {
    /// A backtrace that ends with it: its frames are this one's innermost.
    pub example: NodeId,
    /// How many frames it has.
    pub length: usize,
    /// Weight of all backtraces that contain it.
    pub weight: f64,
    /// Of these, what contains no reported longer path around this one.
    pub own: f64,
    /// Where it occurs: the backtraces that contain it are these and those that begin with one of
    /// these. No one of them begins with another.
    pub occurrences: Vec<NodeId>,
}

impl HotPath {
    /// Its frames, innermost first; `tree` is the one in which it was found.
    pub fn frames<F: Copy + Eq + Hash>(&self, tree: &Tree<F>) -> impl Iterator<Item = F> {
        tree.frames(self.example).take(self.length)
    }
}

impl HotPaths {
    /// Of the backtraces in `tree`; `weights` has one for each node's index, without those below.
    pub fn of<F: Copy + Eq + Hash>(tree: &Tree<F>, weights: &[f64], options: Options) -> Self {
        let tree = WeightedTree::new(tree, weights, options.most_nodes);
        let threshold = (options.share * tree.total).max(f64::MIN_POSITIVE);
        let repeats = Repeats::new(&tree, threshold);
        let mut search = Search::new(&tree, &repeats);
        search.report_all(threshold);
        let mut paths: Vec<_> = search.reported.iter().map(|found| search.path(found)).collect();
        paths.sort_by(|a, b| b.own.total_cmp(&a.own).then(b.length.cmp(&a.length)));
        Self { paths, total: tree.total, error: tree.shortened }
    }
}

/// By class: the weight of all backtraces that contain it.
fn weights(tree: &WeightedTree, repeats: &Repeats) -> Vec<f64> {
    let mut covers = vec![Cover::default(); repeats.classes.len()];
    for (node, &longest) in (0u32..).zip(&repeats.longest) {
        // Where one is covered already, so are its inner ends: by the same node at least.
        for class in repeats.inner_ends(longest) {
            if !covers[class as usize].add(tree, node) {
                break;
            }
        }
    }
    covers.iter().map(|cover| cover.weight).collect()
}

/// A class that is reported.
struct Found {
    class: u32,
    own: f64,
}

struct Search<'a> {
    tree: &'a WeightedTree,
    repeats: &'a Repeats,
    /// By class.
    weights: Vec<f64>,
    /// By class: at least so much weight is explained by paths around it.
    explained: Vec<f64>,
    /// By class: the reported classes around it, of which none is around another.
    around: Vec<Vec<u32>>,
    /// By class, of those that are reported: the outermost nodes where it ends, in order.
    occurrences: Vec<Vec<u32>>,
    reported: Vec<Found>,
}

impl<'a> Search<'a> {
    fn new(tree: &'a WeightedTree, repeats: &'a Repeats) -> Self {
        let count = repeats.classes.len();
        Self {
            tree,
            repeats,
            weights: weights(tree, repeats),
            explained: vec![0.0; count],
            around: vec![Vec::new(); count],
            occurrences: vec![Vec::new(); count],
            reported: Vec::new(),
        }
    }

    /// Classes inside which a class is are longer, and come first.
    fn report_all(&mut self, threshold: f64) {
        for &class in self.repeats.ascending.iter().rev().filter(|&&class| class != EMPTY) {
            let weight = self.weights[class as usize];
            if weight - self.explained[class as usize] >= threshold {
                self.explained[class as usize] = self.weight_together(&self.around[class as usize]);
            }
            let own = weight - self.explained[class as usize];
            if own >= threshold {
                self.report(class, own);
                self.explained[class as usize] = weight;
            }
            // What explains a path explains its inner end.
            let parent = self.class(class).parent as usize;
            self.explained[parent] = self.explained[parent].max(self.explained[class as usize]);
        }
    }

    /// Weight of the backtraces that contain any of these, which are reported.
    fn weight_together(&self, classes: &[u32]) -> f64 {
        if let [class] = classes {
            return self.weights[*class as usize];
        }
        let occurrences = classes.iter().flat_map(|&class| &self.occurrences[class as usize]);
        let mut nodes: Vec<u32> = occurrences.copied().collect();
        nodes.sort_unstable();
        let mut together = Cover::default();
        nodes.into_iter().for_each(|node| {
            together.add(self.tree, node);
        });
        together.weight
    }

    /// Notes the class at all classes that are in it.
    fn report(&mut self, class: u32, own: f64) {
        let Class { length, example, .. } = *self.class(class);
        let (tree, repeats) = (self.tree, self.repeats);
        for (rest, node) in (1..=length).rev().zip(tree.outwards(example)) {
            let inside = repeats.shortened(repeats.longest[node as usize], rest);
            for inside in repeats.inner_ends(inside).filter(|&inside| inside != class) {
                // Where it is noted already, it is so at the inner ends.
                if !self.put_around(class, inside) {
                    break;
                }
            }
        }
        let mut cover = Cover::default();
        let mut occurrences = repeats.ends(class);
        occurrences.retain(|&node| cover.add(tree, node));
        self.occurrences[class as usize] = occurrences;
        self.reported.push(Found { class, own });
    }

    /// `false` if it was there.
    fn put_around(&mut self, outer: u32, inside: u32) -> bool {
        let mut around = std::mem::take(&mut self.around[inside as usize]);
        let is_new = around.last() != Some(&outer);
        if is_new {
            let beyond = &self.around[outer as usize];
            around.retain(|other| !beyond.contains(other));
            around.push(outer);
        }
        self.around[inside as usize] = around;
        is_new
    }

    fn path(&self, found: &Found) -> HotPath {
        let class = self.class(found.class);
        let origin = |&node: &u32| self.tree.origin[node as usize];
        HotPath {
            example: origin(&class.example),
            length: class.length as usize,
            weight: self.weights[found.class as usize],
            own: found.own,
            occurrences: self.occurrences[found.class as usize].iter().map(origin).collect(),
        }
    }

    fn class(&self, class: u32) -> &Class {
        &self.repeats.classes[class as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::statistics::simulation::Random;

    type Stack = Vec<u8>;

    /// A tree of stacks (outermost frame first), and the weights of its nodes.
    fn tree(stacks: &[(Stack, u32)]) -> (Tree<u8>, Vec<f64>) {
        let mut tree = Tree::default();
        let nodes: Vec<_> = stacks.iter().map(|(stack, _)| tree.follow(0, stack)).collect();
        let mut weights = vec![0.0; tree.len() + 1];
        for (node, (_, weight)) in nodes.into_iter().zip(stacks) {
            weights[node.index()] += f64::from(*weight);
        }
        (tree, weights)
    }

    /// Path (outermost frame first), weight, own weight.
    fn found(stacks: &[(Stack, u32)], share: f64) -> BTreeMap<Stack, (f64, f64)> {
        let (tree, weights) = tree(stacks);
        let hot = HotPaths::of(&tree, &weights, Options { share, ..Options::default() });
        assert_eq!(hot.error, 0.0);
        let path = |path: &HotPath| {
            let mut frames: Stack = path.frames(&tree).collect();
            frames.reverse();
            (frames, (path.weight, path.own))
        };
        hot.paths.iter().map(path).collect()
    }

    fn contains(stack: &[u8], path: &[u8]) -> bool {
        stack.windows(path.len()).any(|window| window == path)
    }

    /// By the definition, from stacks that are written out.
    fn naive(stacks: &[(Stack, u32)], share: f64) -> BTreeMap<Stack, (f64, f64)> {
        let total: f64 = stacks.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut candidates: Vec<Stack> = Vec::new();
        for (stack, _) in stacks {
            for length in 1..=stack.len() {
                candidates.extend(stack.windows(length).map(<[u8]>::to_vec));
            }
        }
        candidates.sort_by_key(|path| (Reverse(path.len()), path.clone()));
        candidates.dedup();
        let mut reported: BTreeMap<Stack, (f64, f64)> = BTreeMap::new();
        for path in candidates {
            let around: Vec<&Stack> = reported.keys().filter(|r| contains(r, &path)).collect();
            let with = || stacks.iter().filter(|(stack, _)| contains(stack, &path));
            let weight: f64 = with().map(|(_, weight)| f64::from(*weight)).sum();
            let alone = with().filter(|(stack, _)| !around.iter().any(|r| contains(stack, r)));
            let own: f64 = alone.map(|(_, weight)| f64::from(*weight)).sum();
            if own > 0.0 && own >= share * total {
                reported.insert(path, (weight, own));
            }
        }
        reported
    }

    fn check(stacks: &[(&[u8], u32)], share: f64, expected: &[(&[u8], f64, f64)]) {
        let stacks: Vec<_> = stacks.iter().map(|(stack, w)| (stack.to_vec(), *w)).collect();
        let expected = expected.iter().map(|(path, w, own)| (path.to_vec(), (*w, *own))).collect();
        assert_eq!(found(&stacks, share), expected);
    }

    #[test]
    fn a_path_that_comes_from_many_places_is_found() {
        let stacks: Vec<_> = (10..90).map(|caller| (vec![1, caller, 7, 8], 1)).collect();
        let expected = [(vec![7, 8], (80.0, 80.0)), (vec![1], (80.0, 80.0))];
        assert_eq!(found(&stacks, 0.1), expected.into_iter().collect());
    }

    #[test]
    fn what_longer_paths_explain_is_not_said_again() {
        check(
            &[(&[1, 2, 3], 60), (&[1, 2, 4], 35), (&[1, 5], 5)],
            0.1,
            &[(&[1, 2, 3], 60.0, 60.0), (&[1, 2, 4], 35.0, 35.0)],
        );
        check(
            &[(&[1, 2, 3], 60), (&[1, 2, 4], 28), (&[1, 5], 6), (&[1, 6], 6)],
            0.1,
            &[(&[1, 2, 3], 60.0, 60.0), (&[1, 2, 4], 28.0, 28.0), (&[1], 100.0, 12.0)],
        );
    }

    #[test]
    fn a_recursion_counts_a_backtrace_once() {
        check(
            &[(&[1, 2, 2, 2, 2], 4), (&[1, 3, 2, 2], 3), (&[1, 4], 3)],
            0.5,
            &[(&[2, 2], 7.0, 7.0), (&[1], 10.0, 10.0)],
        );
    }

    #[test]
    fn nothing_is_no_path() {
        check(&[], 0.1, &[]);
        check(&[(&[], 5)], 0.1, &[]);
        check(&[(&[1], 0)], 0.1, &[]);
        check(&[(&[], 99), (&[1], 1)], 0.1, &[]);
    }

    #[test]
    fn a_cut_tree_is_wrong_by_no_more_than_it_says() {
        let mut random = Random::new(3);
        let stacks: Vec<(Stack, u32)> = (0..300)
            .map(|_| ((0..6).map(|_| random.below(4) as u8).collect(), random.below(50) as u32))
            .collect();
        let (tree, weights) = tree(&stacks);
        let hot = HotPaths::of(&tree, &weights, Options { share: 0.05, most_nodes: 200 });
        assert!(hot.error > 0.0 && hot.error < hot.total && !hot.paths.is_empty());
        for path in &hot.paths {
            let mut frames: Stack = path.frames(&tree).collect();
            frames.reverse();
            let with = stacks.iter().filter(|(stack, _)| contains(stack, &frames));
            let exact: f64 = with.map(|(_, weight)| f64::from(*weight)).sum();
            assert!(path.weight <= exact && exact <= path.weight + hot.error, "{path:?} {exact}");
        }
    }

    #[test]
    fn occurrences_have_the_weight() {
        let stacks = [(vec![1, 2, 2], 5), (vec![2, 1], 4), (vec![3, 3, 2, 2], 3)];
        let (tree, weights) = tree(&stacks);
        let hot = HotPaths::of(&tree, &weights, Options { share: 0.3, ..Options::default() });
        let path = hot.paths.iter().find(|path| path.length == 2).unwrap();
        let tree = &tree;
        let below = |node: NodeId| {
            tree.nodes().filter(move |(other, ..)| tree.path(*other).any(|(id, _)| id == node))
        };
        let nodes = path.occurrences.iter().flat_map(|&node| below(node));
        assert_eq!(nodes.map(|(node, ..)| weights[node.index()]).sum::<f64>(), path.weight);
    }

    #[test]
    fn deep_stacks_are_those_of_the_definition() {
        for seed in 0..10 {
            let mut random = Random::new(seed);
            let functions = 2 + seed % 3;
            let mut stack: Stack = Vec::new();
            let mut stacks = Vec::new();
            for _ in 0..12 {
                stack.truncate(stack.len().saturating_sub(random.below(20) as usize));
                while stack.len() < 60 {
                    stack.push(random.below(functions) as u8);
                }
                stacks.push((stack.clone(), 1 + random.below(9) as u32));
            }
            assert_eq!(found(&stacks, 0.2), naive(&stacks, 0.2), "{seed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn paths_are_those_of_the_definition(
            stacks in prop::collection::vec((prop::collection::vec(0u8..4, 0..9), 0u32..20), 1..25),
            share in 0.02f64..0.6,
        ) {
            prop_assert_eq!(found(&stacks, share), naive(&stacks, share));
        }

        #[test]
        fn deep_recursions_are_those_of_the_definition(
            stacks in prop::collection::vec((prop::collection::vec(0u8..2, 0..20), 1u32..5), 1..8),
            share in 0.02f64..0.9,
        ) {
            prop_assert_eq!(found(&stacks, share), naive(&stacks, share));
        }
    }
}
