//! What all objects of a kind amount to.

use lifetrace_snapshot::heap::KindId;
use lifetrace_snapshot::tree::Step;

use crate::opened::Opened;

/// The objects of a kind that roots hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    /// What would go if all of them went, as far as one of them alone holds it. What one holds within another of the
    /// kind counts once.
    pub(crate) retained_bytes: u64,
}

/// By kind; and what no root holds: how many objects, and their bytes.
pub(crate) fn sums(of: &Opened) -> (Vec<Sums>, [u64; 2]) {
    let mut sums = vec![Sums::default(); of.heap.kinds.len()];
    // How many of the kind are above the place in the tree where the walk is.
    let mut above = vec![0u32; sums.len()];
    let kind = |id| of.heap.kind(id).map(|KindId(kind)| kind as usize);
    for step in of.tree.walk() {
        match step {
            Step::Enter(id) => {
                let Some(kind) = kind(id) else { continue };
                sums[kind].objects += 1;
                sums[kind].bytes += of.heap.graph.bytes(id);
                if above[kind] == 0 {
                    sums[kind].retained_bytes += of.retained.bytes(id);
                }
                above[kind] += 1;
            }
            Step::Leave(id) => {
                if let Some(kind) = kind(id) {
                    above[kind] -= 1;
                }
            }
        }
    }
    let garbage = of.heap.graph.blocks().filter(|&id| !of.dominators.is_reachable(id));
    let garbage =
        garbage.fold([0, 0], |[objects, bytes], id| [objects + 1, bytes + of.heap.graph.bytes(id)]);
    (sums, garbage)
}
