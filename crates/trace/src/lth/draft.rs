//! A packet of blocks in the making.
//!
//! ```text
//! varint      number of the first block
//! varint      number of the block that the first reference to a next one is to
//! varint      how many records there are
//! varint ×5   lengths of the columns of shapes, uses, addresses, targets and details
//! shapes      each when it is used first
//! uses        each record's shape: its number in the packet, the first unused one if it is new
//! addresses   of each block: signed, in words, less that of the last block of its shape, or else that of the block before
//! targets     of each reference to an address: signed, in words, less that in the same place of the last record of the
//!             shape, or else the block's own
//! details     of blocks that have one: varint records since the last such one, string
//! ```

use rustc_hash::FxHashMap;

use super::model::{Block, BlockNumber, Field};
use super::shapes::{self, Last, Of, words};
use super::strings;
use crate::framing::varint::PutPlain;

/// Records that a packet has, at most.
const MAX_RECORDS: u64 = 1 << 16;

/// Fields that a packet has, at most, but for its last record's.
const MANY_FIELDS: u64 = 1 << 18;

/// Blocks that are to be written.
#[derive(Debug)]
pub(super) struct Draft {
    /// Length of a word.
    word: u64,
    first: u64,
    blocks: u64,
    next: BlockNumber,
    records: u64,
    fields: u64,
    shapes: Vec<u8>,
    uses: Vec<u8>,
    addresses: Vec<u8>,
    targets: Vec<u8>,
    details: Vec<u8>,
    /// Records up to the last one with a detail.
    detailed: u64,
    known: FxHashMap<Box<[u8]>, u32>,
    lasts: Vec<Last>,
    /// That of the last block, in words.
    address: u64,
    /// The shape that is looked for.
    sought: Vec<u8>,
}

impl Draft {
    /// With words of so many bytes, and blocks from that one on.
    pub(super) fn new(word: u64, first: u64) -> Self {
        Self {
            word,
            first,
            blocks: 0,
            next: BlockNumber(0),
            records: 0,
            fields: 0,
            shapes: Vec::new(),
            uses: Vec::new(),
            addresses: Vec::new(),
            targets: Vec::new(),
            details: Vec::new(),
            detailed: 0,
            known: FxHashMap::default(),
            lasts: Vec::new(),
            address: 0,
            sought: Vec::new(),
        }
    }

    /// Adds a block, with the first of its fields. `next` is the block that a reference to a next one is to.
    pub(super) fn add(&mut self, block: &Block<'_>, fields: &[Field], next: BlockNumber) {
        let Block { kind, bytes, outside, .. } = *block;
        self.begin_record(fields, next);
        self.blocks += 1;
        if let Some(detail) = block.detail {
            self.details.put_varint(self.records - self.detailed);
            strings::put(&mut self.details, detail);
            self.detailed = self.records;
        }
        let shape = self.shape(Some(Of { kind, bytes, outside }), fields);
        self.put_address(shape, words(block.address, self.word));
        self.put_targets(shape, fields);
    }

    /// Adds fields to the last block, be it of a packet before.
    pub(super) fn add_fields(&mut self, fields: &[Field], next: BlockNumber) {
        self.begin_record(fields, next);
        let shape = self.shape(None, fields);
        self.put_targets(shape, fields);
    }

    fn begin_record(&mut self, fields: &[Field], next: BlockNumber) {
        if self.records == 0 {
            self.next = next;
        }
        self.records += 1;
        self.fields += fields.len() as u64;
    }

    /// The number of a shape, which is told if it is new.
    fn shape(&mut self, of: Option<Of>, fields: &[Field]) -> u32 {
        self.sought.clear();
        shapes::put(&mut self.sought, of, fields);
        let known = self.known.get(&self.sought[..]).copied();
        let number = known.unwrap_or_else(|| self.add_shape());
        self.uses.put_varint(number.into());
        number
    }

    fn add_shape(&mut self) -> u32 {
        let number = self.known.len() as u32;
        self.shapes.extend_from_slice(&self.sought);
        self.known.insert(self.sought.as_slice().into(), number);
        self.lasts.push(Last::new());
        number
    }

    fn put_address(&mut self, shape: u32, address: u64) {
        let last = self.lasts[shape as usize].address(self.address);
        self.addresses.put_signed(address.wrapping_sub(*last) as i64);
        (*last, self.address) = (address, address);
    }

    fn put_targets(&mut self, shape: u32, fields: &[Field]) {
        let last = &mut self.lasts[shape as usize];
        let targets = fields.iter().filter_map(|field| match field {
            Field::To(target) => Some(words(*target, self.word)),
            _ => None,
        });
        for (at, target) in targets.enumerate() {
            let last = last.target(at, self.address);
            self.targets.put_signed(target.wrapping_sub(*last) as i64);
            *last = target;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Whether it is to be written before anything is added.
    pub(super) fn is_full(&self) -> bool {
        let bytes = self.shapes.len() + self.uses.len() + self.addresses.len();
        bytes + self.targets.len() + self.details.len() >= super::deflate::ENOUGH
            || self.records >= MAX_RECORDS
            || self.fields >= MANY_FIELDS
    }

    /// Records and fields, which the length of a packet bounds.
    pub(super) fn amount(&self) -> u64 {
        self.records + self.fields
    }

    /// The contents of a packet.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let draft = std::mem::replace(self, Self::new(self.word, self.first + self.blocks));
        let mut contents = Vec::new();
        for number in [draft.first, draft.next.0, draft.records] {
            contents.put_varint(number);
        }
        let Self { shapes, uses, addresses, targets, details, .. } = &draft;
        let columns = [shapes, uses, addresses, targets, details];
        columns.iter().for_each(|column| contents.put_varint(column.len() as u64));
        columns.iter().for_each(|column| contents.extend_from_slice(column));
        contents
    }
}
