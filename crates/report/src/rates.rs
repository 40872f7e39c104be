//! Rates of sampling, in few words.

/// Four significant digits, and no more zeros than needed.
pub fn short_rate(rate: f64) -> String {
    let text = format!("{rate:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if exponent == "0" { digits.to_owned() } else { format!("{digits}e{exponent}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        assert_eq!(short_rate(1e-4), "1e-4");
        assert_eq!(short_rate(1.0 / 65_536.0), "1.526e-5");
        assert_eq!(short_rate(0.5), "5e-1");
        assert_eq!(short_rate(1.0), "1");
    }
}
