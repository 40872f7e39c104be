//! A heap at one moment: its graph, and what blocks are called.

use std::sync::Arc;

use crate::graph::{BlockId, Graph};

/// The number of a kind of blocks: a class, or what else a runtime tells blocks apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u32);

/// A heap at one moment.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Who refers to whom.
    pub graph: Graph,
    /// What roots are called, in their order.
    pub roots: Vec<Arc<str>>,
    /// What kinds are called.
    pub kinds: Vec<Arc<str>>,
    /// By block, from the first one on.
    pub(crate) kind_of: Vec<KindId>,
    /// By block, where it was in memory.
    pub(crate) addresses: Vec<u64>,
    /// By block, where it is told of in the file, in bytes from its beginning.
    pub(crate) places: Vec<u64>,
    /// Blocks, in the order of their addresses.
    pub(crate) by_address: Vec<u32>,
}

impl Heap {
    /// The kind of a block; none of a root.
    pub fn kind(&self, id: BlockId) -> Option<KindId> {
        self.kind_of.get(self.place_of(id)?).copied()
    }

    /// What a kind is called.
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn kind_name(&self, kind: KindId) -> &str {
        &self.kinds[kind.0 as usize]
    }

    /// What a root, or a block's kind, is called.
    pub fn name(&self, id: BlockId) -> &str {
        if let Some(kind) = self.kind(id) {
            return self.kind_name(kind);
        }
        let root = id.index().checked_sub(1).and_then(|at| self.roots.get(at));
        root.map_or("all roots", |name| name)
    }

    /// Where a block was in memory; none of a root.
    pub fn address(&self, id: BlockId) -> Option<u64> {
        self.addresses.get(self.place_of(id)?).copied()
    }

    /// Where a block is told of in the file it was read from, in bytes from its beginning.
    pub fn place_in_file(&self, id: BlockId) -> Option<u64> {
        self.places.get(self.place_of(id)?).copied()
    }

    /// The block at that address.
    pub fn at(&self, address: u64) -> Option<BlockId> {
        let address_of = |&id: &u32| self.address(BlockId(id)).unwrap_or_default();
        let found = self.by_address.binary_search_by_key(&address, address_of).ok()?;
        Some(BlockId(self.by_address[found]))
    }

    /// Among the blocks without roots.
    fn place_of(&self, id: BlockId) -> Option<usize> {
        id.index().checked_sub(1 + self.roots.len())
    }
}
