//! Dates in a filter, from 1970 to 9999.

use std::fmt;

use lifetrace_trace::ids::Timestamp;

use super::error::Mistake;
use super::scan::Scanner;
use crate::calendar::{self, DateTime, MICROS_PER_SECOND, SECONDS_PER_DAY};

const A_DATE: &str = "a date, such as 2026-01-12T13:44:03Z";

/// A moment by the wall clock, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(Timestamp);

impl Date {
    /// So long after 1970 began; at most to the end of the year 9999.
    pub fn new(time: Timestamp) -> Option<Self> {
        (time.0 < LIMIT).then_some(Self(time))
    }

    /// Since 1970 began.
    pub fn time(self) -> Timestamp {
        self.0
    }
}

/// The year 10000.
const LIMIT: u64 = 253_402_300_800 * MICROS_PER_SECOND;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from(self.0);
        write!(f, "{}T{}", time.date(), time.clock())?;
        if time.micros > 0 {
            write!(f, ".{}", format!("{:06}", time.micros).trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Whether a date comes next: four digits and a hyphen.
pub(super) fn is_next(scanner: &Scanner<'_>) -> bool {
    let bytes = scanner.rest().as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// `2026-01-12`, `2026-01-12T13:44`, `2026-01-12 13:44:03.5 UTC`.
pub(super) fn date(scanner: &mut Scanner<'_>) -> Result<Date, Mistake> {
    let from = scanner.at();
    let days = day(scanner)?;
    let (second, micros) = if has_clock(scanner) { clock(scanner)? } else { (0, 0) };
    zone(scanner)?;
    let seconds = days * SECONDS_PER_DAY + second;
    let time = u64::try_from(seconds).ok().map(|seconds| seconds * MICROS_PER_SECOND + micros);
    time.and_then(|time| Date::new(Timestamp(time))).ok_or_else(|| {
        scanner.mark(from..scanner.at());
        Mistake::NoSuchDate("day from 1970 to 9999")
    })
}

/// As a number of days since 1970.
fn day(scanner: &mut Scanner<'_>) -> Result<i64, Mistake> {
    let from = scanner.at();
    let year = number(scanner, 4)?;
    expect(scanner, "-")?;
    let month = number(scanner, 2)?;
    expect(scanner, "-")?;
    let day = number(scanner, 2)?;
    calendar::days(year, month, day).filter(|&days| days >= 0).ok_or_else(|| {
        scanner.mark(from..scanner.at());
        Mistake::NoSuchDate("day from 1970 to 9999")
    })
}

/// Goes past what stands between a day and a time of day, if such a time comes next.
fn has_clock(scanner: &mut Scanner<'_>) -> bool {
    let mut ahead = scanner.clone();
    if ahead.eat("T") || ahead.eat("t") {
        *scanner = ahead;
        return true;
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let has_space = ahead.skip_space();
    let is_clock = has_space && digits(ahead.rest()) == 2 && ahead.rest()[2..].starts_with(':');
    if is_clock {
        *scanner = ahead;
    }
    is_clock
}

/// Seconds since midnight, and microseconds.
fn clock(scanner: &mut Scanner<'_>) -> Result<(i64, u64), Mistake> {
    let from = scanner.at();
    let hour = number(scanner, 2)?;
    expect(scanner, ":")?;
    let minute = number(scanner, 2)?;
    let has_seconds = scanner.eat(":");
    let second = if has_seconds { number(scanner, 2)? } else { 0 };
    if hour > 23 || minute > 59 || second > 59 {
        scanner.mark(from..scanner.at());
        return Err(Mistake::NoSuchDate("time of day"));
    }
    let micros = if has_seconds { fraction(scanner)? } else { 0 };
    Ok((hour * 3600 + minute * 60 + second, micros))
}

/// Microseconds, if there is a decimal point with digits.
fn fraction(scanner: &mut Scanner<'_>) -> Result<u64, Mistake> {
    let mut ahead = scanner.clone();
    let has_point = ahead.eat(".");
    let digits = ahead.take_while(|next| next.is_ascii_digit());
    if !has_point || digits.is_empty() {
        return Ok(0);
    }
    *scanner = ahead;
    let digits = digits.trim_end_matches('0');
    if digits.len() > 6 {
        return Err(Mistake::TooFine);
    }
    Ok(format!("{digits:0<6}").parse().unwrap_or(0))
}

/// Goes past `Z` or `UTC`, which may be left out.
fn zone(scanner: &mut Scanner<'_>) -> Result<(), Mistake> {
    if matches!(scanner.peek(), Some('+' | '-')) {
        let from = scanner.at();
        scanner.take_while(|next| "+-:".contains(next) || next.is_ascii_digit());
        scanner.mark(from..scanner.at());
        return Err(Mistake::OtherZone);
    }
    let _ = scanner.eat("Z") || scanner.eat("z") || scanner.eat_word("UTC");
    Ok(())
}

fn expect(scanner: &mut Scanner<'_>, token: &str) -> Result<(), Mistake> {
    if scanner.eat(token) { Ok(()) } else { Err(Mistake::Expected(A_DATE)) }
}

/// Of so many digits.
fn number(scanner: &mut Scanner<'_>, digits: usize) -> Result<i64, Mistake> {
    let text = scanner.rest().get(..digits).unwrap_or_default();
    let is_number = text.len() == digits && text.bytes().all(|next| next.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number).ok_or(Mistake::Expected(A_DATE))?;
    scanner.eat(text);
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Date, String), Mistake> {
        let mut scanner = Scanner::new(text);
        date(&mut scanner).map(|date| (date, scanner.rest().to_owned()))
    }

    #[test]
    fn dates() {
        let check = |text: &str, expected: &str, rest: &str| {
            let (date, left) = parsed(text).unwrap();
            assert_eq!((date.to_string().as_str(), left.as_str()), (expected, rest), "{text}");
        };
        check("2026-01-12", "2026-01-12T00:00:00Z", "");
        check("2026-01-12 size>3", "2026-01-12T00:00:00Z", " size>3");
        check("2026-01-12T13:44", "2026-01-12T13:44:00Z", "");
        check("2026-01-12T13:44..", "2026-01-12T13:44:00Z", "..");
        check("2026-01-12 13:44:03 UTC", "2026-01-12T13:44:03Z", "");
        check("2026-01-12T13:44:03.120000Z", "2026-01-12T13:44:03.12Z", "");
        check("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", "");
        check("1970-01-01", "1970-01-01T00:00:00Z", "");
    }

    #[test]
    fn no_dates() {
        for text in [
            "2026-1-12",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "1969-12-31",
            "2026-01-12T24:00",
            "2026-01-12T13:60",
            "2026-01-12T13",
            "2026-01-12T13:44:03.1234567",
            "2026-01-12T13:44+02:00",
            "2026-01-12-0100",
            "20260-1-12",
        ] {
            assert!(parsed(text).is_err(), "{text}: {:?}", parsed(text));
        }
    }
}
