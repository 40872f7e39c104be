//! The normal distribution and Student's, from `statrs`.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Degrees of freedom from which Student's distribution is taken for the normal one: their 95 %
/// bounds differ by less than 0.03 % there.
const MANY: f64 = 10_000.0;

/// Probability that a statistic is at least so far from 0, on either side. `freedom` is the degrees of
/// freedom of its variance, infinite if the variance is known; less than 1 counts as 1.
pub fn two_sided_p(statistic: f64, freedom: f64) -> f64 {
    let distance = -statistic.abs();
    if distance.is_nan() {
        return 1.0;
    }
    let tail = match student(freedom) {
        Some(student) => student.cdf(distance),
        None => Normal::standard().cdf(distance),
    };
    (2.0 * tail).clamp(0.0, 1.0)
}

/// How many standard errors an estimate is from the truth at most, with probability `level` (between 0
/// and 1, both excluded).
pub fn critical(level: f64, freedom: f64) -> f64 {
    let at = 0.5 + level.clamp(1e-9, 1.0 - 1e-9) / 2.0;
    match student(freedom) {
        Some(student) => student.inverse_cdf(at),
        None => Normal::standard().inverse_cdf(at),
    }
}

/// What a normal variable does not exceed with this probability.
pub fn normal_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

/// `None` if it is the normal distribution.
fn student(freedom: f64) -> Option<StudentsT> {
    let freedom = if freedom.is_nan() { 1.0 } else { freedom.max(1.0) };
    (freedom < MANY).then(|| StudentsT::new(0.0, 1.0, freedom).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_values() {
        let check = |freedom, expected: f64| {
            let found = critical(0.95, freedom);
            assert!((found - expected).abs() < 5e-4, "{freedom}: {found}");
            assert!((two_sided_p(expected, freedom) - 0.05).abs() < 1e-4);
        };
        check(1.0, 12.7062);
        check(2.0, 4.3027);
        check(15.0, 2.1314);
        check(100.0, 1.9840);
        check(f64::INFINITY, 1.9600);
    }

    #[test]
    fn nonsense_is_no_evidence() {
        assert_eq!(two_sided_p(f64::NAN, 3.0), 1.0);
        assert_eq!(two_sided_p(0.0, f64::INFINITY), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, f64::INFINITY), 0.0);
        assert_eq!(two_sided_p(f64::INFINITY, 2.0), 0.0);
        assert_eq!(critical(0.95, f64::NAN), critical(0.95, 1.0));
    }
}
