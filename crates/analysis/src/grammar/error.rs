//! What is wrong with a text that somebody typed, shown under the text itself.
//!
//! ```text
//! unknown term `siez`; did you mean `size`?
//!   siez>1KiB
//!   ^^^^
//! ```
//!
//! Columns are those of a terminal: wide characters take two, and what would drive a terminal is
//! shown as U+FFFD. Of a long text only the part around the mistake is shown.

use std::fmt;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// Columns of the text that are shown before and after the mistake's first character.
const BEFORE: usize = 60;
const AFTER: usize = 40;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// Something else stands there, or nothing.
    #[error("expected {0}")]
    Expected(&'static str),
    /// No term begins like this.
    #[error("unknown term `{0}`")]
    UnknownTerm(String),
    /// No condition begins like this.
    #[error("unknown metric `{0}`")]
    UnknownMetric(String),
    /// Not a moment.
    #[error("unknown moment `{0}`")]
    UnknownMoment(String),
    /// Not a unit of what comes before it.
    #[error("unknown unit `{0}`")]
    UnknownUnit(String),
    /// Not one of the sources that are known.
    #[error("unknown source `{0}`")]
    UnknownSource(String),
    /// Times need units.
    #[error("a time needs its unit: us, ms, s, min, h or d")]
    NoUnit,
    /// As in `5min1h`.
    #[error("the greater unit comes first, as in 1h30min")]
    UnitsOutOfOrder,
    /// More digits than mean anything.
    #[error("not a whole number of {units}; the nearest is {nearest}")]
    NotWhole {
        /// Of what.
        units: &'static str,
        /// The number that is meant, most likely.
        nearest: u64,
    },
    /// A time of a day with more than six decimals.
    #[error("not a whole number of microseconds")]
    TooFine,
    /// Beyond all limits.
    #[error("the number is too large")]
    TooLarge,
    /// A share of more than 100 %.
    #[error("more than 100 %")]
    MoreThanAll,
    /// Not a day of the calendar or a time of a day.
    #[error("there is no such {0}")]
    NoSuchDate(&'static str),
    /// Dates have no other zone than UTC.
    #[error("a date is in UTC, as 2026-01-12T13:44:03Z is")]
    OtherZone,
    /// As in `13:44`.
    #[error("a time of day needs its day, as in 2026-01-12T13:44:03Z")]
    NoDay,
    /// Nothing can be in it.
    #[error("the range is empty: it does not end after its start")]
    EmptyRange,
    /// Lacks its second quotation mark.
    #[error("the quotation mark is never closed")]
    OpenQuote,
    /// Nothing between the quotation marks.
    #[error("the name is empty")]
    EmptyName,
    /// A comma is part of a name only in quotes.
    #[error("a comma after a name")]
    Comma,
    /// With what the regular expressions' parser says.
    #[error("the regular expression cannot be read: {0}")]
    Regex(String),
    /// It would take too much memory.
    #[error("the regular expression is too large")]
    RegexTooLarge,
    /// There is a limit.
    #[error("more than {0} terms")]
    TooManyTerms(usize),
}

/// Why a text means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The whole text.
    pub text: String,
    /// Where the mistake is, in bytes of `text`; empty at its end if something is missing there.
    pub span: Range<usize>,
    /// What it is.
    pub mistake: Mistake,
    /// What may have been meant, to be put in the place of the span.
    pub suggestion: Option<&'static str>,
    /// What may help.
    pub hint: Option<&'static str>,
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.mistake.to_string()))?;
        if let Some(suggestion) = self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        let (line, indent, carets) = picture(&self.text, &self.span);
        write!(f, "\n  {line}\n  {:indent$}{}", "", "^".repeat(carets))?;
        match self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

/// The line to show, and the first column and the number of carets under it.
fn picture(text: &str, span: &Range<usize>) -> (String, usize, usize) {
    let columns = |part: &str| part.chars().map(column_width).sum::<usize>();
    let (before, rest) = text.split_at(span.start);
    let (before, cut_before) = end_within(before, BEFORE);
    let (rest, cut_after) = start_within(rest, AFTER);
    let blamed = &rest[..rest.len().min(span.len())];
    let (prefix, suffix) = (if cut_before { "…" } else { "" }, if cut_after { "…" } else { "" });
    let indent = prefix.chars().count() + columns(before);
    let line = format!("{prefix}{}{}{suffix}", printable(before), printable(rest));
    (line, indent, columns(blamed).max(1))
}

/// The end of `text` that takes at most so many columns, and whether that is not all.
fn end_within(text: &str, columns: usize) -> (&str, bool) {
    let mut width = 0;
    let too_far = |&(_, next): &(usize, char)| {
        width += column_width(next);
        width > columns
    };
    match text.char_indices().rev().find(too_far) {
        Some((at, next)) => (&text[at + next.len_utf8()..], true),
        None => (text, false),
    }
}

/// The start of `text` that takes at most so many columns, and whether that is not all.
fn start_within(text: &str, columns: usize) -> (&str, bool) {
    let mut width = 0;
    let too_far = |&(_, next): &(usize, char)| {
        width += column_width(next);
        width > columns
    };
    match text.char_indices().find(too_far) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

fn column_width(character: char) -> usize {
    shown(character).width().unwrap_or(0)
}

/// A word that means nothing, as far as it need be told.
pub(crate) fn clipped(word: &str) -> String {
    let (start, is_cut) = start_within(word, AFTER);
    format!("{start}{}", if is_cut { "…" } else { "" })
}

fn printable(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// A character as it may be printed.
fn shown(character: char) -> char {
    match character {
        '\t' => ' ',
        _ if character.is_control() || is_direction(character) => '\u{fffd}',
        _ => character,
    }
}

/// Marks that turn the direction of writing, and with it what stands over the caret.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
