//! Text broken into lines: sentences between words but never within an amount, names after a mark.

use super::columns::{beginning, columns};

/// What stands after a number and belongs to it.
const UNITS: [&str; 18] = [
    "B", "KiB", "MiB", "GiB", "TiB", "PiB", "%", "µs", "ms", "s", "min", "h", "days", "years",
    "million", "billion", "x", "samples",
];

/// `text` in lines of at most so many columns, broken between words. A word that is longer has a line of
/// its own, and so has an amount.
pub fn sentence(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || columns(line) + 1 + columns(&word) <= room);
        match line {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word),
        }
    }
    lines
}

/// Words, of which an amount is one: `5.9 ± 0.8 MiB`, `1.3 (1.0–1.8) MiB`, `< 38 MiB`.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut().filter(|last| belongs(last, word)) {
            Some(last) => *last += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// Whether a word goes on with the amount that ends with `before`.
fn belongs(before: &str, word: &str) -> bool {
    let is_after_number = before.trim_end_matches(')').ends_with(|it: char| it.is_ascii_digit());
    let last = before.rsplit(' ').next().unwrap_or_default();
    let bare = word.trim_end_matches(|it: char| ",.;:)".contains(it));
    let unit = bare.split(['/', '·']).next().unwrap_or_default();
    let is_range = word.starts_with('(') && word[1..].starts_with(|it: char| it.is_ascii_digit());
    let begins = |mark: &str| before.trim_start_matches('(').ends_with(mark);
    word == "±"
        || ["±", "<", "–"].into_iter().any(begins)
        || word == "–"
        || is_after_number && UNITS.contains(&unit)
        || is_range && (is_after_number || UNITS.contains(&last))
}

/// `text` in lines of at most so many columns: broken after a mark if there is one in the second half of
/// the line, else anywhere.
pub fn name(text: &str, room: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while columns(rest) > room {
        // A character is never too wide, or this would go on for ever.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let full = beginning(rest, room).len().max(first);
        let half = beginning(rest, room / 2).len();
        let is_mark = |it: char| !it.is_alphanumeric() && it != '_';
        let mark = rest[half..full].rfind(is_mark).map(|at| half + at);
        let end = mark.and_then(|at| Some(at + rest[at..].chars().next()?.len_utf8()));
        let (line, after) = rest.split_at(end.unwrap_or(full));
        lines.push(line);
        rest = after;
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(sentence("one two three", 10), ["one two", "three"]);
        assert_eq!(sentence("unbreakable words", 10), ["unbreakable", "words"]);
        assert_eq!(sentence("", 10), [""]);
        assert_eq!(sentence("a b c", 3), ["a b", "c"]);
    }

    #[test]
    fn amounts_are_not_broken() {
        for amount in [
            "5.9 ± 0.8 MiB",
            "1.3 (1.0–1.8) MiB/h,",
            "< 38 MiB",
            "(< 38 MiB)",
            "97 % (90–99 %)",
            "34.2 % (31.0–37.5)",
            "500 ± 250 MiB·s;",
            "120 µs (100 µs – 2.0 ms)",
            "+171 ± 17 million",
        ] {
            for room in 1..20 {
                let lines = sentence(&format!("of {amount} it is"), room);
                assert!(lines.iter().any(|line| line.contains(amount)), "{room}: {lines:?}");
            }
        }
        assert_eq!(words("7 blocks (of 9)"), ["7", "blocks", "(of", "9)"]);
    }

    #[test]
    fn names_are_broken_after_marks_or_anywhere() {
        assert_eq!(name("operator", 5), ["opera", "tor"]);
        assert_eq!(name("/src/main.rs:123", 14), ["/src/main.rs:", "123"]);
        assert_eq!(name("std::vec::push", 12), ["std::vec::", "push"]);
        assert_eq!(name("short", 5), ["short"]);
        assert_eq!(name("", 5), [""; 0]);
        assert_eq!(name("äöüß", 3), ["äöü", "ß"]);
    }
}
