//! OCaml's values, as far as callbacks see and make them. \[UNSAFE\]
//!
//! A value is an immediate (an odd word, its number above the lowest bit) or the address of a block's
//! first field, whose header, with the number of fields above ten bits, is the word before.

use lifetrace_agent::tracker::Word;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Value(usize);

/// `None`, `()` and `0`.
pub(crate) const NONE: Value = Value::immediate(0);

/// For blocks outside the heap: black, which 4.x does not scan, and 5.x calls "not markable".
const STATIC: usize = 3 << 8;

/// The header of a static block.
pub(crate) const fn static_header(fields: usize, tag: usize) -> usize {
    fields << 10 | STATIC | tag
}

impl Value {
    pub(crate) const fn immediate(number: usize) -> Value {
        Value(number << 1 | 1)
    }

    pub(crate) const fn of(word: usize) -> Value {
        Value(word)
    }

    /// As the runtime passes it.
    pub(crate) const fn word(self) -> usize {
        self.0
    }

    /// A block that begins, after its header, at `first_field`.
    pub(crate) fn block(first_field: *const usize) -> Value {
        Value(first_field as usize)
    }

    /// The number of an immediate that is not negative.
    pub(crate) fn number(self) -> u64 {
        (self.0 >> 1) as u64
    }

    /// A field of a block.
    ///
    /// # Safety
    /// It is a block with more than `index` fields.
    pub(crate) unsafe fn field(self, index: usize) -> Value {
        // SAFETY: by contract.
        Value(unsafe { (self.0 as *const usize).add(index).read() })
    }

    /// The fields of a block.
    ///
    /// # Safety
    /// It is a block, which neither moves nor changes as long as the slice is used.
    pub(crate) unsafe fn fields<'a>(self) -> &'a [u64] {
        let first = self.0 as *const u64;
        // SAFETY: the header precedes the fields that it counts.
        unsafe {
            let count = first.sub(1).read() >> 10;
            core::slice::from_raw_parts(first, count as usize)
        }
    }
}

/// `Some metadata`, in a block that `room` is made to be. The runtime reads its field as soon as it has
/// it, before any other callback of this thread.
pub(crate) fn some(room: &mut [u64; 2], metadata: impl Word) -> Value {
    *room = [static_header(1, 0) as u64, metadata.to_word() << 1 | 1];
    Value::block((&raw const room[1]).cast())
}

/// The inverse of what [`some`] puts into the field.
pub(crate) fn metadata<W: Word>(value: Value) -> W {
    W::from_word(value.number())
}

#[cfg(test)]
mod tests {
    use lifetrace_transport::message::SampleId;

    use super::*;

    #[test]
    fn metadata_come_back() {
        let mut room = [0; 2];
        for word in [0, 1, 77, (1 << 62) - 1] {
            let answer = some(&mut room, SampleId(word));
            // SAFETY: `some` makes a block of one field.
            let (fields, field) = unsafe { (answer.fields(), answer.field(0)) };
            assert_eq!((fields.len(), metadata::<SampleId>(field)), (1, SampleId(word)));
        }
        assert_eq!(Value::immediate(5).number(), 5);
        assert_eq!(NONE, Value::of(1));
    }
}
