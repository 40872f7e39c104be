//! Sampled blocks by backtrace and size: how many there have been, and how many have died.
//!
//! Raw numbers, from which estimates are made elsewhere. What a sampled block stands for depends on its
//! size, so blocks of different sizes must not be added up. But a program may ask for a
//! million different sizes from one place; so blocks are in *classes*: up to 128 words each number
//! of words is one, beyond there are 64 for each power of two. Within a class the mean size stands for all,
//! which makes an estimate wrong by less than a ten-thousandth, far below the noise of sampling.

use lifetrace_trace::call_tree::NodeId;
use lifetrace_trace::event::Source;
use lifetrace_trace::ids::Size;
use rustc_hash::FxHashMap;

use crate::samplers::WORD_BITS;

/// So many blocks, of so many bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Blocks.
    pub blocks: u64,
    /// Bytes as the program asked for them; of a managed heap, without headers.
    pub bytes: u64,
}

impl Sum {
    /// One more block.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.blocks += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// What has been added since `earlier`.
    pub(crate) fn since(self, earlier: Sum) -> Sum {
        Sum {
            blocks: self.blocks.saturating_sub(earlier.blocks),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

/// What tells kinds of blocks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    /// Of the tree.
    pub(crate) node: NodeId,
    pub(crate) source: Source,
    /// Whether these are bytes that were added to blocks.
    pub(crate) is_growth: bool,
    /// Place in the list of samplers, which has one twice whose rate has changed.
    pub(crate) sampler: u8,
    class: u16,
}

/// Blocks of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    pub(crate) allocated: Sum,
    pub(crate) freed: Sum,
    /// What those that live take, in bytes: as they were measured last, or at their births.
    pub(crate) taken: u64,
}

/// Sampled blocks by backtrace and class. Grows with the distinct backtraces, times the classes that are allocated
/// there.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) all: Vec<(Kind, Balance)>,
    places: FxHashMap<Kind, u32>,
}

impl Kind {
    pub(crate) fn new(
        node: NodeId,
        source: Source,
        is_growth: bool,
        sampler: u8,
        size: Size,
    ) -> Kind {
        Kind { node, source, is_growth, sampler, class: class(size.words(WORD_BITS).0) }
    }
}

impl Kinds {
    /// Counts a block, and says where it is to be freed.
    pub(crate) fn allocate(&mut self, kind: Kind, bytes: u64) -> u32 {
        let place = *self.places.entry(kind).or_insert_with(|| {
            self.all.push((kind, Balance::default()));
            self.all.len() as u32 - 1
        });
        let balance = &mut self.all[place as usize].1;
        balance.allocated.add(bytes);
        balance.taken = balance.taken.saturating_add(bytes);
        place
    }

    /// Counts a death of a block that has taken so much in the end.
    pub(crate) fn free(&mut self, place: u32, bytes: u64, taken: u64) {
        let balance = &mut self.all[place as usize].1;
        balance.freed.add(bytes);
        balance.taken = balance.taken.saturating_sub(taken);
    }

    /// What took so much before takes so much now.
    pub(crate) fn measure(&mut self, place: u32, before: u64, now: u64) {
        let taken = &mut self.all[place as usize].1.taken;
        *taken = taken.saturating_sub(before).saturating_add(now);
    }
}

const EXACT_BITS: u32 = 7;
const FRACTION_BITS: u32 = 6;

fn class(words: u64) -> u16 {
    match words.checked_ilog2() {
        Some(bits @ EXACT_BITS..) => {
            let fraction = (words >> (bits - FRACTION_BITS)) & ((1 << FRACTION_BITS) - 1);
            (1 << EXACT_BITS) + ((bits - EXACT_BITS) << FRACTION_BITS) as u16 + fraction as u16
        }
        _ => words as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_blocks_have_a_class_for_each_size() {
        for words in 0..256 {
            assert_eq!(
                class(words),
                if words < 128 { words as u16 } else { 64 + words as u16 / 2 }
            );
        }
    }

    #[test]
    fn the_largest_has_one() {
        assert_eq!(class(u64::MAX), 128 + 57 * 64 - 1);
    }

    proptest! {
        #[test]
        fn classes_are_in_order_and_narrow(bits in 0u32..63, word: u64, other: u64) {
            let (a, b) = (word >> bits, other >> bits);
            prop_assert!(class(a.min(b)) <= class(a.max(b)));
            if class(a) == class(b) {
                prop_assert!(a.abs_diff(b) as f64 <= a as f64 / 64.0);
            }
        }
    }
}
