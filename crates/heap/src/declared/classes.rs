//! Blocks that look alike, as deep as is looked: what is found out of one of them holds for all.

use lifetrace_snapshot::graph::BlockId;
use rustc_hash::FxHashMap;

use super::blocks::{Blocks, Content};

/// In the place of the class of what is referred to.
const VALUE: u32 = u32::MAX;
const OUTSIDE: u32 = u32::MAX - 1;
const UNKNOWN: u32 = u32::MAX - 2;

/// The class of each block.
#[derive(Debug)]
pub(super) struct Classes {
    /// By block, roots included: those have classes that no block has.
    pub(super) of: Vec<u32>,
    /// By class, one of its blocks.
    pub(super) first: Vec<BlockId>,
}

impl Classes {
    /// Those whose blocks are alike, and what they refer to is, and so on, so often.
    pub(super) fn of(blocks: &Blocks<'_>, depth: u32) -> Classes {
        let graph = &blocks.heap.graph;
        let roots = std::iter::once(BlockId::ALL_ROOTS).chain(graph.roots());
        let all: Vec<BlockId> = roots.chain(graph.blocks()).collect();
        let mut classes =
            Classes { of: all.iter().map(|&id| graph.shape(id).0).collect(), first: Vec::new() };
        for _ in 0..depth {
            classes = classes.finer(blocks, &all);
        }
        classes
    }

    fn finer(&self, blocks: &Blocks<'_>, all: &[BlockId]) -> Classes {
        let mut numbers: FxHashMap<Box<[u32]>, u32> = FxHashMap::default();
        let mut finer = Classes { of: Vec::with_capacity(all.len()), first: Vec::new() };
        let mut key = Vec::new();
        for &id in all {
            key.clear();
            key.push(self.of[id.index()]);
            key.extend(blocks.contents(id).iter().map(|content| match content {
                Content::Block(to) => self.of[to.index()],
                Content::Value => VALUE,
                Content::Outside => OUTSIDE,
                Content::Unknown => UNKNOWN,
            }));
            let number = numbers.get(&key[..]).copied().unwrap_or_else(|| {
                let number = finer.first.len() as u32;
                numbers.insert(key.clone().into(), number);
                finer.first.push(id);
                number
            });
            finer.of.push(number);
        }
        finer
    }
}
