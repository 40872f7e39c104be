//! Packets of kinds.
//!
//! ```text
//! varint   number of the first kind
//! varint   how many there are
//!          each: byte form, string name
//! ```

use super::model::{Form, Kind};
use super::strings;
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Kinds that are to be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    first: u64,
    count: u64,
    column: Vec<u8>,
}

impl Draft {
    pub(super) fn add(&mut self, kind: &Kind) {
        self.count += 1;
        self.column.push(kind.form.number());
        strings::put(&mut self.column, &kind.name);
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.column.len()
    }

    /// The contents of a packet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let Draft { first, count, column } = std::mem::take(self);
        self.first = first + count;
        let mut contents = Vec::with_capacity(column.len() + 16);
        contents.put_varint(first);
        contents.put_varint(count);
        contents.extend(column);
        (count > 0).then_some(contents)
    }
}

/// The kinds of a packet, after its first number.
pub(super) fn decode(plain: &mut Plain<'_>) -> Result<Vec<Kind>, Fault> {
    let count = plain.varint()?;
    let mut kind = |_| {
        let form = Form::from_number(plain.take(1)?[0]);
        Ok(Kind { form, name: plain.string()?.into() })
    };
    (0..count).map(&mut kind).collect()
}
