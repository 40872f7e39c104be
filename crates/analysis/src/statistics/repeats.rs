//! All heavy sequences of frames, as a tree.
//!
//! A sequence is given by the node where it ends and its length; it is *heavy* if the backtraces that
//! contain it, each counted once, weigh at least a threshold. Nodes at whose ends the same sequence is
//! found form its class. What is longer is in fewer backtraces, so heaviness ends at some length for
//! each node: that is all one has to find.
//!
//! 1. Classes of the lengths 1, 2, 4, 8...: a sequence of twice the length is a pair of classes (the
//!    doubling of Karp, Miller and Rosenberg 1972). Light classes are dropped at once.
//! 2. For each node the longest heavy sequence, put together of those lengths, longest first.
//! 3. These sequences, sorted from their inner end outwards, and where neighbours part, give a
//!    compressed tree: the suffix tree of the backtraces (Weiner 1973; of a tree: Kosaraju 1989),
//!    without what is light. A sequence that is not one of its nodes is in the same backtraces as a
//!    longer one that is.
//!
//! Time is O(nodes * log depth), and that of sorting the sequences; memory is 8 bytes for each node
//! and doubling, whatever backtraces would be if written out.

use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::weighted_tree::{NONE, WeightedTree};

/// The compressed tree; a node of it is called a class.
pub(super) struct Repeats {
    /// By class; the first is the empty sequence.
    pub(super) classes: Vec<Class>,
    /// By node: the class of the longest heavy sequence that ends there.
    pub(super) longest: Vec<u32>,
    /// All classes, the shortest first.
    pub(super) ascending: Vec<u32>,
    /// By class: a shorter inner end, such that any is reached in few leaps (Myers 1983, "An
    /// applicative random-access stack").
    leaps: Vec<u32>,
    /// Nodes by their longest class, which comes before those of which it is the inner end.
    nodes: Vec<u32>,
    /// By class: where it and those of which it is the inner end are in `nodes`.
    ranges: Vec<Range<usize>>,
}

/// A heavy sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    /// Number of frames.
    pub(super) length: u32,
    /// The first node where it ends.
    pub(super) example: u32,
    /// The longest class that is its inner end.
    pub(super) parent: u32,
}

/// The empty sequence.
pub(super) const EMPTY: u32 = 0;

impl Repeats {
    pub(super) fn new(tree: &WeightedTree, threshold: f64) -> Self {
        let doublings = Doublings::new(tree, threshold);
        let (sequences, by_node) = doublings.longest(tree, threshold);
        doublings.assemble(sequences, by_node)
    }

    fn of(classes: Vec<Class>, longest: Vec<u32>) -> Self {
        let mut ascending: Vec<u32> = (0..classes.len() as u32).collect();
        ascending.sort_by_key(|&class| classes[class as usize].length);
        let leaps = leaps(&classes, &ascending);
        let (nodes, ranges) = by_class(&classes, &ascending, &longest);
        Self { classes, longest, ascending, leaps, nodes, ranges }
    }

    /// All nodes where a class ends, in order.
    pub(super) fn ends(&self, class: u32) -> Vec<u32> {
        let mut nodes = self.nodes[self.ranges[class as usize].clone()].to_vec();
        nodes.sort_unstable();
        nodes
    }

    /// The longest inner end of a class that has at most so many frames.
    pub(super) fn shortened(&self, mut class: u32, length: u32) -> u32 {
        while self.length(class) > length {
            let leap = self.leaps[class as usize];
            let far = self.length(leap) > length;
            class = if far { leap } else { self.classes[class as usize].parent };
        }
        class
    }

    fn length(&self, class: u32) -> u32 {
        self.classes[class as usize].length
    }

    /// A class and those that are its inner ends, but the empty one.
    pub(super) fn inner_ends(&self, class: u32) -> impl Iterator<Item = u32> {
        let some = |class: u32| (class != EMPTY).then_some(class);
        std::iter::successors(some(class), move |&class| some(self.classes[class as usize].parent))
    }
}

