//! Whole numbers for estimates, so that they add up.
//!
//! Most formats have whole numbers only. If each estimate were rounded by itself, a thousand small
//! ones would be off by hundreds together, and none would be left of those below one half. Instead
//! all are rounded down, and what then lacks of the rounded sum goes by ones to those that lost most
//! (the method of largest remainders): no number is off by one or more, nor is their sum.

use std::cmp::Reverse;

/// Readers have signed numbers. From 2^53 on a double has no fractions, and sums are rounded themselves.
const GREATEST: f64 = i64::MAX as f64;

/// A sum that no reader takes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what}: {sum:e} is too large a number for this format")]
pub struct TooLarge {
    what: String,
    sum: f64,
}

/// Whole numbers whose sum is that of `values`, rounded; `what` they are is for the message.
///
/// # Errors
/// [`TooLarge`].
pub fn apportion(what: &str, values: &[f64]) -> Result<Vec<u64>, TooLarge> {
    let sum: f64 = values.iter().sum();
    if sum.is_nan() || sum >= GREATEST {
        return Err(TooLarge { what: what.to_owned(), sum });
    }
    let mut whole: Vec<u64> = values.iter().map(|value| value.floor() as u64).collect();
    let missing = (sum.round() as u64).saturating_sub(whole.iter().sum());
    let missing = missing.min(whole.len() as u64) as usize;
    for &index in &by_loss(values)[..missing] {
        whole[index] += 1;
    }
    Ok(whole)
}

/// Whole numbers for values that come one after the other: what one is rounded off is added to the next, so that the
/// sum of all so far is never off by more than one half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carry(f64);

impl Carry {
    /// A whole number for `value`, which is not negative.
    pub fn round(&mut self, value: f64) -> i64 {
        let exact = value + self.0;
        let whole = exact.round().max(0.0);
        self.0 = exact - whole;
        whole as i64
    }
}

/// Their places, those first that lose most by being rounded down; of equals the first.
fn by_loss(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    // A fraction that is not negative has the order of its bits.
    places.sort_by_key(|&index| Reverse(values[index].fract().to_bits()));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(values: &[f64], expected: &[u64]) {
        assert_eq!(apportion("x", values).unwrap(), expected);
    }

    #[test]
    fn largest_remainders() {
        check(&[], &[]);
        check(&[1.0, 2.0], &[1, 2]);
        check(&[0.4, 0.4, 0.4], &[1, 0, 0]);
        check(&[0.3, 0.4, 0.3], &[0, 1, 0]);
        check(&[1.5, 1.5, 10.9, 0.1], &[2, 1, 11, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for values in [[1e300, 1.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0], [GREATEST, 1.0]] {
            let refused = apportion("bytes allocated", &values).unwrap_err().to_string();
            assert!(refused.starts_with("bytes allocated: "), "{refused}");
        }
    }

    #[test]
    fn carrying() {
        let mut carry = Carry::default();
        let rounded: Vec<i64> = [0.3, 0.3, 0.3, 0.3, 10.8].map(|value| carry.round(value)).into();
        assert_eq!(rounded, [0, 1, 0, 0, 11]);
    }

    proptest! {
        #[test]
        fn sums_are_carried(values in prop::collection::vec(0.0..1e6f64, 0..2000)) {
            let (mut carry, mut whole, mut exact) = (Carry::default(), 0, 0.0);
            for value in values {
                let rounded = carry.round(value);
                prop_assert!(rounded >= 0);
                (whole, exact) = (whole + rounded, exact + value);
                prop_assert!((whole as f64 - exact).abs() <= 0.5 + 1e-6);
            }
        }

        #[test]
        fn nothing_is_off_by_one(values in prop::collection::vec(0.0..1e6f64, 0..2000)) {
            let whole = apportion("x", &values).unwrap();
            let sum: f64 = values.iter().sum();
            prop_assert!((whole.iter().sum::<u64>() as f64 - sum).abs() <= 0.5 + 1e-6);
            for (value, whole) in values.iter().zip(&whole) {
                prop_assert!((value - *whole as f64).abs() < 1.0);
            }
        }
    }
}
