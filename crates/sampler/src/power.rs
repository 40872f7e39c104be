//! Powers of `1 - rate`, in integers: they say what a draw is when floating point can't.

/// `(1 - rate)^exponent` in units of 2^-128, for a rate in [0, 1); rounded down, by less than 2^-64
/// for all exponents up to 2^60. 1 is taken for one unit less, and a rate below 2^-128 for one unit.
pub(crate) fn power(rate: f64, exponent: u64) -> u128 {
    let mut square = u128::MAX - units(rate).saturating_sub(1);
    let (mut result, mut left) = (u128::MAX, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        left >>= 1;
    }
    result
}

/// A number in [0, 1) in units of 2^-128, rounded down.
fn units(number: f64) -> u128 {
    let bits = number.to_bits();
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    // The mantissa's last bit is worth 2^(exponent - 1075).
    let shift = (bits >> 52) as i32 - 1075 + 128;
    match shift {
        0.. => mantissa << shift,
        -127..0 => mantissa >> -shift,
        _ => 0,
    }
}

/// The upper half of a product.
fn product(a: u128, b: u128) -> u128 {
    let half = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a, a_low), (b, b_low)) = (half(a), half(b));
    let (first, second) = (half(a * b_low), half(a_low * b));
    let carry = ((a_low * b_low) >> 64) + first.1 + second.1;
    a * b + first.0 + second.0 + (carry >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(units: u128) -> f64 {
        units as f64 / 2.0f64.powi(64) / 2.0f64.powi(64)
    }

    #[test]
    fn simple_powers_are_right_to_a_few_units() {
        let exact = [(0.5, 1, 1 << 127), (0.25, 1, 3 << 126), (0.5, 3, 1 << 125)];
        for (rate, exponent, expected) in exact.into_iter().chain([(0.25, 3, 27 << 122)]) {
            let short = expected - power(rate, exponent);
            assert!(short < 8, "{rate}^{exponent}: {short} units short");
        }
        assert_eq!(power(0.3, 0), u128::MAX);
    }

    #[test]
    fn products_carry() {
        assert_eq!(product(u128::MAX, u128::MAX), u128::MAX - 1);
        assert_eq!(product(1 << 64, 1 << 64), 1);
        assert_eq!(product((1 << 64) - 1, (1 << 64) - 1), 0);
        assert_eq!(product(u128::MAX, 1 << 127), (1 << 127) - 1);
    }

    #[test]
    fn agrees_with_floating_point() {
        for rate in [1e-18f64, 1e-9, 1.5e-5, 0.01, 0.5, 0.999] {
            for exponent in [1, 2, 3, 1000, 65_536, 1_000_003, 1 << 40] {
                let expected = (exponent as f64 * (-rate).ln_1p()).exp();
                let (found, tolerance) = (number(power(rate, exponent)), 1e-13 * expected + 1e-30);
                assert!((found - expected).abs() < tolerance, "{rate} {exponent}: {found}");
            }
        }
    }
}