fn leaps(classes: &[Class], ascending: &[u32]) -> Vec<u32> {
    let mut leaps = vec![EMPTY; classes.len()];
    let mut depths = vec![0u32; classes.len()];
    for &class in ascending.iter().filter(|&&class| class != EMPTY) {
        let parent = classes[class as usize].parent;
        let leap = leaps[parent as usize];
        let further = leaps[leap as usize];
        let depth = |class: u32| depths[class as usize];
        let alike = depth(parent) - depth(leap) == depth(leap) - depth(further);
        leaps[class as usize] = if alike { further } else { parent };
        depths[class as usize] = depth(parent) + 1;
    }
    leaps
}

/// The nodes in the order of their classes, and the range of each class with those inside which it is.
fn by_class(
    classes: &[Class],
    ascending: &[u32],
    longest: &[u32],
) -> (Vec<u32>, Vec<Range<usize>>) {
    let parent = |class: u32| classes[class as usize].parent as usize;
    let mut own = vec![0; classes.len()];
    longest.iter().for_each(|&class| own[class as usize] += 1);
    let mut all = own.clone();
    for &class in ascending.iter().rev().filter(|&&class| class != EMPTY) {
        all[parent(class)] += all[class as usize];
    }
    // Where the next of each class's inner ends goes; then, where its own next node goes.
    let mut next = vec![own[EMPTY as usize]; classes.len()];
    let mut ranges = vec![0..longest.len(); classes.len()];
    for &class in ascending.iter().filter(|&&class| class != EMPTY) {
        let (index, size) = (class as usize, all[class as usize]);
        let start = next[parent(class)];
        next[parent(class)] += size;
        ranges[index] = start..start + size;
        next[index] = start + own[index];
    }
    let mut nodes = vec![NONE; longest.len()];
    let mut free: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    for (node, &class) in (0u32..).zip(longest) {
        nodes[free[class as usize]] = node;
        free[class as usize] += 1;
    }
    (nodes, ranges)
}

/// Classes of sequences of `1 << k` frames.
struct Doubling {
    /// By node: its class, or `NONE` if the sequence that ends here is light or not so long.
    class: Vec<u32>,
    /// By node: the first node outside of the sequence.
    beyond: Vec<u32>,
}

struct Doublings(Vec<Doubling>);

/// A sequence that ends at a node.
#[derive(Clone, Debug)]
struct Sequence {
    example: u32,
    length: u32,
    /// Longer heavy sequences of which this is the inner end: the first node of each outside of this
    /// one. One for all that go on alike for the length that is next.
    longer: Vec<u32>,
}

impl Sequence {
    fn empty() -> Self {
        Self { example: NONE, length: 0, longer: Vec::new() }
    }
}

impl Doublings {
    fn new(tree: &WeightedTree, threshold: f64) -> Self {
        let single = |node: u32| Some(u64::from(tree.label[node as usize]));
        let class = heavy_classes(tree, single, |_, weight| weight >= threshold);
        let mut doublings = Vec::new();
        let mut last = Doubling { class, beyond: tree.parent.clone() };
        while last.class.iter().any(|&class| class != NONE) {
            let twice = last.twice(tree, threshold);
            doublings.push(std::mem::replace(&mut last, twice));
        }
        Self(doublings)
    }

    /// With their lengths.
    fn longest_first(&self) -> impl Iterator<Item = (&Doubling, u32)> {
        self.0.iter().enumerate().rev().map(|(k, doubling)| (doubling, 1 << k))
    }

    /// The longest heavy sequences, and for each node which.
    fn longest(&self, tree: &WeightedTree, threshold: f64) -> (Vec<Sequence>, Vec<u32>) {
        let mut longest = Longest::new(tree.len() as u32);
        for (doubling, length) in self.longest_first() {
            longest.extend(tree, threshold, doubling, length);
        }
        (longest.sequences, longest.by_node)
    }

