//! Documents of JSON, written with or without spaces.

/// A document's beginning, whoever wrote it.
pub fn without_spaces(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|it| !it.is_ascii_whitespace()).collect()
}
