//! How densely to sample, as people type it.

use std::hash::{BuildHasher, RandomState};

use lifetrace_recorder::Rate;

use super::quantity;

/// A mean distance between samples: a whole number of bytes, with a unit if need be.
pub(super) fn interval(text: &str) -> Result<Rate, String> {
    let bytes = quantity::bytes(text)?;
    Rate::from_interval(bytes).ok_or_else(|| "must be at least 1 byte".to_owned())
}

/// A probability per byte.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let probability: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Rate::from_probability_per_byte(probability)
        .ok_or_else(|| "not a probability above 0 and at most 1".to_owned())
}

/// Different at each call.
pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        let check = |text: &str, bytes: u64| {
            assert_eq!(interval(text), Ok(Rate::from_interval(bytes).unwrap()), "{text}");
        };
        check("1", 1);
        check("4096", 4096);
        check("4096B", 4096);
        check("512KiB", 512 << 10);
        check("512 KiB", 512 << 10);
        check("512k", 512 << 10);
        check("512kb", 512_000);
        check("0.5M", 512 << 10);
        check("1.5KiB", 1536);
        check("1MB", 1_000_000);
        check("2GiB", 2 << 30);
        check("3.0", 3);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn intervals_that_make_no_sense() {
        for text in [
            "",
            "0",
            "0KiB",
            "-1",
            "-1KiB",
            "3.5",
            "0.3KiB",
            "potato",
            "KiB",
            "1e3",
            "1 2",
            "1TiBs",
            "NaN",
            "inf",
            ".",
            "1.2.3",
            "18446744073709551616",
            "99999999999GiB",
            "１",
            "1.00000000000000000000000000000000000000000000",
        ] {
            assert!(interval(text).is_err(), "{text:?}: {:?}", interval(text));
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("1"), Ok(Rate::EXACT));
        assert_eq!(rate("0.25"), Ok(Rate::from_interval(4).unwrap()));
        assert_eq!(rate("1e-5"), Ok(Rate::from_probability_per_byte(1e-5).unwrap()));
        for text in ["", "0", "-0.0", "-1", "1.0001", "3.5", "NaN", "inf", "potato", "1KiB"] {
            assert!(rate(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(random_seed(), random_seed());
    }
}
