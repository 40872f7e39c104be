//! Guesses what blocks of OCaml's are by their shapes.

use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::{Heap, Shape};
use lifetrace_trace::lth::Form;

/// What a block with fields seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guess {
    /// A cell of a list: its second field is the rest, a cell or nothing.
    List,
    /// A node of a map: left, key, value, right, height.
    Map,
    /// A node of a set: left, element, right, height.
    Set,
    /// A hash table: size, buckets, seed, initial size.
    HashTable,
    /// The buckets of one.
    Buckets,
    /// A cell of a bucket: key, value, next.
    Bucket,
    /// One field: an option, a reference, a constructor.
    Single,
    /// Nothing in particular, of so many fields.
    Fields(u32),
}

/// Longer ones are arrays, or might as well be.
const LONGEST: u32 = 16;

const VALUE: u64 = 0;
const BLOCK: u64 = 1;

/// What is in a field, from 0 on.
fn code(shape: &Shape, field: u32) -> u64 {
    shape.pattern >> (2 * field) & 3
}

impl Guess {
    /// What people call it.
    pub(crate) fn name(self) -> String {
        let name = match self {
            Guess::List => "cells of lists",
            Guess::Map => "nodes of maps",
            Guess::Set => "nodes of sets",
            Guess::HashTable => "hash tables",
            Guess::Buckets => "buckets of hash tables",
            Guess::Bucket => "cells of hash tables",
            Guess::Single => "options, references: 1 field",
            Guess::Fields(0) => "more than 16 fields: arrays",
            Guess::Fields(count) => return format!("{count} fields"),
        };
        name.to_owned()
    }

    /// What people call one of them.
    pub(crate) fn one(self) -> String {
        let name = match self {
            Guess::List => "list",
            Guess::Map => "map",
            Guess::Set => "set",
            Guess::HashTable => "hash table",
            Guess::Buckets => "buckets",
            Guess::Bucket => "bucket",
            Guess::Single => "1 field",
            Guess::Fields(0) => "array",
            Guess::Fields(count) => return format!("{count} fields"),
        };
        name.to_owned()
    }

    /// Whether little else looks so: what a pair of numbers looks like as well is not worth a name outside of a view of
    /// guesses.
    pub(crate) fn is_particular(self) -> bool {
        matches!(self, Guess::HashTable | Guess::Buckets)
    }

    /// Whether that may well be wrong.
    pub(crate) fn is_one(self) -> bool {
        !matches!(self, Guess::Fields(_))
    }
}

/// What a block seems to be; nothing of what its kind says already.
pub(crate) fn guess(heap: &Heap, id: BlockId) -> Option<Guess> {
    let shape = fields_of(heap, id)?;
    let length = heap.length(shape);
    let refers = |field| reference(heap, id, shape, field);
    let is_or_alike = |field: u32| match code(shape, field) {
        VALUE => true,
        BLOCK => refers(field)
            .and_then(|to| fields_of(heap, to))
            .is_some_and(|to| (heap.length(to), to.kind) == (length, shape.kind)),
        _ => false,
    };
    let is_value = |field| code(shape, field) == VALUE;
    Some(match length {
        1 => Guess::Single,
        2 if is_or_alike(1) => Guess::List,
        3 if is_or_alike(2) && !is_value(1) => Guess::Bucket,
        4 if is_table(heap, id, shape) => Guess::HashTable,
        4 if is_or_alike(0) && is_or_alike(2) && is_value(3) => Guess::Set,
        5 if is_or_alike(0) && is_or_alike(3) && is_value(4) => Guess::Map,
        count if count > LONGEST && count.is_power_of_two() && is_buckets(heap, id) => {
            Guess::Buckets
        }
        count if count > LONGEST => Guess::Fields(0),
        count => Guess::Fields(count),
    })
}

/// The shape of a block that has fields of which nothing is known.
fn fields_of(heap: &Heap, id: BlockId) -> Option<&Shape> {
    let shape = heap.shape(id)?;
    let form = heap.forms.get(shape.kind.0 as usize)?;
    (*form == Form::Fields && heap.length(shape) > 0).then_some(shape)
}

/// What is referred to in a field.
fn reference(heap: &Heap, id: BlockId, shape: &Shape, field: u32) -> Option<BlockId> {
    let before = (0..field).filter(|&it| code(shape, it) == BLOCK).count();
    heap.graph.references(id).nth(before)
}

/// Size, an array whose length is a power of two, seed, initial size.
fn is_table(heap: &Heap, id: BlockId, shape: &Shape) -> bool {
    let codes = [0, 1, 3].map(|field| code(shape, field));
    let buckets = reference(heap, id, shape, 1).and_then(|to| fields_of(heap, to));
    let buckets = buckets.map(|it| heap.length(it));
    codes == [VALUE, BLOCK, VALUE]
        && buckets.is_some_and(|length| length >= 8 && length.is_power_of_two())
}

/// All that it has are cells of three fields.
fn is_buckets(heap: &Heap, id: BlockId) -> bool {
    let mut cells = heap.graph.references(id).take(64).peekable();
    cells.peek().is_some()
        && cells.all(|to| fields_of(heap, to).is_some_and(|to| heap.length(to) == 3))
}
