//! What references are to, as they are read.

use lifetrace_trace::lth::Field;

/// What a reference is to, as it is read: a block by its number, or by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Number(u64),
    Address(u64),
}

/// What fields refer to; the first reference to a next block is to that one.
pub(super) fn targets(fields: &[Field], next: u64) -> impl Iterator<Item = Target> + '_ {
    let mut next = next;
    fields.iter().filter_map(move |field| match field {
        Field::Next => {
            next = next.wrapping_add(1);
            Some(Target::Number(next.wrapping_sub(1)))
        }
        Field::To(address) => Some(Target::Address(address.0)),
        Field::Value | Field::Outside => None,
    })
}
