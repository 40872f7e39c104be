//! Text that keeps within a number of columns, and in which names are shown as
//! [`printable`](human::printable) text.

use std::fmt::{Display, Write};

use anstyle::Style;
use lifetrace_human as human;

use super::breaking;
use super::columns::columns;
use super::table::Table;
use crate::style::{FAINT, PLAIN, Width, styled};

/// Columns before facts.
const MARGIN: usize = 12;

/// A page in the making.
pub struct Page {
    /// What has been written, with escapes for its styles.
    pub text: String,
    width: Width,
}

impl Page {
    /// Nothing yet.
    pub fn new(width: Width) -> Self {
        Self { text: String::new(), width }
    }

    /// Columns for lines that are no sentences, beside so many that are taken; nothing if there is no end.
    pub fn room(&self, taken: usize) -> Option<usize> {
        self.width.lines.map(|width| width.saturating_sub(taken))
    }

    /// A line as it is: names in it are to be [printable](human::printable) already.
    pub fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// All of `text`, broken into lines between words.
    pub fn prose(&mut self, indent: &str, style: Style, text: &str) {
        let room = self.width.prose.saturating_sub(indent.len());
        for line in breaking::sentence(&human::printable(text), room) {
            self.line(format_args!("{indent}{}", styled(style, line)));
        }
    }

    /// What a list's entry is called, in `style`, and what is to be said of it: beside it, or below.
    pub fn entry(&mut self, style: Style, name: &str, below: &str, text: &str) {
        if text.is_empty() {
            self.line(styled(style, name));
        } else if self.fits(columns(name) + 2 + columns(text)) {
            self.line(format_args!("{}  {text}", styled(style, name)));
        } else {
            self.line(styled(style, name));
            self.prose(below, PLAIN, text);
        }
    }

    /// Whether a line of so many columns does.
    pub fn fits(&self, columns: usize) -> bool {
        self.width.lines.is_none_or(|width| columns <= width)
    }

    /// A name in the margin and a fact beside it, in one line if lines have no end.
    pub fn fact(&mut self, name: &str, fact: &str) {
        let room = self.room(MARGIN).unwrap_or(usize::MAX);
        let lines = breaking::sentence(&human::printable(fact), room);
        let pieces = lines.iter().flat_map(|line| match line.as_str() {
            "" => vec![""],
            line => breaking::name(line, room),
        });
        for (number, piece) in pieces.enumerate() {
            let name = if number == 0 { name } else { "" };
            let name = styled(FAINT, format_args!("{name:<width$}", width = MARGIN - 1));
            self.line(format_args!("{name} {piece}"));
        }
    }

    /// A table, and below it the names of the columns that there is no room for.
    pub fn table(&mut self, table: &Table) {
        let (lines, left_out) = table.fitted(self.width.lines);
        lines.iter().for_each(|line| self.line(line));
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            let text = format!("Left out: {names}. A wider terminal shows all.");
            self.prose("", FAINT, &text);
        }
    }

    /// All of a name, broken into lines where they are full.
    pub fn wrapped(&mut self, indent: &str, style: Style, text: &str) {
        let room = self.room(indent.len()).unwrap_or(usize::MAX);
        for piece in breaking::name(&human::printable(text), room) {
            self.line(format_args!("{indent}{}", styled(style, piece)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_in_files_too_and_names_are_not() {
        let text = |width| {
            let mut page = Page::new(width);
            page.prose("  ", PLAIN, &"word ".repeat(30));
            page.wrapped("  ", FAINT, &"x".repeat(150));
            let plain = anstream::adapter::strip_str(&page.text).to_string();
            plain.lines().map(columns).max()
        };
        assert_eq!(text(Width::ENDLESS), Some(152));
        assert_eq!(text(Width::of(60)), Some(60));
    }
}
