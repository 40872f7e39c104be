//! What followed in a context before: the frames to ask about first.
//!
//! A table of slots, found by a context's hash. A slot keeps the last three different symbols that
//! followed, newest first, and part of the hash, so that contexts that share a slot mostly know:
//! the newer one takes it.

/// Symbols kept per context.
pub(super) const KEPT: usize = 3;

/// No symbol.
pub(super) const NONE: u32 = u32::MAX;

/// Bits of a context's hash that choose its slot; as many others are the tag.
const SLOT_BITS: u32 = 16;

/// The table.
pub(super) struct Candidates {
    slots: Box<[Slot; 1 << SLOT_BITS]>,
}

#[derive(Clone, Copy)]
struct Slot {
    tag: u16,
    symbols: [u32; KEPT],
}

/// A context as the table knows it: its slot, and what tells it from others there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextKey {
    slot: u16,
    tag: u16,
}

impl Candidates {
    pub(super) fn new() -> Self {
        let vacant = Slot { tag: 0, symbols: [NONE; KEPT] };
        let slots = vec![vacant; 1 << SLOT_BITS].into_boxed_slice();
        Self { slots: slots.try_into().unwrap_or_else(|_| unreachable!("it has so many")) }
    }

    /// Where a context's candidates are.
    #[inline]
    pub(super) fn key(hash: u32) -> ContextKey {
        ContextKey { slot: (hash >> (32 - SLOT_BITS)) as u16, tag: hash as u16 }
    }

    /// What followed, newest first; [`NONE`] where there are fewer.
    #[inline]
    pub(super) fn get(&self, key: ContextKey) -> [u32; KEPT] {
        let slot = &self.slots[usize::from(key.slot)];
        if slot.tag == key.tag { slot.symbols } else { [NONE; KEPT] }
    }

    /// What followed last; [`NONE`] if nothing is known.
    #[inline]
    pub(super) fn newest(&self, key: ContextKey) -> u32 {
        let slot = &self.slots[usize::from(key.slot)];
        if slot.tag == key.tag { slot.symbols[0] } else { NONE }
    }

    /// Makes `symbol` the newest.
    #[inline]
    pub(super) fn add(&mut self, key: ContextKey, symbol: u32) {
        let slot = &mut self.slots[usize::from(key.slot)];
        if slot.tag != key.tag {
            *slot = Slot { tag: key.tag, symbols: [NONE; KEPT] };
        }
        let [first, second, _] = slot.symbols;
        if symbol == first {
            return;
        }
        if symbol != second {
            slot.symbols[2] = second;
        }
        slot.symbols[1] = first;
        slot.symbols[0] = symbol;
    }
}

/// A hash of a context and one more thing.
#[inline]
pub(super) fn hash(context: u32, thing: u32) -> u32 {
    (context.rotate_left(5) ^ thing).wrapping_mul(0x9e37_79b1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(symbols: &[u32]) -> [u32; KEPT] {
        let mut candidates = Candidates::new();
        let key = Candidates::key(0x1234_5678);
        symbols.iter().for_each(|&symbol| candidates.add(key, symbol));
        candidates.get(key)
    }

    #[test]
    fn the_newest_come_first() {
        for (symbols, expected) in [
            (&[][..], [NONE, NONE, NONE]),
            (&[1], [1, NONE, NONE]),
            (&[1, 1], [1, NONE, NONE]),
            (&[1, 2, 3], [3, 2, 1]),
            (&[1, 2, 3, 2], [2, 3, 1]),
            (&[1, 2, 3, 1], [1, 3, 2]),
            (&[1, 2, 3, 4], [4, 3, 2]),
        ] {
            assert_eq!(after(symbols), expected);
        }
    }

    #[test]
    fn another_context_takes_the_slot() {
        let mut candidates = Candidates::new();
        let (one, other) = (Candidates::key(0x1234_0001), Candidates::key(0x1234_0002));
        candidates.add(one, 7);
        assert_eq!(candidates.get(other), [NONE; KEPT]);
        candidates.add(other, 8);
        assert_eq!(candidates.get(one), [NONE; KEPT]);
        assert_eq!(candidates.get(other), [8, NONE, NONE]);
    }
}
