//! Looking at a thousand places at once.
//!
//! Of a thousand tests at 5 % fifty alarm for nothing. A corrected p-value is compared with the
//! same 5 % as a single one: [`holm`] keeps the probability of *any* false alarm below that (for a
//! gate in CI), [`benjamini_hochberg`] the expected share of false alarms among all alarms (for a
//! list to read). The second assumes tests that are independent or depend on each other positively.

/// Holm (1979), "A simple sequentially rejective multiple test procedure". No assumption on dependence.
/// A p-value that is not a number counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut corrected = vec![1.0; p_values.len()];
    let mut greatest = 0.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        greatest = greatest.max(sound(p_values[index]) * left).min(1.0);
        corrected[index] = greatest;
    }
    corrected
}

/// Benjamini and Hochberg (1995), "Controlling the false discovery rate". A p-value that is not a
/// number counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut corrected = vec![1.0; p_values.len()];
    let mut least = 1.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate().rev() {
        let share = p_values.len() as f64 / (rank + 1) as f64;
        least = least.min(sound(p_values[index]) * share);
        corrected[index] = least;
    }
    corrected
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..p_values.len()).collect();
    indices.sort_by(|&a, &b| sound(p_values[a]).total_cmp(&sound(p_values[b])));
    indices
}

fn sound(p_value: f64) -> f64 {
    if p_value.is_nan() { 1.0 } else { p_value.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(found: &[f64], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(found.len() == expected.len() && close, "{found:?}");
    }

    #[test]
    fn values_of_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), ...)
        let p_values = [0.01, 0.04, 0.03, 0.005];
        check(&holm(&p_values), &[0.03, 0.06, 0.06, 0.02]);
        check(&benjamini_hochberg(&p_values), &[0.02, 0.04, 0.04, 0.02]);
        check(&holm(&[0.02, f64::NAN]), &[0.04, 1.0]);
        check(&benjamini_hochberg(&[]), &[]);
    }

    /// Holm's procedure as he gives it: how many are rejected at this level.
    fn rejected_by_holm(p_values: &[f64], level: f64) -> usize {
        let mut sorted = p_values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let passes = |&(rank, p): &(usize, &f64)| *p <= level / (sorted.len() - rank) as f64;
        sorted.iter().enumerate().take_while(passes).count()
    }

    fn rejected_by_benjamini_hochberg(p_values: &[f64], level: f64) -> usize {
        let mut sorted = p_values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let passes = |&rank: &usize| sorted[rank - 1] <= level * rank as f64 / sorted.len() as f64;
        (1..=sorted.len()).rev().find(passes).unwrap_or(0)
    }

    proptest! {
        #[test]
        fn corrected_values_reject_as_the_procedures_do(
            p_values in prop::collection::vec(0.0f64..0.2, 1..30),
            level in 0.01f64..0.2,
        ) {
            let count = |corrected: Vec<f64>| corrected.iter().filter(|p| **p <= level).count();
            prop_assert_eq!(count(holm(&p_values)), rejected_by_holm(&p_values, level));
            let found = count(benjamini_hochberg(&p_values));
            prop_assert_eq!(found, rejected_by_benjamini_hochberg(&p_values, level));
        }
    }
}
