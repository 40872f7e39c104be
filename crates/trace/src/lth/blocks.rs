//! A packet of blocks, being read; `draft.rs` has what is in it.

use std::ops::Range;

use super::model::{Address, Block, BlockNumber, Field};
use super::shapes::{Code, Last, Of, Shape};
use crate::framing::fault::Fault;
use crate::framing::varint::Plain;

/// Records and fields that a packet may have for each byte of its payload, and beside these.
pub(super) const PER_BYTE: u64 = 64;
pub(super) const BESIDE: u64 = 8192;

/// A packet of blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    contents: Vec<u8>,
    word: u64,
    /// Number of the next block that comes.
    pub(super) number: BlockNumber,
    /// The block that the next reference to a next one is to.
    next: BlockNumber,
    records: u64,
    /// Records and fields that may still come.
    allowed: u64,
    columns: Columns,
    shapes: Vec<(Shape, Last)>,
    /// That of the last block, in words.
    address: u64,
    detail: Option<(u64, String)>,
    current: Current,
}

/// What is still to be read of each column.
#[derive(Debug)]
struct Columns {
    shapes: Range<usize>,
    uses: Range<usize>,
    addresses: Range<usize>,
    targets: Range<usize>,
    details: Range<usize>,
}

/// A record that has been read.
#[derive(Debug, Default)]
struct Current {
    shape: u32,
    of: Option<Of>,
    address: Address,
    next: BlockNumber,
    fields: Vec<Field>,
    detail: Option<String>,
}

/// A block as a snapshot tells it, or more of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A block, with its fields, or the first of them.
    Block(Block<'a>),
    /// More fields of the block before, if that was not lost.
    Fields(&'a [Field]),
}

impl Blocks {
    /// The contents of a packet, whose payload had so many bytes.
    pub(super) fn new(contents: Vec<u8>, word: u64, payload: usize) -> Result<Self, Fault> {
        let mut plain = Plain(&contents);
        let (number, next) = (BlockNumber(plain.varint()?), BlockNumber(plain.varint()?));
        let records = plain.varint()?;
        let mut length = || plain.small::<usize>();
        let lengths = [length()?, length()?, length()?, length()?, length()?];
        let columns = Columns::of(contents.len() - plain.0.len(), lengths, contents.len())?;
        let allowed = PER_BYTE * payload as u64 + BESIDE;
        let mut blocks = Self {
            contents,
            word,
            number,
            next,
            records,
            allowed,
            columns,
            shapes: Vec::new(),
            address: 0,
            detail: None,
            current: Current::default(),
        };
        blocks.read_detail()?;
        Ok(blocks)
    }

    /// Goes on to the next record; false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, Fault> {
        let Some(records) = self.records.checked_sub(1) else { return Ok(false) };
        self.records = records;
        let at = self.shape()?;
        let (shape, last) = &mut self.shapes[at];
        let amount = 1 + shape.codes.len() as u64;
        self.allowed = self.allowed.checked_sub(amount).ok_or(Fault::Unexpected("fewer fields"))?;
        let current = &mut self.current;
        (current.shape, current.of) = (at as u32, shape.of);
        current.next = self.next;
        if shape.of.is_some() {
            let before = last.address(self.address);
            let delta = signed(&self.contents, &mut self.columns.addresses)?;
            *before = before.wrapping_add(delta);
            self.address = *before;
            current.address = Address(self.address.wrapping_mul(self.word));
        }
        current.fields.clear();
        let (mut targets, mut nexts) = (0, 0);
        for &code in &shape.codes {
            nexts += u64::from(code == Code::NEXT);
            current.fields.push(match code.field() {
                Some(field) => field,
                None => {
                    let target = last.target(targets, self.address);
                    let delta = signed(&self.contents, &mut self.columns.targets)?;
                    *target = target.wrapping_add(delta);
                    targets += 1;
                    Field::To(Address(target.wrapping_mul(self.word)))
                }
            });
        }
        self.next.0 = self.next.0.wrapping_add(nexts);
        self.end_record()?;
        Ok(true)
    }

    /// The record that has been read, the number of the block, and which block its first reference to a next one is to.
    pub(super) fn current(&self) -> (BlockNumber, BlockNumber, Found<'_>) {
        let Current { of, address, next, ref fields, ref detail, .. } = self.current;
        let detail = detail.as_deref();
        let number = BlockNumber(self.number.0.wrapping_sub(1));
        let found = match of {
            Some(Of { kind, bytes, outside }) => {
                Found::Block(Block { address, bytes, outside, kind, fields, detail })
            }
            None => Found::Fields(fields),
        };
        (number, next, found)
    }

    /// The number of that record's shape in the packet.
    pub(super) fn shape_number(&self) -> u32 {
        self.current.shape
    }

    /// Where the next record's shape is among those that are known.
    fn shape(&mut self) -> Result<usize, Fault> {
        let number = varint(&self.contents, &mut self.columns.uses)?;
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if at == self.shapes.len() {
            let column = &mut self.columns.shapes;
            let mut plain = Plain(&self.contents[column.clone()]);
            self.shapes.push((Shape::take(&mut plain)?, Last::new()));
            column.start = column.end - plain.0.len();
        }
        match at < self.shapes.len() {
            true => Ok(at),
            false => Err(Fault::Unexpected("a shape that was told")),
        }
    }

    fn end_record(&mut self) -> Result<(), Fault> {
        self.current.detail = None;
        if self.current.of.is_some() {
            self.number.0 = self.number.0.wrapping_add(1);
        }
        let Some((records, _)) = &mut self.detail else { return Ok(()) };
        *records = records.saturating_sub(1);
        if *records == 0 {
            self.current.detail = self.detail.take().map(|(_, detail)| detail);
            self.read_detail()?;
        }
        Ok(())
    }

    fn read_detail(&mut self) -> Result<(), Fault> {
        let column = &mut self.columns.details;
        if column.start == column.end {
            return Ok(());
        }
        let mut plain = Plain(&self.contents[column.clone()]);
        self.detail = Some((plain.varint()?, plain.string()?));
        column.start = column.end - plain.0.len();
        Ok(())
    }
}

impl Columns {
    /// Of these lengths, one after the other.
    fn of(start: usize, lengths: [usize; 5], end: usize) -> Result<Self, Fault> {
        let mut at = start;
        let mut column = |length: usize| {
            let begin = at;
            at = at.checked_add(length).filter(|&at| at <= end).ok_or(Fault::CutShort)?;
            Ok(begin..at)
        };
        let [shapes, uses, addresses, targets, details] = lengths;
        Ok(Self {
            shapes: column(shapes)?,
            uses: column(uses)?,
            addresses: column(addresses)?,
            targets: column(targets)?,
            details: column(details)?,
        })
    }
}

fn varint(contents: &[u8], column: &mut Range<usize>) -> Result<u64, Fault> {
    // Most numbers have one byte.
    if let Some(&byte) = contents[column.clone()].first().filter(|&&byte| byte < 0x80) {
        column.start += 1;
        return Ok(byte.into());
    }
    let mut plain = Plain(&contents[column.clone()]);
    let value = plain.varint()?;
    column.start = column.end - plain.0.len();
    Ok(value)
}

/// What is to be added, wrapping.
fn signed(contents: &[u8], column: &mut Range<usize>) -> Result<u64, Fault> {
    let folded = varint(contents, column)?;
    Ok(folded >> 1 ^ (folded & 1).wrapping_neg())
}
