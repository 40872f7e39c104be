//! What blocks of a packet have in common: their kind, their size, and what is in each of their fields.
//!
//! ```text
//! varint   0: a block; 1: one with bytes elsewhere; 2: more fields of the block before
//! varint   kind     ┐ unless these are more fields
//! varint   bytes    ┘
//! varint   bytes elsewhere, if there are any
//! varint   number of fields
//! bytes    for each field two bits, the lowest of a byte first: 0 no reference, 1 the next block, 2 an address, 3 outside
//! ```

use super::model::{Address, Field, KindId};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// A record has no more fields; others follow in records of their own.
pub(super) const MAX_FIELDS: usize = 4096;

const PLAIN: u64 = 0;
const WITH_OUTSIDE: u64 = 1;
const MORE: u64 = 2;

/// What a field has, but for addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub(super) u8);

impl Code {
    pub(super) const VALUE: Self = Self(0);
    pub(super) const NEXT: Self = Self(1);
    pub(super) const TO: Self = Self(2);
    pub(super) const OUTSIDE: Self = Self(3);

    pub(super) fn of(field: Field) -> Self {
        match field {
            Field::Value => Self::VALUE,
            Field::Next => Self::NEXT,
            Field::To(_) => Self::TO,
            Field::Outside => Self::OUTSIDE,
        }
    }

    /// What it stands for, if that needs no address.
    pub(super) fn field(self) -> Option<Field> {
        match self {
            Self::VALUE => Some(Field::Value),
            Self::NEXT => Some(Field::Next),
            Self::OUTSIDE => Some(Field::Outside),
            _ => None,
        }
    }
}

/// What blocks have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// None of what is more fields of the block before.
    pub(super) of: Option<Of>,
    pub(super) codes: Vec<Code>,
}

/// What a block is, but for its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Of {
    pub(super) kind: KindId,
    pub(super) bytes: u64,
    pub(super) outside: u64,
}

/// Appends a shape: of a block, or of more fields.
pub(super) fn put(out: &mut Vec<u8>, of: Option<Of>, fields: &[Field]) {
    match of {
        Some(Of { kind, bytes, outside }) => {
            out.put_varint(if outside > 0 { WITH_OUTSIDE } else { PLAIN });
            out.put_varint(kind.0.into());
            out.put_varint(bytes);
            if outside > 0 {
                out.put_varint(outside);
            }
        }
        None => out.put_varint(MORE),
    }
    out.put_varint(fields.len() as u64);
    let codes =
        |four: &[Field]| four.iter().rev().fold(0, |byte, &field| byte << 2 | Code::of(field).0);
    out.extend(fields.chunks(4).map(codes));
}

impl Shape {
    pub(super) fn take(plain: &mut Plain<'_>) -> Result<Self, Fault> {
        let of = match plain.varint()? {
            MORE => None,
            sort @ (PLAIN | WITH_OUTSIDE) => {
                let (kind, bytes) = (KindId(plain.small()?), plain.varint()?);
                let outside = if sort == WITH_OUTSIDE { plain.varint()? } else { 0 };
                Some(Of { kind, bytes, outside })
            }
            _ => return Err(Fault::Unexpected("a shape of blocks")),
        };
        let count: usize = plain.small()?;
        if count > MAX_FIELDS {
            return Err(Fault::Unexpected("fewer fields"));
        }
        let packed = plain.take(count.div_ceil(4))?;
        let codes = (0..count).map(|at| Code(packed[at / 4] >> (at % 4 * 2) & 3)).collect();
        Ok(Self { of, codes })
    }
}

/// What was last said of a shape, which the next block of that shape is told by.
#[derive(Clone, Debug)]
pub(super) struct Last {
    /// In words; nothing before the first block of the shape.
    address: Option<u64>,
    /// In words: those of its references to addresses.
    targets: Vec<u64>,
}

impl Last {
    pub(super) fn new() -> Self {
        Self { address: None, targets: Vec::new() }
    }

    /// What an address is told by, where the block before, of whatever shape, is at `before`.
    pub(super) fn address(&mut self, before: u64) -> &mut u64 {
        self.address.get_or_insert(before)
    }

    /// What the address in the `at`-th reference to one, from 0 on, of a block at `own` is told by.
    pub(super) fn target(&mut self, at: usize, own: u64) -> &mut u64 {
        if self.targets.len() <= at {
            self.targets.resize(at + 1, own);
        }
        &mut self.targets[at]
    }
}

/// In words.
pub(super) fn words(address: Address, word: u64) -> u64 {
    address.0 / word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        let fields =
            [Field::Value, Field::Next, Field::Outside, Field::To(Address(8)), Field::Next];
        let of = Of { kind: KindId(700), bytes: 48, outside: 0 };
        for of in [None, Some(of), Some(Of { outside: 9, ..of })] {
            for count in 0..=fields.len() {
                let mut bytes = Vec::new();
                put(&mut bytes, of, &fields[..count]);
                let codes = fields[..count].iter().map(|&field| Code::of(field)).collect();
                let mut plain = Plain(&bytes);
                assert_eq!(Shape::take(&mut plain), Ok(Shape { of, codes }));
                assert!(plain.0.is_empty());
            }
        }
    }
}