    /// The compressed tree of all sequences that are some node's longest.
    fn assemble(&self, sequences: Vec<Sequence>, by_node: Vec<u32>) -> Repeats {
        let mut used = vec![false; sequences.len()];
        by_node.iter().for_each(|&sequence| used[sequence as usize] = true);
        let mut order: Vec<u32> =
            (1..sequences.len() as u32).filter(|&sequence| used[sequence as usize]).collect();
        let get = |sequence: u32| &sequences[sequence as usize];
        order.sort_unstable_by(|&a, &b| self.compare(get(a), get(b)));
        let mut builder = Builder::new();
        let mut class_of = vec![EMPTY; sequences.len()];
        let mut previous = get(EMPTY);
        for sequence in order {
            let common = self.common(previous, get(sequence)).0;
            class_of[sequence as usize] = builder.add(get(sequence), common);
            previous = get(sequence);
        }
        let longest = by_node.into_iter().map(|sequence| class_of[sequence as usize]).collect();
        Repeats::of(builder.finish(), longest)
    }

    fn compare(&self, a: &Sequence, b: &Sequence) -> Ordering {
        let (common, beyond_a, beyond_b) = self.common(a, b);
        if common == a.length || common == b.length {
            return a.length.cmp(&b.length);
        }
        let label = |node: u32| self.0[0].class[node as usize];
        label(beyond_a).cmp(&label(beyond_b))
    }

    /// How many of the innermost frames are equal, and the next nodes.
    fn common(&self, a: &Sequence, b: &Sequence) -> (u32, u32, u32) {
        let most = a.length.min(b.length);
        let (mut common, mut at_a, mut at_b) = (0, a.example, b.example);
        for (doubling, length) in self.longest_first() {
            if common + length <= most
                && doubling.class[at_a as usize] == doubling.class[at_b as usize]
            {
                common += length;
                (at_a, at_b) = (doubling.beyond[at_a as usize], doubling.beyond[at_b as usize]);
            }
        }
        (common, at_a, at_b)
    }
}

/// For each node the longest heavy sequence that is known to end there.
struct Longest {
    /// The first is the empty one.
    sequences: Vec<Sequence>,
    by_node: Vec<u32>,
    /// By node: the first node outside of its sequence.
    beyond: Vec<u32>,
}

impl Longest {
    fn new(nodes: u32) -> Self {
        let by_node = vec![EMPTY; nodes as usize];
        Self { sequences: vec![Sequence::empty()], by_node, beyond: (0..nodes).collect() }
    }

    /// Makes sequences longer by so much, where that is heavy. Nodes whose sequence has gone on are
    /// not counted for what is shorter: it is heavy since the longer one is.
    fn extend(&mut self, tree: &WeightedTree, threshold: f64, doubling: &Doubling, length: u32) {
        let gone_on = self.gone_on(doubling);
        let key = |node: u32| {
            let class = doubling.class_at(self.beyond[node as usize])?;
            Some(pair(self.by_node[node as usize], class))
        };
        let is_heavy = |key, weight| weight >= threshold || gone_on.contains_key(&key);
        let classes = heavy_classes(tree, key, is_heavy);
        let mut numbers = FxHashMap::default();
        for (node, class) in classes.into_iter().enumerate().filter(|(_, class)| *class != NONE) {
            let at = self.beyond[node] as usize;
            let from = self.by_node[node];
            self.by_node[node] = *numbers.entry(class).or_insert_with(|| {
                let others = gone_on.get(&pair(from, doubling.class[at]));
                self.add(from, node, others.map_or(&[], Vec::as_slice), doubling, length)
            });
            self.beyond[node] = doubling.beyond[at];
        }
    }

    /// Where sequences go on: by sequence and the class of what comes next. Keeps one of each.
    fn gone_on(&mut self, doubling: &Doubling) -> FxHashMap<u64, Vec<u32>> {
        let mut gone_on: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for (number, sequence) in (0u32..).zip(&mut self.sequences) {
            sequence.longer.retain(|&at| {
                let all = gone_on.entry(pair(number, doubling.class[at as usize])).or_default();
                all.push(at);
                all.len() == 1
            });
        }
        gone_on
    }

