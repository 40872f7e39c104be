//! What a heap says of its blocks' fields.

use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::{Heap, KindId};
use lifetrace_trace::lth::Form;

/// Fields whose patterns are known.
pub(super) const PATTERNED: usize = 32;

/// What a block is to the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A block of fields with that tag.
    Tagged(u8),
    Custom(String),
    Of(Form),
}

/// What is in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// No pointer.
    Value,
    /// What is not on the heap: constants that the compiler has laid out.
    Outside,
    Block(BlockId),
    /// Nobody knows.
    Unknown,
}

/// The first fields of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    all: [Content; PATTERNED],
    count: usize,
}

impl std::ops::Deref for Contents {
    type Target = [Content];

    fn deref(&self) -> &[Content] {
        &self.all[..self.count]
    }
}

/// A heap's blocks.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    pub(super) heap: &'a Heap,
    /// By kind.
    sorts: Vec<Sort>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(heap: &'a Heap) -> Blocks<'a> {
        let sorts = heap.forms.iter().zip(&heap.kinds).map(|(&form, name)| match form {
            Form::Fields => {
                let tag = name.strip_prefix("tag ").and_then(|it| it.parse().ok());
                tag.map_or(Sort::Of(Form::Other), Sort::Tagged)
            }
            Form::Custom => Sort::Custom(name.to_string()),
            other => Sort::Of(other),
        });
        Blocks { heap, sorts: sorts.collect() }
    }

    /// What a block is; nothing of a root.
    pub(super) fn sort(&self, id: BlockId) -> Option<&Sort> {
        let KindId(kind) = self.heap.kind(id)?;
        self.sorts.get(kind as usize)
    }

    /// How many fields, or numbers, a block has.
    pub(super) fn size(&self, id: BlockId) -> u32 {
        const WORD: u64 = 8;
        self.heap.shape(id).map_or(0, |shape| (shape.bytes / WORD).saturating_sub(1) as u32)
    }

    /// The first fields of a block.
    pub(super) fn contents(&self, id: BlockId) -> Contents {
        let mut contents = Contents { all: [Content::Unknown; PATTERNED], count: 0 };
        let Some(shape) = self.heap.shape(id) else { return contents };
        contents.count = PATTERNED.min(shape.fields as usize);
        let codes = (0..contents.count).map(|field| shape.pattern >> (2 * field) & 3);
        let mut references = self.heap.graph.references(id);
        for (content, code) in contents.all.iter_mut().zip(codes) {
            *content = match code {
                0 => Content::Value,
                1 => references.next().map_or(Content::Unknown, Content::Block),
                _ => Content::Outside,
            };
        }
        // Where the file does not have what some lead to, nobody knows which those are.
        let is_short = contents.contains(&Content::Unknown);
        let is_long = shape.fields as usize <= PATTERNED && references.next().is_some();
        if is_short || is_long {
            let blocks = contents.all.iter_mut().filter(|it| matches!(it, Content::Block(_)));
            blocks.for_each(|it| *it = Content::Unknown);
        }
        contents
    }
}
