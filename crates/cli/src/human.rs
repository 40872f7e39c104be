//! Numbers for people: sizes in binary units, estimates with as many digits as they deserve.
//!
//! An estimate is rounded to two significant digits of its 95 % interval, since further ones are
//! noise: `412.3 ± 9.1 MiB`. Sizes that are exact have all their digits.

use std::borrow::Cow;
use std::time::Duration;

use lifetrace_analysis::{Amount, Estimate, Sampling};

const KIB: f64 = 1024.0;
const BYTE_UNITS: [(f64, &str); 6] = [
    (1.0, " B"),
    (KIB, " KiB"),
    (KIB * KIB, " MiB"),
    (KIB * KIB * KIB, " GiB"),
    (KIB * KIB * KIB * KIB, " TiB"),
    (KIB * KIB * KIB * KIB * KIB, " PiB"),
];

/// Counts are written out up to ten million.
const COUNT_UNITS: [(f64, &str); 3] = [(1.0, ""), (1e6, " million"), (1e9, " billion")];
const COUNT_STEP: f64 = 10.0;

/// The 95 % quantile of the number of hits missed before the first: none in so many intervals.
const NONE_IN_INTERVALS: f64 = 2.995_732_273_553_991;

/// A size: `411 MiB`.
pub fn bytes(value: f64) -> String {
    let (scale, unit) = unit(value, &BYTE_UNITS, 1.0);
    let scaled = value / scale;
    let decimals =
        if scale == 1.0 || scaled.fract() == 0.0 { 0 } else { decimals(scaled, 3).max(0) };
    format!("{}{unit}", rounded(scaled, decimals))
}

/// A size with all its digits: `431,012,352 B`.
pub fn exact_bytes(value: f64) -> String {
    format!("{} B", rounded(value, 0))
}

/// A number of things: `1,234,567`, `23.5 million`.
pub fn count(value: f64) -> String {
    let (scale, unit) = unit(value, &COUNT_UNITS, COUNT_STEP);
    let decimals = if scale == 1.0 { 0 } else { decimals(value / scale, 3).max(0) };
    format!("{}{unit}", rounded(value / scale, decimals))
}

/// An estimated size with its 95 % interval: `412.3 ± 9.1 MiB`.
pub fn estimate(estimate: &Estimate) -> String {
    let unit = unit(estimate.value.max(estimate.interval95()), &BYTE_UNITS, 1.0);
    with_interval(estimate, unit).unwrap_or_else(|| bytes(estimate.value))
}

/// An estimated amount of memory times time with its 95 % interval: `4.2 ± 0.3 GiB·s`.
pub fn byte_seconds(estimate: &Estimate) -> String {
    self::estimate(estimate) + "·s"
}

/// An estimated number of objects with its 95 % interval: `12,300 ± 400`.
pub fn objects(estimate: &Estimate) -> String {
    let unit = unit(estimate.value.max(estimate.interval95()), &COUNT_UNITS, COUNT_STEP);
    with_interval(estimate, unit).unwrap_or_else(|| count(estimate.value))
}

/// The bytes of an amount, or the bound below which they are if no sample was met.
pub fn amount(amount: &Amount, sampling: &Sampling) -> String {
    if amount.samples == 0 && !sampling.is_exact() {
        none_sampled(sampling)
    } else {
        estimate(&amount.bytes)
    }
}

/// What can be said when nothing was sampled: with 95 % confidence there was less than this.
pub fn none_sampled(sampling: &Sampling) -> String {
    format!("none sampled, < {}", bytes(NONE_IN_INTERVALS * sampling.interval_bytes()))
}

