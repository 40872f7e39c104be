//! Sizes and spans of time, as people type them.

use std::time::Duration;

const SIZES: [(&str, u64); 11] = [
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("M", 1 << 20),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("G", 1 << 30),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

const SPANS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A whole number of bytes, with a unit if need be: 4096, 64KiB, 1MB.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (number, scale) = split(text, &SIZES).ok_or("not a size such as 4096, 64KiB or 1MB")?;
    let bytes = whole(number, scale).ok_or("not a whole number of bytes below 2^64")?;
    Ok(bytes)
}

/// [`bytes`], but not 0.
pub(in crate::cmd) fn size(text: &str) -> Result<u64, String> {
    bytes(text).and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("must be above 0".into()) })
}

/// A span of time with its unit: 500ms, 10s, 2m, 1.5h.
pub(in crate::cmd) fn span(text: &str) -> Result<Duration, String> {
    let (number, scale) = split(text, &SPANS).ok_or("not a time such as 500ms, 10s, 2m or 1h")?;
    let nanos = whole(number, scale).ok_or("not a time of less than 584 years")?;
    Ok(Duration::from_nanos(nanos))
}

fn split<'t>(text: &'t str, units: &[(&str, u64)]) -> Option<(&'t str, u64)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let found = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    found.map(|&(_, scale)| (number, scale)).filter(|_| !number.is_empty())
}

/// `number` times `scale`, if that is a whole number; in integers, so that nothing is rounded.
fn whole(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let divisor = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = digits.checked_mul(scale.into())?;
    (scaled % divisor == 0).then_some(scaled / divisor)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |text: &str, millis| {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        };
        check("500ms", 500);
        check("10s", 10_000);
        check("10 S", 10_000);
        check("2m", 120_000);
        check("2min", 120_000);
        check("1h", 3_600_000);
        check("1.5h", 5_400_000);
        check("0.25s", 250);
        check("0s", 0);
        check("2000us", 2);
    }

    #[test]
    fn spans_that_make_no_sense() {
        for text in
            ["", "10", "s", "-1s", "1d", "potato", "1e3s", "99999999999h", "0.1us5", "1..2s"]
        {
            assert!(span(text).is_err(), "{text:?}: {:?}", span(text));
        }
    }

    #[test]
    fn a_size_is_something() {
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert!(size("0MiB").is_err() && size("10s").is_err());
    }
}
