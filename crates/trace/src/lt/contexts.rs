//! What the next frame of a backtrace is foreseen by: the frames before it, and the block's length.

use super::candidates::hash;

/// A frame's number plus one, or the end of a backtrace.
pub(super) type Symbol = u32;
pub(super) const END: Symbol = 0;

/// Contexts whose candidates are asked about.
pub(super) const ORDERS: usize = 4;

/// Seeds of the hashes.
const SIZED: u32 = 0x51;
const ORDER_1: u32 = 0x11;

/// The innermost three, the last one innermost; of fewer, ends come first.
#[inline]
pub(super) fn last_three(stack: &[Symbol]) -> [Symbol; 3] {
    match *stack {
        [.., third, second, first] => [third, second, first],
        [second, first] => [END, second, first],
        [first] => [END, END, first],
        [] => [END; 3],
    }
}

/// The contexts in the order in which they are asked: sized order 2, orders 3, 2 and 1.
#[inline]
pub(super) fn orders(last: [Symbol; 3], size: u32) -> [u32; ORDERS] {
    let [first, second, third] = hashes(last);
    [hash(second ^ SIZED, size), third, second, first]
}

/// That of order 3.
#[inline]
pub(super) fn third(last: [Symbol; 3]) -> u32 {
    hashes(last)[2]
}

/// Where the opinions of one candidate are: by order 2 with the length, order 3 and order 1.
#[inline]
pub(super) fn of_candidate(
    &[sized, third, _, first]: &[u32; ORDERS],
    candidate: Symbol,
) -> [u32; 3] {
    [sized, third, first].map(|context| hash(context, candidate))
}

/// Of the last symbol, the last two, the last three.
#[inline]
fn hashes([third, second, first]: [Symbol; 3]) -> [u32; 3] {
    let first = hash(ORDER_1, first);
    let second = hash(first, second);
    [first, second, hash(second, third)]
}
