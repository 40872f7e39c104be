//! What has been read of a snapshot so far.

use std::sync::Arc;

use lifetrace_trace::lth::{Block, BlockNumber, Field, Kind, KindId, Root, Sample, Site, SiteId};

use super::target::{Target, targets};
use crate::graph::{ShapeId, TooLarge};
use crate::heap::{self, Shape, Shapes};

/// In the place of a number: the reference is to an address, the next of those.
pub(super) const BY_ADDRESS: u32 = u32::MAX;

/// In the place of a number: of a block that no snapshot has.
pub(super) const BEYOND: u32 = u32::MAX - 1;

/// Fields whose patterns are known.
const PATTERNED: usize = 32;

/// More kinds, and sites, than there are numbers of are passed over.
const MOST_NUMBERS: usize = 1 << 24;

/// What has been read so far.
#[derive(Default)]
pub(super) struct Loading {
    pub(super) roots: Vec<(Arc<str>, Vec<RawSlot>)>,
    /// By number; none of what was lost.
    pub(super) kinds: Vec<Option<Kind>>,
    pub(super) sites: Vec<Site>,
    pub(super) samples: Vec<Sample>,
    /// Their kinds are as the snapshot numbers them.
    pub(super) shapes: Shapes,
    /// By block, its shape.
    pub(super) shape_of: Vec<ShapeId>,
    pub(super) addresses: Vec<u64>,
    /// By block, where its references end.
    pub(super) ends: Vec<u32>,
    /// Numbers of blocks, or what stands in their place.
    pub(super) references: Vec<u32>,
    /// Of references by address, in their order.
    pub(super) by_address: Vec<u64>,
    /// The first block of each stretch, its number, and where the stretch is in the file.
    pub(super) stretches: Vec<(u32, u64, u64)>,
    /// That of the block that is read next, if nothing is lost.
    expected: u64,
    /// By number in the packet; that of roots where it is not known.
    packet_shapes: Vec<ShapeId>,
}

/// A root as it is read.
pub(super) struct RawSlot {
    pub(super) name: Option<Arc<str>>,
    pub(super) address: u64,
    pub(super) to: Option<Target>,
}

impl Loading {
    pub(super) fn kind(&mut self, KindId(id): KindId, kind: Kind) {
        put(&mut self.kinds, id, Some(kind));
    }

    pub(super) fn site(&mut self, SiteId(id): SiteId, site: Site) {
        put(&mut self.sites, id, site);
    }

    pub(super) fn root(&mut self, root: Root, next: BlockNumber) {
        let Root { category, name, slot, to } = root;
        let to = targets(&[to], next.0).next();
        let slot = RawSlot { name, address: slot.0, to };
        // Mostly it is the category of the root before; a program with many threads has many.
        match self.roots.iter_mut().rev().find(|(known, _)| *known == category) {
            Some((_, slots)) => slots.push(slot),
            None => self.roots.push((category, vec![slot])),
        }
    }

    /// # Errors
    /// If there are too many.
    pub(super) fn block(
        &mut self,
        number: BlockNumber,
        next: BlockNumber,
        block: &Block<'_>,
        (packet, shape): (u64, u32),
    ) -> Result<(), TooLarge> {
        let place = u32::try_from(self.addresses.len()).ok().filter(|&it| it < BEYOND - 1);
        let place = place.ok_or(TooLarge)?;
        let is_same = self.stretches.last().is_some_and(|&(.., last)| last == packet);
        if !is_same || number.0 != self.expected {
            self.stretches.push((place, number.0, packet));
            self.packet_shapes.clear();
        }
        self.expected = number.0.wrapping_add(1);
        self.addresses.push(block.address.0);
        let shape = self.shape(shape as usize, block);
        self.shape_of.push(shape);
        self.refer(block.fields, next.0);
        self.ends.push(u32::try_from(self.references.len()).map_err(|_| TooLarge)?);
        Ok(())
    }

    /// More fields of the block before, if that was read.
    ///
    /// # Errors
    /// If there are too many references.
    pub(super) fn fields(
        &mut self,
        number: BlockNumber,
        next: BlockNumber,
        fields: &[Field],
    ) -> Result<(), TooLarge> {
        let Some(shape) = self.shape_of.last().map(|id| self.shapes.all[id.0 as usize]) else {
            return Ok(());
        };
        if number.0.wrapping_add(1) != self.expected {
            return Ok(());
        }
        let count = shape.fields.saturating_add(fields.len() as u32);
        let shape = self.shapes.number(Shape { fields: count, ..shape });
        self.refer(fields, next.0);
        let end = u32::try_from(self.references.len()).map_err(|_| TooLarge)?;
        if let (Some(last), Some(own)) = (self.ends.last_mut(), self.shape_of.last_mut()) {
            (*last, *own) = (end, shape);
        }
        Ok(())
    }

    /// The shape of a block, which has that number in its packet.
    fn shape(&mut self, number: usize, block: &Block<'_>) -> ShapeId {
        if let Some(&known) = self.packet_shapes.get(number).filter(|&&it| it != ShapeId::ROOT) {
            return known;
        }
        let Block { kind, bytes, outside, fields, .. } = *block;
        let (kind, count) = (heap::KindId(kind.0), fields.len() as u32);
        let shape = Shape { kind, bytes, outside, fields: count, pattern: pattern(fields) };
        let shape = self.shapes.number(shape);
        if self.packet_shapes.len() <= number {
            self.packet_shapes.resize(number + 1, ShapeId::ROOT);
        }
        self.packet_shapes[number] = shape;
        shape
    }

    fn refer(&mut self, fields: &[Field], next: u64) {
        for target in targets(fields, next) {
            self.references.push(match target {
                Target::Number(number) => u32::try_from(number).unwrap_or(BEYOND).min(BEYOND),
                Target::Address(address) => {
                    self.by_address.push(address);
                    BY_ADDRESS
                }
            });
        }
    }
}

fn put<T: Clone + Default>(all: &mut Vec<T>, id: u32, value: T) {
    let at = id as usize;
    if at >= MOST_NUMBERS.min(all.len().saturating_add(1 << 20)) {
        return;
    }
    if at >= all.len() {
        all.resize(at + 1, T::default());
    }
    all[at] = value;
}

fn pattern(fields: &[Field]) -> u64 {
    let code = |field: &Field| match field {
        Field::Value => 0,
        Field::Next | Field::To(_) => 1,
        Field::Outside => 2,
    };
    let fields = &fields[..fields.len().min(PATTERNED)];
    fields.iter().rev().fold(0, |pattern, field| pattern << 2 | code(field))
}
