//! Blocks and references, by number.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// The number of a block: 0 is what stands for all roots together, then come the roots, then the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// What stands for all roots together, and refers to each of them.
    pub const ALL_ROOTS: BlockId = BlockId(0);

    /// As a place in an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a shape: what blocks that take the same have in common. 0 is that of roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub u32);

impl ShapeId {
    /// Of what takes nothing, and is no block.
    pub const ROOT: ShapeId = ShapeId(0);
}

/// Blocks and what they refer to, as compressed rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// By block; there are few shapes, and many blocks.
    shapes: Vec<ShapeId>,
    /// By shape, in bytes.
    sizes: Vec<u64>,
    /// Where the references of each block begin; one more than there are blocks.
    rows: Vec<u32>,
    references: Vec<u32>,
    roots: u32,
}

/// A graph in the making: blocks come with their references in the order of their numbers.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    /// Of those that were not given.
    shapes: FxHashMap<u64, ShapeId>,
}

/// There are more blocks, or more references, than have numbers: 2^32 - 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are more than 4,294,967,294 blocks or references")]
pub struct TooLarge;

impl Builder {
    /// With so many roots, each of which comes first as a block without bytes.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(roots: usize) -> Result<Builder, TooLarge> {
        let roots = u32::try_from(roots).ok().filter(|&it| it < u32::MAX - 1).ok_or(TooLarge)?;
        let graph = Graph { sizes: vec![0], rows: vec![0], roots, ..Graph::default() };
        let mut builder = Builder { graph, shapes: FxHashMap::default() };
        builder.add_shaped(ShapeId::ROOT, (1..=roots).map(BlockId))?;
        Ok(builder)
    }

    /// A new shape, of blocks that take so many bytes.
    pub fn shape(&mut self, bytes: u64) -> ShapeId {
        self.graph.sizes.push(bytes);
        ShapeId(self.graph.sizes.len() as u32 - 1)
    }

    /// Adds the next root or block, of whatever shape. What it refers to may come later.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn add(
        &mut self,
        bytes: u64,
        references: impl IntoIterator<Item = BlockId>,
    ) -> Result<BlockId, TooLarge> {
        let known = self.shapes.get(&bytes).copied();
        let shape = known.unwrap_or_else(|| self.shape(bytes));
        self.shapes.insert(bytes, shape);
        self.add_shaped(shape, references)
    }

    /// Adds the next root or block. What it refers to may come later.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn add_shaped(
        &mut self,
        shape: ShapeId,
        references: impl IntoIterator<Item = BlockId>,
    ) -> Result<BlockId, TooLarge> {
        let graph = &mut self.graph;
        let number = u32::try_from(graph.shapes.len()).ok().filter(|&it| it < u32::MAX - 1);
        graph.shapes.push(shape);
        graph.references.extend(references.into_iter().map(|id| id.0));
        graph.rows.push(u32::try_from(graph.references.len()).map_err(|_| TooLarge)?);
        number.map(BlockId).ok_or(TooLarge)
    }

    /// The graph. References to blocks that have not come are left out.
    pub fn finish(mut self) -> Graph {
        let blocks = self.graph.shapes.len() as u32;
        if self.graph.references.iter().any(|&to| to >= blocks) {
            self.leave_out_missing(blocks);
        }
        self.graph
    }

    /// The graph, of whose shapes these are the sizes.
    pub(crate) fn finish_with(mut self, sizes: Vec<u64>) -> Graph {
        self.graph.sizes = sizes;
        self.finish()
    }

    fn leave_out_missing(&mut self, blocks: u32) {
        let Graph { rows, references, .. } = &mut self.graph;
        let (mut kept, mut begin) = (0, 0);
        for end in rows.iter_mut().skip(1) {
            for at in begin..*end as usize {
                if references[at] < blocks {
                    references[kept] = references[at];
                    kept += 1;
                }
            }
            (begin, *end) = (*end as usize, kept as u32);
        }
        references.truncate(kept);
    }
}

impl Graph {
    /// Of parts that fit together: by block from what stands for all roots on its shape, by shape its size, and rows of
    /// references to blocks that are there.
    pub(crate) fn of(
        shapes: Vec<ShapeId>,
        sizes: Vec<u64>,
        rows: Vec<u32>,
        references: Vec<u32>,
        roots: u32,
    ) -> Graph {
        Graph { shapes, sizes, rows, references, roots }
    }

    /// How many numbers there are: blocks, roots, and what stands for all roots.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether there is nothing, not even roots.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The roots.
    pub fn roots(&self) -> impl Iterator<Item = BlockId> + use<> {
        (1..=self.roots).map(BlockId)
    }

    /// The blocks, without roots.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + use<> {
        (self.roots + 1..self.shapes.len() as u32).map(BlockId)
    }

    /// Whether that is a root, or what stands for all.
    pub fn is_root(&self, id: BlockId) -> bool {
        id.0 <= self.roots
    }

    /// What a block takes, in bytes.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn bytes(&self, id: BlockId) -> u64 {
        self.sizes[self.shape(id).0 as usize]
    }

    /// What a block has in common with others.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn shape(&self, id: BlockId) -> ShapeId {
        self.shapes[id.index()]
    }

    /// What a block refers to, in its order; the same may come several times.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn references(&self, id: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.references[self.row(id)].iter().copied().map(BlockId)
    }

    /// All references there are.
    pub fn reference_count(&self) -> usize {
        self.references.len()
    }

    /// Where a block's references are among all.
    pub(crate) fn row(&self, id: BlockId) -> Range<usize> {
        self.rows[id.index()] as usize..self.rows[id.index() + 1] as usize
    }

    /// The one at that place among all references.
    pub(crate) fn reference(&self, at: usize) -> BlockId {
        BlockId(self.references[at])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Graphs of up to so many blocks.
    pub(crate) fn graphs(most: usize) -> impl Strategy<Value = Graph> {
        let blocks =
            prop::collection::vec((1..100u64, prop::collection::vec(any::<u16>(), 0..5)), 1..most);
        (1..4usize, blocks).prop_map(|(roots, blocks)| {
            let all = roots + 1 + blocks.len();
            let mut builder = Builder::new(roots).unwrap();
            for (index, (bytes, references)) in
                blocks.iter().cycle().take(roots + blocks.len()).enumerate()
            {
                let bytes = if index < roots { 0 } else { *bytes };
                let to = references.iter().map(|&to| BlockId((1 + to as usize % all) as u32));
                builder.add(bytes, to).unwrap();
            }
            builder.finish()
        })
    }

    #[test]
    fn blocks_come_after_roots_and_what_is_missing_is_left_out() {
        let mut builder = Builder::new(2).unwrap();
        builder.add(0, [BlockId(3), BlockId(9)]).unwrap();
        builder.add(0, []).unwrap();
        let block = builder.add(40, [BlockId(7), BlockId(3), BlockId(2)]).unwrap();
        let graph = builder.finish();
        assert_eq!((graph.len(), graph.reference_count()), (4, 5));
        assert!(graph.references(BlockId::ALL_ROOTS).eq([BlockId(1), BlockId(2)]));
        assert!(graph.references(BlockId(1)).eq([BlockId(3)]));
        assert!(graph.references(block).eq([BlockId(3), BlockId(2)]));
        assert!(graph.blocks().eq([block]) && graph.roots().eq([BlockId(1), BlockId(2)]));
        assert_eq!((graph.bytes(block), graph.is_root(block)), (40, false));
    }
}
