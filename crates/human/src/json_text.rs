//! JSON that may be shown on a terminal: what [`is_unsafe`] names is escaped in strings.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::is_unsafe;

/// Indented JSON that ends with a line feed.
///
/// # Errors
/// If the document is none of JSON's.
pub fn pretty(document: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    // Outside of strings JSON has line feeds, of such characters, and within none.
    let is_escaped = |it: char| is_unsafe(it) && it != '\n';
    if !text.contains(is_escaped) {
        return Ok(text);
    }
    let mut safe = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        match is_escaped(character) {
            true => safe += &escape(character),
            false => safe.push(character),
        }
    }
    Ok(safe)
}

/// Writes JSON in one line, without its end.
///
/// # Errors
/// Those of the output, and if the document is none of JSON's.
pub fn compact(output: impl Write, document: &impl Serialize) -> serde_json::Result<()> {
    document.serialize(&mut serde_json::Serializer::with_formatter(output, Compact))
}

struct Compact;

impl Formatter for Compact {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        output: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            let (before, after) = rest.split_at(at);
            let character = after.chars().next().unwrap_or_default();
            output.write_all(before.as_bytes())?;
            output.write_all(escape(character).as_bytes())?;
            rest = &after[character.len_utf8()..];
        }
        output.write_all(rest.as_bytes())
    }
}

/// All of them are below U+10000.
fn escape(character: char) -> String {
    format!("\\u{:04x}", u32::from(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unsafe_is_escaped_and_means_the_same() {
        let document = ["a\u{202e}b\u{9b}c\x7f\n\"ü", "plain"];
        let mut short = Vec::new();
        compact(&mut short, &document).unwrap();
        let expected = r#"["a\u202eb\u009bc\u007f\n\"ü","plain"]"#;
        assert_eq!(String::from_utf8(short).unwrap(), expected);
        let long = pretty(&document).unwrap();
        assert!(
            long.contains(r#""a\u202eb\u009bc\u007f\n\"ü","#) && long.ends_with("]\n"),
            "{long}"
        );
        assert_eq!(serde_json::from_str::<[String; 2]>(&long).unwrap(), document);
    }
}
