//! How likely a block is to be sampled.

/// The chance of what consists of several units (bytes, or words), of which each is hit independently with
/// the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// Logarithm of the probability that a unit is not hit.
    ln_miss: f64,
}

impl Chance {
    /// Of units that are hit with the probability `rate`. Unless it is in (0, 1], it is taken as 1.
    pub fn per_unit(rate: f64) -> Self {
        let is_rate = rate > 0.0 && rate <= 1.0;
        Self { ln_miss: (if is_rate { -rate } else { -1.0 }).ln_1p() }
    }

    /// The probability that at least one of so many units is hit, 1 or more: `1 - (1 - rate)^units`, by way
    /// of logarithms so that the smallest rates keep all their digits.
    pub fn any_of(self, units: f64) -> f64 {
        -(units * self.ln_miss).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        assert!((Chance::per_unit(0.25).any_of(8.0) - (1.0 - 0.75_f64.powi(8))).abs() < 1e-15);
        assert!((Chance::per_unit(1e-300).any_of(8.0) / 8e-300 - 1.0).abs() < 1e-8);
        assert_eq!(Chance::per_unit(0.1).any_of(1e12), 1.0);
        assert_eq!(Chance::per_unit(1.0).any_of(1.0), 1.0);
        assert_eq!([0.0, f64::NAN, 2.0].map(|it| Chance::per_unit(it).any_of(1.0)), [1.0; 3]);
    }
}
