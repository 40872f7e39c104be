//! Numbers as fields of documents.

use serde::Serializer;

/// A number to three decimal places; whole ones are written as such: `64`, not `64.0`.
pub fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const GREATEST_EXACT: f64 = (1u64 << 53) as f64;
    let thousandths = value * 1e3;
    let value = if thousandths < GREATEST_EXACT { thousandths.round() / 1e3 } else { *value };
    if value.fract() == 0.0 && (0.0..=GREATEST_EXACT).contains(&value) {
        serializer.serialize_u64(value as u64)
    } else {
        serializer.serialize_f64(value)
    }
}

/// The same, or `null`.
pub fn number_or_none<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}
