//! Amounts as a page says them.

use std::time::Duration;

use lifetrace_analysis::{Amount, Estimate, Interval, Sampling};
use lifetrace_human as human;

use crate::rows::Movement;

/// 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// Bytes of some blocks, if any of them was sampled.
pub fn bytes(amount: &Amount, sampling: &Sampling) -> String {
    match amount.samples {
        0 if !sampling.hears_all() => "none heard".to_owned(),
        0 if !sampling.is_exact() => "none sampled".to_owned(),
        _ => human::estimate(&amount.bytes),
    }
}

/// By how much there is more: `+8.2 ± 0.9 MiB`, or `within ±310 KiB` of no change where that is not sure.
pub fn change(movement: &Movement) -> String {
    scaled_change(movement, 1.0)
}

/// By how much there is more in a minute, as [`change`] says it.
pub fn change_per_minute(movement: &Movement) -> String {
    match movement.span.is_zero() {
        true => String::new(),
        false => scaled_change(movement, movement.per_minute(1.0)),
    }
}

fn scaled_change(movement: &Movement, scale: f64) -> String {
    if movement.is_still() {
        return "0".to_owned();
    }
    let Interval { low, high } = movement.interval();
    let (value, low, high) = (movement.change() * scale, low * scale, high * scale);
    let half = (high - low) / 2.0;
    if high > low && ((low <= 0.0 && high >= 0.0) || half >= value.abs()) {
        return format!("within ±{}", bound(high.max(-low)));
    }
    let variance = (half / Z95).powi(2);
    let text = human::estimate(&Estimate { value: value.abs(), variance, uncertain: 0.0 });
    format!("{}{text}", if value < 0.0 { '−' } else { '+' })
}

/// A bound, rounded up to two digits.
fn bound(bytes: f64) -> String {
    let unit = 1024f64.powf((bytes.max(1.0).log2() / 10.0).floor());
    let scaled = bytes / unit;
    let step = 10f64.powf(scaled.max(1.0).log10().floor() - 1.0);
    let text = human::bytes((scaled / step).ceil() * step * unit);
    match text.split_once(' ') {
        Some((digits, name)) if digits.contains('.') => {
            format!("{} {name}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// What is allocated a second.
pub fn rate(movement: &Movement) -> String {
    match movement.allocated.samples {
        0 => "none sampled".to_owned(),
        _ => format!("{}/s", human::estimate(&movement.rate())),
    }
}

/// A span of whole seconds: `34 s`, `2 min 3 s`.
pub fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => human::duration(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_two_digits() {
        const MIB: f64 = 1024.0 * 1024.0;
        let check = |bytes, expected| assert_eq!(bound(bytes), expected);
        check(8.53 * MIB, "8.6 MiB");
        check(11.2 * MIB, "12 MiB");
        check(311.0 * 1024.0, "320 KiB");
        check(1.0 * MIB, "1 MiB");
        check(700.0, "700 B");
    }
}
