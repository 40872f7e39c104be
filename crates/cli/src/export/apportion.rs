//! Whole numbers for estimates, so that they add up.
//!
//! Most formats have whole numbers only. If each estimate were rounded by itself, a thousand small
//! ones would be off by hundreds together, and none would be left of those below one half. Instead
//! all are rounded down, and what then lacks of the rounded sum goes by ones to those that lost most
//! (the method of largest remainders): no number is off by one or more, nor is their sum.

use std::cmp::Reverse;

use anyhow::{Context, bail};

/// Sums from here on have no fractions, and readers that count in doubles lose digits.
const GREATEST: f64 = (1u64 << 53) as f64;

/// Whole numbers whose sum is that of `values`, rounded; `what` they are is for the message.
///
/// # Errors
/// If they are too large.
pub fn apportion(what: &str, values: &[f64]) -> anyhow::Result<Vec<u64>> {
    let sum: f64 = values.iter().sum();
    if sum.is_nan() || sum >= GREATEST {
        bail!("{what}: {sum:e} is too large a number for this format");
    }
    let mut whole: Vec<u64> = values.iter().map(|value| value.floor() as u64).collect();
    let missing = (sum.round() as u64).saturating_sub(whole.iter().sum());
    let missing = usize::try_from(missing).context("too many values")?.min(whole.len());
    for &index in &by_loss(values)[..missing] {
        whole[index] += 1;
    }
    Ok(whole)
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

    proptest! {
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
