//! Quantities that are all of a text: what options take.

use std::str::FromStr;

use super::error::Mistake;
use super::quantity::{A_SIZE, A_TIME, ByteSize, Micros, size, time};
use super::scan::Scanner;

impl FromStr for ByteSize {
    type Err = Mistake;

    /// `4096`, `64KiB`, `1.5 MB`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        all_of(text, A_SIZE, size)
    }
}

impl FromStr for Micros {
    type Err = Mistake;

    /// `500ms`, `1h30min`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        all_of(text, A_TIME, time)
    }
}

fn all_of<T>(
    text: &str,
    expected: &'static str,
    read: impl FnOnce(&mut Scanner<'_>) -> Result<T, Mistake>,
) -> Result<T, Mistake> {
    let mut scanner = Scanner::new(text);
    let value = read(&mut scanner)?;
    if scanner.is_at_end() { Ok(value) } else { Err(Mistake::Expected(expected)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for text in ["4096", "64KiB", "1.5 MB", "0", "2T"] {
            assert!(text.parse::<ByteSize>().is_ok(), "{text}");
        }
        assert_eq!("1h30min".parse(), Ok(Micros(5_400_000_000)));
        assert_eq!("0.25 s".parse(), Ok(Micros(250_000)));
    }

    #[test]
    fn no_quantities() {
        for text in ["", " ", "KiB", "-1", "64KiB or so", "64KiB ", "1e3", "1..2", "3s"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?}");
        }
        for text in ["", "10", "s", "-1s", "5min1h", "1s 2", "10%", "0.1us", "99999999999d"] {
            assert!(text.parse::<Micros>().is_err(), "{text:?}");
        }
    }
}
