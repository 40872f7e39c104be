//! Numbers, names and times for people: sizes in binary units, estimates with their intervals, [dates](calendar),
//! [names in collapsed stacks](collapsed), and text that is safe on a terminal, in [JSON](json_text) too.
#![forbid(unsafe_code)]

mod about;
pub mod calendar;
pub mod collapsed;
mod estimate;
pub mod json_text;
pub mod named;

use std::borrow::Cow;
use std::time::Duration;

pub use about::{about, fill, lifetime, quantile};
pub use estimate::{amount, byte_seconds, estimate, number_of_all, objects, per_hour, proportion};

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

/// So many things: `1 sample`, `12,300 samples`.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number as f64), if number == 1 { one } else { several })
}

/// A number of things: `1,234,567`, `23.5 million`.
pub fn count(value: f64) -> String {
    let (scale, unit) = unit(value, &COUNT_UNITS, COUNT_STEP);
    let decimals = if scale == 1.0 { 0 } else { decimals(value / scale, 3).max(0) };
    format!("{}{unit}", rounded(value / scale, decimals))
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

/// A sentence as it goes on after a colon.
pub fn uncapitalized(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// `text` in one line that is read as it is written: what could drive a terminal, or turn the order of
/// what is around it, is written out, as `\u{1b}` and `\u{202e}`. All names that come from a trace or from
/// another profiler's file go through this before they are shown.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match is_unsafe(character) {
            true => shown.extend(character.escape_unicode()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character drives terminals, ends lines, or turns the order of what is around it.
pub fn is_unsafe(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
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
    fn counts() {
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(23_456_789.0), "23.5 million");
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
        assert_eq!(printable("a\x1b[31m\nb"), "a\\u{1b}[31m\\u{a}b");
        assert_eq!(printable("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(printable("Ünïcode مرحبا"), "Ünïcode مرحبا");
    }

    #[test]
    fn the_order_of_text_is_not_turned() {
        let marks = (0x202a..=0x202e).chain(0x2066..=0x2069).chain([0x61c, 0x200e, 0x200f, 0x2028]);
        for mark in marks.map(|code| char::from_u32(code).unwrap()) {
            let shown = printable(&format!("free{mark}cod")).into_owned();
            assert_eq!(shown, format!("free\\u{{{:x}}}cod", u32::from(mark)));
        }
        let twice = printable("a\u{202e}").into_owned();
        assert_eq!(printable(&twice), twice);
    }
}
