//! What traces are written in, and what the user has them say.

use lifetrace_recorder::Format;

/// A format by its name.
pub fn format(text: &str) -> Result<Format, String> {
    match text {
        "lt" => Ok(Format::Lt),
        "memtrace" | "ctf" => Ok(Format::Memtrace),
        _ => Err("there are lt and memtrace".to_owned()),
    }
}

/// `KEY=VALUE`; the value may be empty, and may hold further equals signs.
pub fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE, such as build=1234".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        assert_eq!(format("lt"), Ok(Format::Lt));
        assert_eq!(format("memtrace"), Ok(Format::Memtrace));
        assert!(format("").is_err() && format("xml").is_err());
    }

    #[test]
    fn labels_have_keys() {
        let parsed = |text: &str| label(text).ok();
        let pair = |key: &str, value: &str| Some((key.to_owned(), value.to_owned()));
        assert_eq!(parsed("build=7"), pair("build", "7"));
        assert_eq!(parsed("a=b=c"), pair("a", "b=c"));
        assert_eq!(parsed("empty="), pair("empty", ""));
        assert_eq!((parsed("=x"), parsed("x"), parsed("")), (None, None, None));
    }
}
