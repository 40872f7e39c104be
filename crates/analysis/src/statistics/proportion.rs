//! A share, with an interval that stays honest when samples are few.
//!
//! Wilson (1927), "Probable inference, the law of succession, and statistical inference": the
//! interval of a share `s` of `n` independent blocks holds all `x` with `|s - x| <= z sqrt(x (1 -
//! x) / n)`. It lies within 0 and 1, and is wide where all or none of three blocks have the
//! property. Weighted blocks count as so many equal ones as would give the same variance (Korn and
//! Graubard 1998, "Confidence intervals for proportions with small expected number of positive
//! counts").

use super::distribution::critical;

/// An estimated share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// Between 0 and 1.
    pub value: f64,
    /// How many equal and independent blocks would tell as much; infinite if the share is exact.
    pub effective_samples: f64,
}

impl Proportion {
    /// A share whose variance was estimated. Where it is 0 or 1 no variance can be seen: there the
    /// estimate counts as if made of `samples` equal blocks.
    pub(crate) fn new(value: f64, variance: f64, samples: f64) -> Self {
        let value = value.clamp(0.0, 1.0);
        let spread = value * (1.0 - value);
        let seen = spread > 0.0 && variance > 0.0;
        Self { value, effective_samples: if seen { spread / variance } else { samples } }
    }

    /// The 95 % interval.
    pub fn interval95(&self) -> (f64, f64) {
        let z2 = critical(0.95, f64::INFINITY).powi(2);
        let n = self.effective_samples;
        if n.is_nan() || n <= 0.0 {
            return (0.0, 1.0);
        }
        let middle = (self.value + z2 / n / 2.0) / (1.0 + z2 / n);
        let spread = self.value * (1.0 - self.value) + z2 / n / 4.0;
        let half = (z2 / n * spread).sqrt() / (1.0 + z2 / n);
        ((middle - half).clamp(0.0, self.value), (middle + half).clamp(self.value, 1.0))
    }

    /// The share of the others.
    pub fn complement(self) -> Self {
        Self { value: 1.0 - self.value, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        let check = |value, n, low: f64, high: f64| {
            let interval = Proportion { value, effective_samples: n }.interval95();
            assert!((interval.0 - low).abs() < 1e-3, "{interval:?}");
            assert!((interval.1 - high).abs() < 1e-3, "{interval:?}");
        };
        // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        check(81.0 / 263.0, 263.0, 0.2553, 0.3662);
        check(15.0 / 148.0, 148.0, 0.0624, 0.1605);
        check(0.0, 20.0, 0.0, 0.1611);
        check(1.0 / 29.0, 29.0, 0.0061, 0.1718);
    }

    #[test]
    fn nothing_seen_leaves_everything_open() {
        assert_eq!(Proportion::new(0.3, 0.0, 0.0).interval95(), (0.0, 1.0));
        assert_eq!(Proportion::new(0.3, 0.0, f64::NAN).interval95(), (0.0, 1.0));
        assert_eq!(Proportion::new(0.3, 0.0, f64::INFINITY).interval95(), (0.3, 0.3));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_value(value in 0.0f64..=1.0, n in 0.01f64..1e9) {
            let (low, high) = Proportion { value, effective_samples: n }.interval95();
            prop_assert!(0.0 <= low && low <= value && value <= high && high <= 1.0);
        }
    }
}
