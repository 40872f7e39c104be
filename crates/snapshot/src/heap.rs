//! A heap at one moment: its graph, and what blocks are called.

use std::sync::Arc;

use lifetrace_trace::lth::Form;
use rustc_hash::FxHashMap;

use crate::graph::{BlockId, Graph, ShapeId};

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
    /// By kind, what its blocks are.
    pub forms: Vec<Form>,
    /// By shape, what blocks have in common; nothing of [`ShapeId::ROOT`].
    pub(crate) shapes: Vec<Shape>,
    /// By block, from the first one on, where it was in memory.
    pub(crate) addresses: Vec<u64>,
    /// Where blocks are told of in the file.
    pub(crate) places: Places,
    /// What of roots is known by itself, by root, then by what it refers to.
    pub(crate) slots: Vec<Slot>,
}

/// What blocks have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What they are.
    pub kind: KindId,
    /// What each takes on the heap.
    pub bytes: u64,
    /// What each takes elsewhere.
    pub outside: u64,
    /// How many fields each has, as far as the file tells of fields ([`Heap::length`] is of all).
    pub fields: u32,
    /// Of each of the first 32 fields two bits: 0 no reference, 1 one to a block, 2 one to something else.
    pub pattern: u64,
}

/// A root by itself, of those that are called alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Those that are called alike.
    pub root: BlockId,
    /// What it refers to.
    pub to: BlockId,
    /// Its own name.
    pub name: Option<Arc<str>>,
    /// Where it is; 0 if nobody knows.
    pub address: u64,
}

/// Where blocks are told of in the file that they were read from, in bytes from its beginning.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// By block.
    Each(Vec<u64>),
    /// First block, the first block's number in the file, and the place, of all stretches.
    Stretches(Vec<(u32, u64, u64)>),
}

/// Where a block is told of in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In bytes from the file's beginning: of the block itself, or of what has several of them.
    pub offset: u64,
    /// The block's number in the file, where it has one.
    pub number: u64,
}

impl Heap {
    /// The kind of a block; none of a root.
    pub fn kind(&self, id: BlockId) -> Option<KindId> {
        self.shape(id).map(|shape| shape.kind)
    }

    /// How many fields a block of that shape has. Of a long one a snapshot need not tell the values at its end
    /// ([`Shape::fields`] is without them); but it has what its size has room for, beside a header of eight bytes.
    pub fn length(&self, shape: &Shape) -> u32 {
        let is_filled = self.forms.get(shape.kind.0 as usize) == Some(&Form::Fields);
        let room = u32::try_from(shape.bytes / 8).unwrap_or(u32::MAX).saturating_sub(1);
        if is_filled { shape.fields.max(room) } else { shape.fields }
    }

    /// What a block has in common with others; nothing of a root.
    pub fn shape(&self, id: BlockId) -> Option<&Shape> {
        let ShapeId(shape) = self.graph.shape(id);
        (shape > 0).then(|| self.shapes.get(shape as usize)).flatten()
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

    /// Where a block is told of in the file it was read from.
    pub fn place_in_file(&self, id: BlockId) -> Option<Place> {
        let at = self.place_of(id)?;
        match &self.places {
            Places::Each(offsets) => {
                offsets.get(at).map(|&offset| Place { offset, number: at as u64 })
            }
            Places::Stretches(stretches) => {
                let after = stretches.partition_point(|&(first, ..)| first as usize <= at);
                let &(first, number, offset) = stretches.get(after.checked_sub(1)?)?;
                Some(Place { offset, number: number + (at as u64 - u64::from(first)) })
            }
        }
    }

    /// The block at that address. Whoever asks for many makes an [`Index`](crate::index::Index) of [`Heap::addresses`].
    pub fn at(&self, address: u64) -> Option<BlockId> {
        let at = self.addresses.iter().position(|&it| it == address)?;
        Some(self.block(at as u32))
    }

    /// By block, from the first one on, where it was in memory.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// The block that is told of at that place among all, from 0 on.
    pub fn block(&self, at: u32) -> BlockId {
        BlockId(1 + self.roots.len() as u32 + at)
    }

    /// What is known of the root by which that one, of those that are called alike, refers to a block.
    pub fn slot(&self, root: BlockId, to: BlockId) -> Option<&Slot> {
        let at = self.slots.partition_point(|slot| (slot.root, slot.to) < (root, to));
        self.slots.get(at).filter(|slot| (slot.root, slot.to) == (root, to))
    }

    /// Among the blocks without roots.
    fn place_of(&self, id: BlockId) -> Option<usize> {
        id.index().checked_sub(1 + self.roots.len())
    }
}

/// Shapes by what they are.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) all: Vec<Shape>,
    numbers: FxHashMap<Shape, ShapeId>,
}

impl Default for Shapes {
    /// With that of roots alone.
    fn default() -> Self {
        let root = Shape { kind: KindId(0), bytes: 0, outside: 0, fields: 0, pattern: 0 };
        Shapes { all: vec![root], numbers: FxHashMap::default() }
    }
}

impl Shapes {
    /// The number of a shape.
    pub(crate) fn number(&mut self, shape: Shape) -> ShapeId {
        let next = ShapeId(self.all.len() as u32);
        let number = *self.numbers.entry(shape).or_insert(next);
        if number == next {
            self.all.push(shape);
        }
        number
    }

    /// By shape, in bytes.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        self.all.iter().map(|shape| shape.bytes).collect()
    }
}

/// Kinds by their names.
#[derive(Default)]
pub(crate) struct Kinds {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) forms: Vec<Form>,
    numbers: FxHashMap<Arc<str>, KindId>,
}

impl Kinds {
    /// The number of a kind; what its blocks are is asked only once.
    pub(crate) fn number(&mut self, name: String, form: Form) -> KindId {
        if let Some(&number) = self.numbers.get(&*name) {
            return number;
        }
        let (name, number): (Arc<str>, _) = (name.into(), KindId(self.names.len() as u32));
        self.names.push(Arc::clone(&name));
        self.forms.push(form);
        self.numbers.insert(name, number);
        number
    }
}