    /// A sequence that is longer than `from`, and that some `others` of those have as an inner end.
    fn add(
        &mut self,
        from: u32,
        node: usize,
        others: &[u32],
        doubling: &Doubling,
        length: u32,
    ) -> u32 {
        let from = &mut self.sequences[from as usize];
        if others.is_empty() {
            from.longer.push(self.beyond[node]);
        }
        let length = from.length + length;
        let longer = others.iter().map(|&at| doubling.beyond[at as usize]).collect();
        self.sequences.push(Sequence { example: node as u32, length, longer });
        self.sequences.len() as u32 - 1
    }
}

impl Doubling {
    fn class_at(&self, node: u32) -> Option<u32> {
        self.class.get(node as usize).copied().filter(|&class| class != NONE)
    }

    fn twice(&self, tree: &WeightedTree, threshold: f64) -> Self {
        let both = |node: u32| {
            let inner = self.class_at(node)?;
            Some(pair(inner, self.class_at(self.beyond[node as usize])?))
        };
        let class = heavy_classes(tree, both, |_, weight| weight >= threshold);
        let beyond = |&node: &u32| self.beyond.get(node as usize).copied().unwrap_or(NONE);
        Self { class, beyond: self.beyond.iter().map(beyond).collect() }
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Puts nodes of equal keys into a class; `NONE` for those without a key, and for light classes.
fn heavy_classes(
    tree: &WeightedTree,
    key: impl Fn(u32) -> Option<u64>,
    is_heavy: impl Fn(u64, f64) -> bool,
) -> Vec<u32> {
    let mut numbers = FxHashMap::default();
    let mut covers: Vec<(u64, Cover)> = Vec::new();
    let mut classes = vec![NONE; tree.len()];
    for node in 0..tree.len() as u32 {
        let Some(key) = key(node) else { continue };
        let class = *numbers.entry(key).or_insert(covers.len() as u32);
        if class as usize == covers.len() {
            covers.push((key, Cover::default()));
        }
        covers[class as usize].1.add(tree, node);
        classes[node as usize] = class;
    }
    for class in classes.iter_mut().filter(|class| **class != NONE) {
        let (key, cover) = covers[*class as usize];
        if !is_heavy(key, cover.weight) {
            *class = NONE;
        }
    }
    classes
}

/// The weight of a growing set of subtrees, each backtrace counted once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cover {
    pub(super) weight: f64,
    end: u32,
}

impl Cover {
    /// Adds the subtree of a node; nodes come in order. `false` if it was in the set already.
    pub(super) fn add(&mut self, tree: &WeightedTree, node: u32) -> bool {
        let is_new = node >= self.end;
        if is_new {
            self.weight += tree.weight[node as usize];
            self.end = tree.end[node as usize];
        }
        is_new
    }
}

/// Makes a compressed tree of sorted sequences.
struct Builder {
    classes: Vec<Class>,
    /// The last class and its inner ends, the shortest first.
    open: Vec<u32>,
}

impl Builder {
    fn new() -> Self {
        Self { classes: vec![Class { length: 0, example: NONE, parent: EMPTY }], open: vec![EMPTY] }
    }

    /// The next sequence, which has `common` innermost frames in common with the one before.
    fn add(&mut self, sequence: &Sequence, common: u32) -> u32 {
        self.close(sequence.example, common);
        self.push(sequence.example, sequence.length)
    }

    /// Leaves classes that are longer than `common`, and makes one of that length if there is none.
    fn close(&mut self, example: u32, common: u32) {
        let mut last = None;
        while self.top().length > common {
            last = self.open.pop();
        }
        if let Some(last) = last
            && self.top().length < common
        {
            let fork = self.push(example, common);
            self.classes[last as usize].parent = fork;
        }
    }

    fn push(&mut self, example: u32, length: u32) -> u32 {
        let class = self.classes.len() as u32;
        let parent = self.open.last().copied().unwrap_or(EMPTY);
        self.classes.push(Class { length, example, parent });
        self.open.push(class);
        class
    }

    /// The longest open class; the empty one is never closed.
    fn top(&self) -> &Class {
        &self.classes[self.open.last().copied().unwrap_or(EMPTY) as usize]
    }

    fn finish(self) -> Vec<Class> {
        self.classes
    }
}
