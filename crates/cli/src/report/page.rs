//! Text that keeps within a number of columns.

use std::fmt::{Display, Write};

use anstyle::Style;

use crate::terminal::{FAINT, styled};

/// Columns between those of a table.
const GUTTER: usize = 3;

/// A page in the making.
pub struct Page {
    pub text: String,
    /// Columns there are; what must not be broken may take more.
    pub width: usize,
}

impl Page {
    pub fn new(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// A line as it is.
    pub fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// All of `text`, broken into lines between words.
    pub fn prose(&mut self, indent: &str, style: Style, text: &str) {
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && indent.len() + columns(&line) + 1 + columns(word) > self.width {
                self.line(format_args!("{indent}{}", styled(style, &line)));
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        self.line(format_args!("{indent}{}", styled(style, line)));
    }

    /// Columns as wide as they need to be; the last one moves below its row where it does not fit.
    pub fn table(&mut self, head: [String; 4], rows: &[[String; 4]]) {
        let width = |column: usize| {
            rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0) + GUTTER
        };
        let [first, second, third] = [width(0), width(1), width(2)];
        let line = |[name, bytes, objects, _]: &[String; 4]| {
            format!("{name:<first$}{bytes:<second$}{objects:<third$}")
        };
        self.line(styled(FAINT, line(&head).trim_end()));
        for row in rows {
            let (start, note) = (line(row), &row[3]);
            let fits = columns(&start) + columns(note) <= self.width;
            let separator = if fits { String::new() } else { format!("\n{:first$}", "") };
            let start = if fits { &start } else { start.trim_end() };
            match note.as_str() {
                "" => self.line(start.trim_end()),
                note => self.line(format_args!("{start}{separator}{}", styled(FAINT, note))),
            }
        }
    }

    /// Columns as wide as they need to be, numbers to the right; what does not fit is cut off at the
    /// end of the line.
    pub fn grid(&mut self, head: &[&str], right: &[usize], rows: &[Vec<String>]) {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| columns(&row[column]));
            cells.chain([columns(head[column])]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if right.contains(&column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            let line = padded.collect::<Vec<_>>().join(&" ".repeat(GUTTER));
            line.trim_end().chars().take(self.width).collect::<String>()
        };
        let head: Vec<_> = head.iter().map(|&cell| cell.to_owned()).collect();
        let lines: Vec<_> = rows.iter().map(|row| line(row)).collect();
        let head = line(&head);
        self.line(styled(FAINT, head));
        lines.iter().for_each(|line| self.line(line));
    }

    /// All of `text`, broken into lines wherever they are full.
    pub fn wrapped(&mut self, indent: &str, style: Style, text: &str) {
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(self.width - indent.len()) {
            let piece: String = piece.iter().collect();
            self.line(format_args!("{indent}{}", styled(style, piece)));
        }
    }
}

/// How many columns `text` takes.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::PLAIN;

    fn check(width: usize, write: impl Fn(&mut Page), expected: &[&str]) {
        let mut page = Page::new(width);
        write(&mut page);
        let plain = anstream::adapter::strip_str(&page.text).to_string();
        assert_eq!(plain.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn prose_is_broken_between_words() {
        check(10, |page| page.prose("", PLAIN, "one two three"), &["one two", "three"]);
        check(10, |page| page.prose("", PLAIN, "unbreakable words"), &["unbreakable", "words"]);
        check(10, |page| page.prose("", PLAIN, ""), &[""]);
        check(5, |page| page.prose("  ", PLAIN, "a b c"), &["  a b", "  c"]);
    }

    #[test]
    fn names_are_broken_anywhere() {
        check(7, |page| page.wrapped("  ", FAINT, "operator+"), &["  opera", "  tor+"]);
    }

    #[test]
    fn notes_go_where_there_is_room() {
        let cells = |cells: [&str; 4]| cells.map(str::to_owned);
        let rows = [cells(["peak", "10 B", "1", "at noon"]), cells(["live", "200 B", "3", ""])];
        let table = |page: &mut Page| page.table(cells(["", "bytes", "n", ""]), &rows);
        check(40, table, &["       bytes   n", "peak   10 B    1   at noon", "live   200 B   3"]);
        check(
            20,
            table,
            &["       bytes   n", "peak   10 B    1", "       at noon", "live   200 B   3"],
        );
    }
}
