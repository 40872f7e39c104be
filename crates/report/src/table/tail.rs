//! What is at the ends of a table's rows, or below them.

use lifetrace_human as human;

use super::super::breaking;
use super::super::columns::columns;
use super::super::shorten::{self, shorten_end};
use super::GUTTER;
use crate::style::{FAINT, styled};

/// Below its row a name begins here, in columns.
pub(super) const BELOW: usize = 9;

/// What is at the end of a row.
pub enum Tail {
    /// Nothing.
    None,
    /// A sentence, which goes below where it does not fit.
    Note(String),
    /// A function and its file.
    Place {
        /// The function's name.
        name: String,
        /// The file and the line, or nothing.
        source: String,
    },
    /// A text of which the beginning says most, so far to the right.
    Text {
        /// Columns before it.
        indent: usize,
        /// All of it.
        text: String,
    },
}

impl Tail {
    /// Shown as [`printable`](human::printable) text.
    pub(super) fn printable(self) -> Self {
        let shown = |text: String| human::printable(&text).into_owned();
        match self {
            Self::None => Self::None,
            Self::Note(note) => Self::Note(shown(note)),
            Self::Place { name, source } => {
                Self::Place { name: shown(name), source: shown(source) }
            }
            Self::Text { indent, text } => Self::Text { indent, text: shown(text) },
        }
    }

    /// In so many columns, or all of it.
    fn fitted(&self, room: Option<usize>) -> String {
        match self {
            Self::None => String::new(),
            Self::Note(note) => styled(FAINT, note),
            Self::Place { name, source } => {
                let (name, source) = shorten::place(name, source, room);
                let source = if source.is_empty() { source } else { format!("  {source}") };
                format!("{name}{}", styled(FAINT, source))
            }
            Self::Text { indent, text } => {
                let room = room.map(|room| room.saturating_sub(*indent));
                format!("{:indent$}{}", "", shorten_end(text, room))
            }
        }
    }

    /// Columns that it takes in one line.
    pub(super) fn columns(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Note(note) => columns(note),
            Self::Place { name, source } => columns(name) + 2 + columns(source),
            Self::Text { indent, text } => indent + columns(text),
        }
    }
}

/// A row with what is at its end, or below it.
pub(super) fn ended(
    row: &str,
    tail: &Tail,
    is_stacked: bool,
    room: Option<usize>,
    note_indent: usize,
) -> Vec<String> {
    let start = columns(row) + GUTTER;
    match tail {
        Tail::None => vec![row.trim_end().to_owned()],
        Tail::Note(note) if note.is_empty() => vec![row.trim_end().to_owned()],
        Tail::Note(note) => {
            let fits = room.is_none_or(|room| start + columns(note) <= room);
            if fits {
                return vec![format!("{row}{:GUTTER$}{}", "", styled(FAINT, note))];
            }
            let room = room.unwrap_or(usize::MAX).saturating_sub(note_indent);
            let note = breaking::sentence(note, room).into_iter();
            let note = note.map(|line| format!("{:note_indent$}{}", "", styled(FAINT, line)));
            std::iter::once(row.trim_end().to_owned()).chain(note).collect()
        }
        tail if is_stacked => {
            let tail = tail.fitted(room.map(|room| room.saturating_sub(BELOW)));
            vec![row.trim_end().to_owned(), format!("{:BELOW$}{tail}", "")]
        }
        tail => {
            let tail = tail.fitted(room.map(|room| room.saturating_sub(start)));
            vec![format!("{row}{:GUTTER$}{tail}", "")]
        }
    }
}
