//! Rows of cells in columns of fixed widths; what does not fit is cut off, and nothing is wrapped.

use lifetrace_human as human;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// How wide it is.
    pub width: usize,
    /// Whether cells begin at its left.
    pub is_left: bool,
}

impl Column {
    /// Of numbers.
    pub const fn right(title: &'static str, width: usize) -> Self {
        Self { title, width, is_left: false }
    }

    /// Of names.
    pub const fn left(title: &'static str, width: usize) -> Self {
        Self { title, width, is_left: true }
    }
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Safe to show.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

impl Cell {
    /// That looks so.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// A row of these columns, a blank between two of them.
pub fn row(columns: &[Column], cells: Vec<Cell>) -> Line<'static> {
    let mut spans = Vec::with_capacity(2 * cells.len());
    for (column, cell) in columns.iter().zip(cells) {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(fitting(&cell.text, column), cell.style));
    }
    Line::from(spans)
}

/// The headings.
pub fn heading(
    columns: &[Column],
    style: Style,
    is_chosen: impl Fn(&str) -> bool,
) -> Line<'static> {
    let title = |column: &Column| match is_chosen(column.title) {
        true => Cell::styled(format!("{}▼", column.title), style),
        false => Cell::styled(column.title, style),
    };
    row(columns, columns.iter().map(title).collect()).style(style)
}

fn fitting(text: &str, column: &Column) -> String {
    let text = match interval_alone(text) {
        Some(interval) if text.width() > column.width => cut(&interval, column.width),
        _ => cut(text, column.width),
    };
    let blanks = " ".repeat(column.width - text.width());
    if column.is_left { text + &blanks } else { blanks + &text }
}

/// Of `1.09 (0.83–1.40) MiB` what matters more, `0.83–1.40 MiB`; nothing of other texts.
fn interval_alone(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('(')?;
    let (interval, unit) = rest.split_once(')')?;
    interval.contains('–').then(|| format!("{interval}{unit}"))
}

/// The beginning of a text, in so many columns. What would drive a terminal is written out.
pub fn cut(text: &str, width: usize) -> String {
    let text = human::printable(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |character: &char| {
        let columns = character.width().unwrap_or(0);
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    };
    let mut beginning: String = text.chars().take_while(fits).collect();
    if width > 0 {
        beginning.push('…');
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fill_their_columns() {
        let columns = [Column::left("NAME", 6), Column::right("SIZE", 5)];
        let text = |cells: [&str; 2]| row(&columns, cells.map(Cell::from).into()).to_string();
        assert_eq!(text(["ab", "12"]), "ab        12");
        assert_eq!(text(["abcdefgh", "123456"]), "abcde… 1234…");
        let narrow = [Column::right("LIVE", 14)];
        let cell = |text: &str| row(&narrow, vec![text.into()]).to_string();
        assert_eq!(cell("1.09 (0.83–1.40) MiB*"), "0.83–1.40 MiB*");
        assert_eq!(cell("1 (0–3) MiB"), "   1 (0–3) MiB");
        assert_eq!(text(["漢字漢字", "1"]), "漢字…      1");
        assert_eq!(text(["\u{1b}[2J", "1"]), "\\u{1b…     1");
        assert_eq!(heading(&columns, Style::new(), |it| it == "SIZE").to_string(), "NAME   SIZE▼");
    }
}
