//! Spans of time that need not be exact: two digits, from microseconds to years.

use lifetrace_analysis::statistics::Quantile;
use lifetrace_analysis::statistics::growth::Fill;

use super::{decimals, rounded};

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;
const YEAR: f64 = 365.25 * DAY;

/// Seconds of each unit, and from how many seconds on it is used.
const UNITS: [(f64, f64, &str); 7] = [
    (YEAR, 2.0 * YEAR, " years"),
    (DAY, 2.0 * DAY, " days"),
    (HOUR, HOUR, " h"),
    (MINUTE, 2.0 * MINUTE, " min"),
    (1.0, 1.0, " s"),
    (1e-3, 1e-3, " ms"),
    (1e-6, 0.0, " µs"),
];

/// Nobody plans further ahead.
const LONG: f64 = 100.0 * YEAR;

/// A span of time: `120 µs`, `3.2 ms`, `45 s`, `12 min`, `3.1 h`, `20 days`, `3.2 years`.
pub fn about(seconds: f64) -> String {
    if seconds >= LONG {
        return "more than 100 years".to_owned();
    }
    // What is rounded up to the next unit is written in it.
    let unit = UNITS.iter().find(|&&(_, from, _)| seconds >= 0.995 * from);
    let (scale, _, name) = unit.copied().unwrap_or(UNITS[UNITS.len() - 1]);
    let scaled = seconds / scale;
    // Hundreds keep their tens: 120 µs.
    let places = if scaled >= 100.0 { -1 } else { decimals(scaled.max(1.0), 2).max(0) };
    // There is nothing between two microseconds.
    let places = if scale == 1e-6 { places.min(0) } else { places };
    format!("{}{name}", rounded(scaled, places))
}

/// A lifetime in microseconds; what is shorter than the clock's ticks is no false 0.
pub fn lifetime(micros: f64) -> String {
    if micros < 1.0 { "< 1 µs".to_owned() } else { about(micros * 1e-6) }
}

/// The lifetime of a part of all blocks, with its interval: `120 µs (100–150 µs)`.
pub fn quantile(quantile: &Quantile) -> String {
    let [value, low, high] =
        [Some(quantile.value), quantile.low, quantile.high].map(|end| end.map(lifetime));
    let value = value.unwrap_or_default();
    match (low, high) {
        (Some(low), Some(high)) if low == value && high == value => value,
        (Some(low), Some(high)) => format!("{value} ({})", range(&low, &high)),
        (Some(low), None) => format!("{value} ({low} or more)"),
        (None, Some(high)) => format!("{value} ({high} or less)"),
        (None, None) => format!("perhaps {value}"),
    }
}

/// `18–22 days`, `90 min – 3.1 h`.
fn range(low: &str, high: &str) -> String {
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match low.split_once(' ') {
        Some((digits, low_unit)) if Some(low_unit) == unit(high).as_deref() => {
            format!("{digits}–{high}")
        }
        _ => format!("{low} – {high}"),
    }
}

/// When something is full: `in 20 days (18–22 days)`; nothing if never.
pub fn fill(fill: &Fill) -> Option<String> {
    let hours = |hours: f64| about(hours * HOUR);
    let when = hours(fill.hours?);
    Some(match (fill.earliest.map(hours), fill.latest.map(hours)) {
        (Some(low), Some(high)) if low == when && high == when => format!("in {when}"),
        (Some(low), Some(high)) => format!("in {when} ({})", range(&low, &high)),
        (Some(low), None) => format!("in {when} ({low} at the earliest, perhaps never)"),
        (None, _) => format!("in {when}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |seconds, expected| assert_eq!(about(seconds), expected);
        check(0.0, "0 µs");
        check(1e-6, "1 µs");
        check(123e-6, "120 µs");
        check(999e-6, "1.0 ms");
        check(3.21e-3, "3.2 ms");
        check(0.5, "500 ms");
        check(1.24, "1.2 s");
        check(100.0, "100 s");
        check(7.4 * MINUTE, "7.4 min");
        check(90.0 * MINUTE, "1.5 h");
        check(47.0 * HOUR, "47 h");
        check(20.3 * DAY, "20 days");
        check(700.0 * DAY, "700 days");
        check(3.24 * YEAR, "3.2 years");
        check(1e12, "more than 100 years");
        check(f64::INFINITY, "more than 100 years");
        assert_eq!((lifetime(0.0), lifetime(7.0)), ("< 1 µs".to_owned(), "7 µs".to_owned()));
    }

    #[test]
    fn quantiles_say_how_far_they_are_known() {
        let check = |low, high, expected: &str| {
            assert_eq!(quantile(&Quantile { value: 120.0, low, high }), expected);
        };
        check(Some(100.0), Some(2000.0), "120 µs (100 µs – 2.0 ms)");
        check(Some(100.0), Some(150.0), "120 µs (100–150 µs)");
        check(Some(120.0), Some(120.0), "120 µs");
        check(Some(100.0), None, "120 µs (100 µs or more)");
        check(None, Some(150.0), "120 µs (150 µs or less)");
        check(None, None, "perhaps 120 µs");
    }

    #[test]
    fn what_may_never_be_full_says_so() {
        let check = |hours, earliest, latest, expected: Option<&str>| {
            assert_eq!(fill(&Fill { hours, earliest, latest }).as_deref(), expected);
        };
        check(Some(3.0), Some(2.5), Some(4.0), Some("in 3.0 h (2.5–4.0 h)"));
        check(Some(3.0), Some(2.5), None, Some("in 3.0 h (2.5 h at the earliest, perhaps never)"));
        check(Some(3.0), Some(3.0), Some(3.0), Some("in 3.0 h"));
        check(None, Some(3.0), None, None);
    }
}
