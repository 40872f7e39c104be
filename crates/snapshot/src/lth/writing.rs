//! A heap that another program has dumped, as a snapshot in our own format.

use std::collections::VecDeque;
use std::io::{self, Write};

use lifetrace_trace::lth::{Address, Block, Field, Header, Kind, KindId, Outcome, Root, Writer};

use crate::graph::BlockId;
use crate::heap::Heap;

/// What is said of blocks beside their kinds.
pub trait Described {
    /// In a few words; nothing if there is nothing to say.
    fn of(&self, heap: &Heap, id: BlockId) -> &str;
}

/// Writes a heap. What roots hold comes first, in the order in which a walk discovers it.
///
/// # Errors
/// The output's.
pub fn write(
    out: impl Write,
    header: &Header,
    heap: &Heap,
    described: &impl Described,
    outcome: &Outcome,
) -> io::Result<()> {
    let header = Header { word_bytes: word(heap), ..header.clone() };
    let mut writer = Writer::new(out, &header)?;
    let mut kinds = Vec::new();
    for (name, &form) in heap.kinds.iter().zip(&heap.forms) {
        kinds.push(writer.kind(&Kind { name: name.clone(), form })?);
    }
    let mut walk = Walk { heap, kinds, met: vec![false; heap.graph.len()], open: VecDeque::new() };
    walk.roots(&mut writer)?;
    while let Some(id) = walk.open.pop_front() {
        walk.block(&mut writer, id, described, true)?;
    }
    for id in heap.graph.blocks() {
        if !walk.met[id.index()] {
            walk.block(&mut writer, id, described, false)?;
        }
    }
    writer.finish(outcome)?;
    Ok(())
}

/// A length that all addresses are multiples of.
fn word(heap: &Heap) -> u8 {
    if heap.addresses().iter().all(|address| address % 8 == 0) { 8 } else { 1 }
}

struct Walk<'a> {
    heap: &'a Heap,
    kinds: Vec<KindId>,
    /// By block, whether something was said to refer to it.
    met: Vec<bool>,
    /// Those that have been met, in their order, until they are told.
    open: VecDeque<BlockId>,
}

impl Walk<'_> {
    fn roots<W: Write>(&mut self, writer: &mut Writer<W>) -> io::Result<()> {
        for root in self.heap.graph.roots() {
            for id in self.heap.graph.references(root) {
                let to = self.field(id, true);
                let slot = self.heap.slot(root, id);
                let name = slot.and_then(|slot| slot.name.clone());
                let slot = Address(slot.map_or(0, |slot| slot.address));
                writer.root(&Root { category: self.heap.name(root).into(), name, slot, to })?;
            }
        }
        Ok(())
    }

    fn block<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        id: BlockId,
        described: &impl Described,
        is_held: bool,
    ) -> io::Result<()> {
        let heap = self.heap;
        let Some(shape) = heap.shape(id) else { return Ok(()) };
        let references = heap.graph.references(id);
        let fields: Vec<Field> = references.map(|to| self.field(to, is_held)).collect();
        let detail = described.of(heap, id);
        writer.block(&Block {
            address: Address(heap.address(id).unwrap_or_default()),
            bytes: shape.bytes,
            outside: shape.outside,
            kind: self.kinds[shape.kind.0 as usize],
            fields: &fields,
            detail: Some(detail).filter(|detail| !detail.is_empty()),
        })
    }

    /// What is not held is told last, and never as the next.
    fn field(&mut self, to: BlockId, is_held: bool) -> Field {
        if self.heap.graph.is_root(to) {
            return Field::Outside;
        }
        if is_held && !std::mem::replace(&mut self.met[to.index()], true) {
            self.open.push_back(to);
            return Field::Next;
        }
        Field::To(Address(self.heap.address(to).unwrap_or_default()))
    }
}
