//! How long a text will be that writes out every stack: deep ones make gigabytes of a small trace.

use lifetrace_analysis::call_tree::Tree;
use lifetrace_human as human;

/// Longer texts are told before they are written, in bytes.
const LONG: u64 = 1 << 30;

/// Takes a sentence that a user should read.
pub type Warn = fn(&str);

/// Says so, if a text will be long.
pub fn announce(bytes: u64, warn: Warn) {
    if bytes > LONG {
        let bytes = human::bytes(bytes as f64);
        warn(&format!(
            "note: this will be about {bytes} of text, since each stack is written out\n  \
             --filter and --collapse-recursion make it shorter; the format pprof has each frame once"
        ));
    }
}

/// The bytes of each stack of a tree, by the index of its node, where those of a line are given.
pub fn of_stacks<F: Copy + Eq + std::hash::Hash>(
    tree: &Tree<F>,
    line: impl Fn(F) -> u64,
) -> Vec<u64> {
    let mut lengths = vec![0_u64; 1 + tree.len()];
    for (node, parent, frame) in tree.nodes() {
        lengths[node.index()] = lengths[parent.index()].saturating_add(line(frame));
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_as_long_as_its_lines() {
        let mut tree = Tree::default();
        let names = ["main", "f", "long_name"];
        let inner = tree.follow(0, &[0, 1, 2]);
        let other = tree.follow(1, &[0, 2]);
        let lengths = of_stacks(&tree, |name: usize| names[name].len() as u64 + 1);
        assert_eq!(lengths[inner.index()], "main;f;long_name ".len() as u64);
        assert_eq!(lengths[other.index()], "main;long_name ".len() as u64);
        assert_eq!(lengths[0], 0);
    }
}
