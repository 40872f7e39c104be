//! An answer for people: a heading, sentences, and a table.

use std::fmt::Write;

use lifetrace_human::printable;

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What has been asked, of how much.
    pub heading: String,
    /// The names of columns, and whether they are numbers.
    pub columns: Vec<(&'static str, bool)>,
    /// Their values.
    pub rows: Vec<Vec<String>>,
    /// What is to be known of it.
    pub notes: Vec<String>,
}

impl Page {
    /// As text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.heading);
        if !self.rows.is_empty() {
            text.push('\n');
            self.table(&mut text);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    fn table(&self, text: &mut String) {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(&names)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| printable(cell).into_owned()).collect())
            .collect();
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).zip(&self.columns);
            let cells = cells.map(|((cell, width), (_, is_number))| match is_number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
}

/// A function with its file, as a cell: `Cache.add (cache.ml)`.
pub fn place(function: &str, file: Option<&str>) -> String {
    match file.map(|file| file.rsplit('/').next().unwrap_or(file)) {
        Some(file) if !function.contains(file) => format!("{function} ({file})"),
        _ => function.to_owned(),
    }
}
