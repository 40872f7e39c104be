//! Ways from a root to an object, step by step.

use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;

use crate::object::Object;
use crate::opened::Opened;

/// Fields whose patterns are known.
pub(crate) const PATTERNED: u32 = 32;

/// The objects of a way on which each refers to the next: roots by their own names, objects with the field that refers to
/// them, where those are known.
pub(crate) fn way(of: &Opened, ids: &[BlockId]) -> Vec<Object> {
    let mut objects: Vec<Object> = ids.iter().map(|&id| Object::new(of, id)).collect();
    for (at, step) in ids.windows(2).enumerate() {
        let [from, to] = [step[0], step[1]];
        if of.heap.graph.is_root(from) {
            objects[at].description = slot(&of.heap, from, to);
        }
        let step = objects[at + 1].clone();
        objects[at + 1] = step.in_field(of, from, field(of, from, to));
    }
    objects
}

/// An object that refers to another: in which field, or, if it is a root, which of those that are called alike.
pub(crate) fn referrer(of: &Opened, from: BlockId, to: BlockId) -> Object {
    let mut object = Object::new(of, from).in_field(of, from, field(of, from, to));
    if of.heap.graph.is_root(from) {
        object.description = slot(&of.heap, from, to);
    }
    object
}

/// What the root is called by itself that refers to an object, among those that are called alike.
pub(crate) fn slot(heap: &Heap, root: BlockId, to: BlockId) -> String {
    let Some(slot) = heap.slot(root, to) else { return String::new() };
    match (&slot.name, slot.address) {
        (Some(name), _) => name.to_string(),
        (None, 0) => String::new(),
        (None, address) => format!("{address:#x}"),
    }
}

/// What a root is called by itself, with the thread it is of if it is on a stack.
pub(crate) fn slot_of_thread(heap: &Heap, root: BlockId, to: BlockId) -> String {
    let (category, slot) = (heap.name(root), slot(heap, root, to));
    if is_stack(category) && !slot.is_empty() { format!("{category}, {slot}") } else { slot }
}

/// Whether roots that are called so are on the stack of a thread of the program's.
pub(crate) fn is_stack(category: &str) -> bool {
    category == "stack" || category.starts_with("stack of ") || category.starts_with("stacks of ")
}

/// In which of its fields, from 0 on, an object refers to another first, if that is known.
pub(crate) fn field(of: &Opened, from: BlockId, to: BlockId) -> Option<u32> {
    let place = of.heap.graph.references(from).position(|id| id == to)?;
    fields(of, from).get(place).copied()
}

/// The fields, from 0 on, of each of an object's references; nothing if that is not known.
pub(crate) fn fields(of: &Opened, id: BlockId) -> Vec<u32> {
    let has_fields = of.origin.as_ref().is_some_and(|origin| !origin.is_import());
    let Some(shape) = of.heap.shape(id).filter(|_| has_fields) else { return Vec::new() };
    let count = of.heap.graph.references(id).count();
    if count == shape.fields as usize {
        return (0..shape.fields).collect();
    }
    let is_reference = |&field: &u32| shape.pattern >> (2 * field) & 3 == 1;
    let fields: Vec<u32> = (0..shape.fields.min(PATTERNED)).filter(is_reference).collect();
    // What is missing in the file has no place among the references.
    if shape.fields <= PATTERNED && fields.len() == count { fields } else { Vec::new() }
}
