//! What sampled blocks stand for, with all that later variances need.
//!
//! A block that is included with probability `p` stands for `1 / p` blocks like it. Its *weight* is
//! `y / p`, with `y` its bytes or 1. Kept are the sums of the weights, of their squares (what the
//! variance of a sum is if the blocks themselves are an independent draw), and of their sampling
//! variances `(1 - p) y^2 / p^2`, which are smaller: a block that is always included adds none.

use std::ops::AddAssign;

use crate::estimate::{Amount, Estimate};
use crate::fixed::Fixed;

/// What blocks are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A block counts for its length.
    Bytes,
    /// A block counts for one.
    Objects,
}

/// Sums over blocks, in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    weight: Fixed,
    squares: Fixed,
    variance: Fixed,
}

impl Sums {
    /// Those of one block, which stands for so much.
    pub fn of_block(estimate: &Estimate) -> Self {
        Self {
            weight: Fixed::from_f64(estimate.value),
            squares: Fixed::from_f64(estimate.value * estimate.value),
            variance: Fixed::from_f64(estimate.variance),
        }
    }

    /// What the blocks stand for.
    pub fn weight(&self) -> f64 {
        self.weight.to_f64()
    }

    /// The sum of the squares of what each stands for: the variance of the process.
    pub fn squares(&self) -> f64 {
        self.squares.to_f64()
    }

    /// The variance that is due to sampling alone.
    pub fn variance(&self) -> f64 {
        self.variance.to_f64()
    }

    /// What the blocks stand for, with the error of sampling.
    pub fn estimate(&self) -> Estimate {
        Estimate::new(self.weight(), self.variance())
    }
}

impl AddAssign<&Sums> for Sums {
    fn add_assign(&mut self, other: &Sums) {
        self.weight += other.weight;
        self.squares += other.squares;
        self.variance += other.variance;
    }
}

/// Sums over blocks, in both units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mass {
    blocks: u64,
    bytes: Sums,
    objects: Sums,
}

impl Mass {
    /// That of one sampled block, which stands for this amount.
    pub fn of_block(amount: &Amount) -> Self {
        Self {
            blocks: amount.samples,
            bytes: Sums::of_block(&amount.bytes),
            objects: Sums::of_block(&amount.objects),
        }
    }

    /// How many sampled blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The sums in one unit.
    pub fn sums(&self, unit: Unit) -> &Sums {
        match unit {
            Unit::Bytes => &self.bytes,
            Unit::Objects => &self.objects,
        }
    }

    /// What the blocks stand for, with the error of sampling.
    pub fn amount(&self) -> Amount {
        Amount {
            samples: self.blocks,
            bytes: self.bytes.estimate(),
            objects: self.objects.estimate(),
        }
    }
}

impl AddAssign<&Mass> for Mass {
    fn add_assign(&mut self, other: &Mass) {
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.bytes += &other.bytes;
        self.objects += &other.objects;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_its_blocks() {
        let block = |value, variance| Estimate::new(value, variance);
        let mut sums = Sums::of_block(&block(10.0, 60.0));
        sums += &Sums::of_block(&block(3.0, 0.0));
        assert_eq!((sums.weight(), sums.squares(), sums.variance()), (13.0, 109.0, 60.0));
        assert_eq!(sums.estimate(), block(13.0, 60.0));
    }

    #[test]
    fn added_words_are_bytes_without_an_object() {
        let amount =
            Amount { samples: 1, bytes: Estimate::new(64.0, 8.0), objects: Estimate::default() };
        let mass = Mass::of_block(&amount);
        assert_eq!(mass.amount(), amount);
        assert_eq!(mass.sums(Unit::Objects), &Sums::default());
        assert_eq!((mass.blocks(), mass.sums(Unit::Bytes).squares()), (1, 4096.0));
    }
}
