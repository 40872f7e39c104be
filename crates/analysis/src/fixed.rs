//! Sums that come back to where they were.
//!
//! Floating-point sums depend on their order: after a million additions and the same million
//! subtractions something is left. Here a number has 32 binary places in a `u128`, so adding and
//! removing are exact. Only the conversion from `f64` rounds (by less than 2^-32), and the same
//! block is always rounded to the same number. Sums saturate instead of overflowing.

use std::ops::{AddAssign, SubAssign};

const ONE: f64 = (1u64 << 32) as f64;

/// A number that is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fixed(u128);

impl Fixed {
    /// Negative numbers and NaN become 0, numbers of 2^96 and more the greatest one.
    pub(crate) fn from_f64(value: f64) -> Self {
        Self((value * ONE) as u128)
    }

    pub(crate) fn to_f64(self) -> f64 {
        self.0 as f64 / ONE
    }
}

impl AddAssign for Fixed {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl SubAssign for Fixed {
    fn sub_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_sub(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_removing_in_another_order_leaves_nothing() {
        let values: Vec<f64> = (1..1000).map(|n| 1e9 / f64::from(n)).collect();
        let mut sum = Fixed::default();
        values.iter().for_each(|&value| sum += Fixed::from_f64(value));
        values.iter().rev().for_each(|&value| sum -= Fixed::from_f64(value));
        assert_eq!(sum, Fixed::default());
    }

    #[test]
    fn whole_numbers_stay_whole() {
        let mut sum = Fixed::from_f64(9_007_199_254_740_991.0);
        sum -= Fixed::from_f64(1.0);
        assert_eq!(sum.to_f64(), 9_007_199_254_740_990.0);
    }

    #[test]
    fn nonsense_saturates() {
        assert_eq!(Fixed::from_f64(f64::NAN), Fixed::default());
        assert_eq!(Fixed::from_f64(-1.0), Fixed::default());
        let mut greatest = Fixed::from_f64(f64::INFINITY);
        greatest += Fixed::from_f64(1.0);
        assert_eq!(greatest, Fixed(u128::MAX));
    }
}
