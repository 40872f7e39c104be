//! How large blocks are: a class for each power of two.

use crate::estimate::{Amount, Tally};
use crate::history::Block;
use crate::replay::{Death, Observer};

/// Observes sizes.
#[derive(Clone, Debug)]
pub struct Sizes {
    classes: [Sums; 65],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    allocated: Tally,
    live: Tally,
}

/// Blocks of similar size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeClass {
    /// The smallest, in bytes.
    pub least: u64,
    /// The largest, in bytes.
    pub most: u64,
    /// All that were allocated.
    pub allocated: Amount,
    /// What of them lives at the end.
    pub live: Amount,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { classes: [Sums::default(); 65] }
    }
}

impl Sizes {
    /// All classes from the first that has blocks to the last, by size. What reallocations added to
    /// blocks is in the classes of what was added.
    pub fn report(&self) -> Vec<SizeClass> {
        let is_used = |sums: &Sums| !sums.allocated.is_empty();
        let first = self.classes.iter().position(is_used).unwrap_or(self.classes.len());
        let last = self.classes.iter().rposition(is_used).map_or(first, |last| last + 1);
        let class = |number: usize| {
            let (sums, (least, most)) = (&self.classes[number], bounds(number));
            let (allocated, live) = (sums.allocated.amount(), sums.live.amount());
            SizeClass { least, most, allocated, live }
        };
        (first..last).map(class).collect()
    }

    fn of(&mut self, block: &Block) -> &mut Sums {
        &mut self.classes[number(block.bytes)]
    }
}

impl Observer for Sizes {
    fn born(&mut self, block: &Block) {
        let tally = block.tally();
        let sums = self.of(block);
        sums.allocated += &tally;
        sums.live += &tally;
    }

    fn died(&mut self, block: &Block, _death: Death) {
        let tally = block.tally();
        self.of(block).live -= &tally;
    }
}

/// 0 for empty blocks, 1 for one byte, 2 for two bytes, 3 for 3 or 4, 4 for 5 to 8...
fn number(bytes: u64) -> usize {
    bytes.checked_sub(1).map_or(0, |below| 1 + (u64::BITS - below.leading_zeros()) as usize)
}

fn bounds(number: usize) -> (u64, u64) {
    match number {
        0 => (0, 0),
        1 => (1, 1),
        _ => {
            let half = 1_u64 << (number - 2);
            (half + 1, half.saturating_mul(2))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_say() {
        for bytes in (0..5000).chain([u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX / 2 + 2, u64::MAX]) {
            let (least, most) = bounds(number(bytes));
            assert!((least..=most).contains(&bytes), "{bytes}: {least} to {most}");
        }
        for number in 1..64 {
            assert_eq!(bounds(number).1 + 1, bounds(number + 1).0);
        }
    }
}
