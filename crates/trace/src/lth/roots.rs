//! Packets of roots.
//!
//! ```text
//! varint   number of the first root
//! varint   number of the block that the first reference to a next one is to
//! strings  categories and names
//! varint   how many roots there are
//!          each: varint category, varint name plus one or 0, signed slot less that of the one before, code of a field;
//!          signed address, in words, less that of the one before, if it is a reference to an address
//! ```

use std::sync::Arc;

use super::model::{Address, BlockNumber, Field, Root};
use super::shapes::Code;
use super::strings::{self, Strings};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Roots that are to be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    first: u64,
    count: u64,
    next: BlockNumber,
    strings: Strings,
    column: Vec<u8>,
    slot: u64,
    target: u64,
}

impl Draft {
    /// Adds a root. `next` is the block that a reference to a next one is to, `word` the length of a word.
    pub(super) fn add(&mut self, root: &Root, next: BlockNumber, word: u64) {
        if self.count == 0 {
            self.next = next;
        }
        self.count += 1;
        let category = self.strings.number(&root.category);
        let name = root.name.as_ref().map_or(0, |name| 1 + self.strings.number(name));
        self.column.put_varint(category);
        self.column.put_varint(name);
        self.column.put_signed(root.slot.0.wrapping_sub(self.slot) as i64);
        self.slot = root.slot.0;
        self.column.push(Code::of(root.to).0);
        if let Field::To(Address(target)) = root.to {
            let target = target / word;
            self.column.put_signed(target.wrapping_sub(self.target) as i64);
            self.target = target;
        }
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.column.len() + self.strings.len()
    }

    /// The contents of a packet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let Draft { first, count, next, strings, column, .. } = std::mem::take(self);
        self.first = first + count;
        let mut contents = Vec::with_capacity(column.len() + strings.len() + 32);
        contents.put_varint(first);
        contents.put_varint(next.0);
        strings.put(&mut contents);
        contents.put_varint(count);
        contents.extend(column);
        (count > 0).then_some(contents)
    }
}

/// The roots of a packet, after its first number, and the block that the first reference to a next one is to.
pub(super) fn decode(plain: &mut Plain<'_>, word: u64) -> Result<(BlockNumber, Vec<Root>), Fault> {
    let next = BlockNumber(plain.varint()?);
    let strings = strings::take(plain)?;
    let count = plain.varint()?;
    let mut last = Last { word, slot: 0, target: 0 };
    let roots = (0..count).map(|_| last.root(plain, &strings)).collect::<Result<_, Fault>>()?;
    Ok((next, roots))
}

struct Last {
    word: u64,
    slot: u64,
    target: u64,
}

impl Last {
    fn root(&mut self, plain: &mut Plain<'_>, strings: &[Arc<str>]) -> Result<Root, Fault> {
        let category = strings::get(strings, plain.varint()?)?;
        let name = match plain.varint()?.checked_sub(1) {
            Some(number) => Some(strings::get(strings, number)?),
            None => None,
        };
        self.slot = self.slot.wrapping_add(plain.signed()? as u64);
        let code = Code(plain.take(1)?[0]);
        let to = match code {
            Code::TO => {
                self.target = self.target.wrapping_add(plain.signed()? as u64);
                Field::To(Address(self.target.wrapping_mul(self.word)))
            }
            code => code.field().ok_or(Fault::Unexpected("a code of a field"))?,
        };
        Ok(Root { category, name, slot: Address(self.slot), to })
    }
}
