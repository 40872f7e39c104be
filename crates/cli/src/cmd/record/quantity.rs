//! Sizes and spans of time, as people type them: as in filters.

use std::time::Duration;

use lifetrace_analysis::filter::{ByteSize, Micros, Mistake};

/// A whole number of bytes, with a unit if need be: 4096, 64KiB, 1MB.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let told = |mistake| told(mistake, "not a size such as 4096, 64KiB or 1MB");
    text.parse::<ByteSize>().map(|size| size.0.0).map_err(told)
}

/// [`bytes`], but not 0.
pub(in crate::cmd) fn size(text: &str) -> Result<u64, String> {
    bytes(text).and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("must be above 0".into()) })
}

/// A span of time with its unit: 500ms, 10s, 2m, 1h30min.
pub(in crate::cmd) fn span(text: &str) -> Result<Duration, String> {
    let told = |mistake| told(mistake, "not a time such as 500ms, 10s, 2m or 1h30min");
    text.parse::<Micros>().map(|micros| Duration::from_micros(micros.get())).map_err(told)
}

/// The number of a process.
pub(in crate::cmd) fn pid(text: &str) -> Result<u32, String> {
    let advice = |_| "not the number of a process, as `pidof PROGRAM` gives it".to_owned();
    text.parse().map_err(advice)
}

fn told(mistake: Mistake, example: &str) -> String {
    match mistake {
        Mistake::Expected(_) => example.to_owned(),
        mistake => format!("{example}: {mistake}"),
    }
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
        check("1h30min", 5_400_000);
        check("1d", 86_400_000);
        check("0.25s", 250);
        check("0s", 0);
        check("2000us", 2);
    }

    #[test]
    fn spans_that_make_no_sense() {
        for text in
            ["", "10", "s", "-1s", "1w", "potato", "1e3s", "99999999999h", "0.1us5", "1..2s"]
        {
            assert!(span(text).is_err(), "{text:?}: {:?}", span(text));
        }
    }

    #[test]
    fn a_size_is_something() {
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert!(size("0MiB").is_err() && size("10s").is_err());
        assert_eq!(size("x"), Err("not a size such as 4096, 64KiB or 1MB".to_owned()));
        assert_eq!(
            size("10parsecs"),
            Err("not a size such as 4096, 64KiB or 1MB: unknown unit `parsecs`".to_owned())
        );
    }
}
