//! A list, of which so much is shown as there is room for.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use crate::model::Model;

/// Those lines of a list that have room, and what is said of the chosen one.
pub struct List {
    /// The names of the columns.
    pub heading: Line<'static>,
    /// One below the other.
    pub rows: Vec<Line<'static>>,
    /// The number of the chosen row among them.
    pub chosen: Option<usize>,
    /// What is said of it.
    pub told: Line<'static>,
}

/// Which rows of so many are shown, and the chosen one's number among all: nothing without rows.
pub fn window(model: &Model, rows: usize, height: usize) -> (Range<usize>, Option<usize>) {
    let chosen = (rows > 0).then(|| model.cursor(rows));
    let first = chosen.map_or(0, |chosen| (chosen + 1).saturating_sub(height));
    (first..rows.min(first + height), chosen)
}

/// Draws rows, the chosen one among them.
pub fn draw_rows(
    frame: &mut Frame<'_>,
    rows: Vec<Line<'static>>,
    chosen: Option<usize>,
    area: Rect,
    theme: Theme,
) {
    let styled = rows.into_iter().enumerate().map(|(at, row)| match Some(at) == chosen {
        true => Line::styled(row.to_string(), theme.chosen()),
        false => row,
    });
    frame.render_widget(Paragraph::new(styled.collect::<Vec<_>>()), area);
}
