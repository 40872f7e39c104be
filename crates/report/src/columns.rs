//! Columns of a terminal that text takes: Chinese, Japanese and Korean characters take two, marks above
//! others none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns `text` takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// As much of the beginning as has room in so many columns.
pub fn beginning(text: &str, room: usize) -> &str {
    let mut taken = 0;
    let full = text.char_indices().find(|(_, character)| {
        taken += character.width().unwrap_or(0);
        taken > room
    });
    &text[..full.map_or(text.len(), |(at, _)| at)]
}

/// As much of the end as has room in so many columns.
pub fn ending(text: &str, room: usize) -> &str {
    let mut taken = 0;
    let full = text.char_indices().rev().find(|(_, character)| {
        taken += character.width().unwrap_or(0);
        taken > room
    });
    &text[full.map_or(0, |(at, character)| at + character.len_utf8())..]
}

/// `text` with spaces after it, or before it, that fill so many columns.
pub fn padded(text: &str, width: usize, is_right: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(columns(text)));
    if is_right { padding + text } else { text.to_owned() + &padding }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(columns("メモリ"), 6);
        assert_eq!(columns("e\u{301}–±█…"), 5);
        assert_eq!(
            [beginning("メモリ", 3), beginning("メモリ", 6), beginning("ab", 1)],
            ["メ", "メモリ", "a"]
        );
        assert_eq!(
            [ending("メモリ", 3), ending("メモリ", 6), ending("ab", 0)],
            ["リ", "メモリ", ""]
        );
        assert_eq!([padded("メ", 3, false), padded("メ", 3, true)], ["メ ", " メ"]);
        assert_eq!(padded("long", 2, true), "long");
    }
}
