//! Text that keeps within a number of columns.

use std::fmt::{Display, Write};

use anstyle::Style;

use crate::terminal::{FAINT, PLAIN, styled};

/// Columns between those of a table.
const GUTTER: usize = 3;

/// Texts at the ends of rows are worth no less, in columns.
pub const TAIL: usize = 30;

/// Below its row a text begins here, in columns.
const BELOW: usize = 9;

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
        let lines = aligned(head, right, rows);
        for (number, line) in lines.iter().enumerate() {
            self.cut(if number == 0 { FAINT } else { PLAIN }, line);
        }
    }

    /// Whether nothing of such a [`grid`](Self::grid) is cut off.
    pub fn has_room(&self, head: &[&str], right: &[usize], rows: &[Vec<String>]) -> bool {
        aligned(head, right, rows).iter().all(|line| columns(line.trim_end()) <= self.width)
    }

    /// The same with a text at the end of each row (the first is a heading). All of them go below
    /// their rows where there is no room for the `least` columns of them.
    pub fn grid_with_tails(
        &mut self,
        head: &[&str],
        right: &[usize],
        rows: &[Vec<String>],
        tails: &[String],
        least: usize,
    ) {
        let lines = aligned(head, right, rows);
        let start = lines.first().map_or(0, |line| columns(line) + GUTTER);
        let is_beside = start + least <= self.width;
        for (number, (line, tail)) in lines.iter().zip(tails).enumerate() {
            let style = if number == 0 { FAINT } else { PLAIN };
            if is_beside {
                self.cut(style, &format!("{line}{:GUTTER$}{tail}", ""));
            } else {
                self.cut(style, line);
                self.cut(style, &format!("{:BELOW$}{tail}", ""));
            }
        }
    }

    /// What of `text` has room on one line.
    fn cut(&mut self, style: Style, text: &str) {
        let line: String = text.chars().take(self.width).collect();
        self.line(styled(style, line.trim_end()));
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

/// The lines of a grid, the head first, all of one width.
fn aligned(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> Vec<String> {
    let head: Vec<_> = head.iter().map(|&cell| cell.to_owned()).collect();
    let all = || [&head].into_iter().chain(rows);
    let width = |column: usize| all().map(|row| columns(&row[column])).max().unwrap_or(0);
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if right.contains(&column) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        });
        padded.collect::<Vec<_>>().join(&" ".repeat(GUTTER))
    };
    all().map(line).collect()
}

/// How many columns `text` takes.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn tails_go_where_there_is_room() {
        let rows = [["7".to_owned(), "8 KiB".to_owned()].to_vec()];
        let tails = ["what it is".to_owned(), "x".repeat(40)];
        let grid =
            |page: &mut Page| page.grid_with_tails(&["n", "size"], &[0], &rows, &tails, TAIL);
        let long = "x".repeat(28);
        check(42, grid, &["n   size    what it is", &format!("7   8 KiB   {long}xx")]);
        check(
            37,
            grid,
            &["n   size", "         what it is", "7   8 KiB", &format!("         {long}")],
        );
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