/// A share between 0 and 1: `34.2 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A span of time: `812 ms`, `3.21 s`, `2 min 3 s`, `26 h 4 min`.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!(
            "{} ms",
            rounded(span.as_secs_f64() * 1e3, decimals(span.as_secs_f64() * 1e3, 3))
        ),
        1..60 => format!("{:.2} s", span.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `text` in one line, without characters that could drive a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Nothing if the interval is too small to be seen.
fn with_interval(estimate: &Estimate, (scale, unit): (f64, &str)) -> Option<String> {
    let (value, interval) = (estimate.value / scale, estimate.interval95() / scale);
    let decimals = decimals(interval, 2);
    let is_seen = interval * 10f64.powi(decimals) >= 0.5;
    is_seen.then(|| format!("{} ± {}{unit}", rounded(value, decimals), rounded(interval, decimals)))
}

/// The greatest unit of which `value` is at least `step`.
fn unit(value: f64, units: &[(f64, &'static str)], step: f64) -> (f64, &'static str) {
    let fits = |&&(scale, _): &&(f64, &'static str)| value >= scale * step;
    units.iter().rev().find(fits).copied().unwrap_or(units[0])
}

/// Decimal places that leave so many significant digits; negative for tens and hundreds.
fn decimals(value: f64, significant: i32) -> i32 {
    if value > 0.0 { (significant - 1 - value.log10().floor() as i32).min(3) } else { 0 }
}

/// With so many decimal places, and thousands separated.
fn rounded(value: f64, decimals: i32) -> String {
    let step = 10f64.powi(-decimals.min(0));
    let text = format!(
        "{:.*}",
        decimals.max(0) as usize,
        if decimals < 0 { (value / step).round() * step } else { value }
    );
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    separated(whole) + fraction
}

fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimated(value: f64, interval: f64) -> Estimate {
        Estimate { value, uncertain: 0.0, variance: (interval / 1.959_963_984_540_054).powi(2) }
    }

    #[test]
    fn sizes() {
        let check = |value, expected| assert_eq!(bytes(value), expected);
        check(0.0, "0 B");
        check(1023.0, "1,023 B");
        check(524_288.0, "512 KiB");
        check(80_000.0, "78.1 KiB");
        check(1e9, "954 MiB");
        check(1023.4 * KIB, "1,023 KiB");
        check(1.5 * KIB * KIB * KIB, "1.50 GiB");
        check(1e30, "888,178,419,700,125 PiB");
        assert_eq!(exact_bytes(431_012_352.0), "431,012,352 B");
        assert_eq!(exact_bytes(12.0), "12 B");
    }

    #[test]
    fn an_estimate_has_the_digits_it_deserves() {
        let mib = KIB * KIB;
        let check =
            |value, interval, expected| assert_eq!(estimate(&estimated(value, interval)), expected);
        check(412.34 * mib, 9.1 * mib, "412.3 ± 9.1 MiB");
        check(412.34 * mib, 91.0 * mib, "412 ± 91 MiB");
        check(1000.34 * mib, 912.0 * mib, "1,000 ± 910 MiB");
        check(2.0 * mib, 1e-3 * mib, "2.000 ± 0.001 MiB");
        check(2.0 * mib, 100.0, "2 MiB");
        check(300.0 * KIB, 1.2 * mib, "0.3 ± 1.2 MiB");
        check(2048.0, 0.0, "2 KiB");
    }

    #[test]
    fn counts() {
        let check =
            |value, interval, expected| assert_eq!(objects(&estimated(value, interval)), expected);
        check(1_234_567.0, 0.0, "1,234,567");
        check(23_456_789.0, 0.0, "23.5 million");
        check(123_456.0, 1_234.0, "123,500 ± 1,200");
        check(23_456_789.0, 123_456.0, "23.46 ± 0.12 million");
        check(3.0, 5.6, "3.0 ± 5.6");
    }

    #[test]
    fn nothing_sampled_is_not_nothing() {
        let info = lifetrace_trace::event::TraceInfo {
            sample_rate: 1.0 / 65_536.0,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: lifetrace_trace::ids::Timestamp(0),
            initial_domain: lifetrace_trace::ids::DomainId(0),
            context: None,
        };
        let sampling = Sampling::new(&info).unwrap();
        assert_eq!(amount(&Amount::default(), &sampling), "none sampled, < 1.50 MiB");
        let exact =
            Sampling::new(&lifetrace_trace::event::TraceInfo { sample_rate: 1.0, ..info }).unwrap();
        assert_eq!(amount(&Amount::default(), &exact), "0 B");
    }

    #[test]
    fn spans() {
        let check =
            |millis, expected| assert_eq!(duration(Duration::from_millis(millis)), expected);
        check(0, "0 ms");
        check(7, "7.00 ms");
        check(812, "812 ms");
        check(59_994, "59.99 s");
        check(123_456, "2 min 3 s");
        check(26 * 3_600_000 + 245_000, "26 h 4 min");
    }

    #[test]
    fn terminals_are_not_driven() {
        assert_eq!(printable("a\x1b[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
        assert_eq!(printable("Ünïcode"), "Ünïcode");
    }
}
