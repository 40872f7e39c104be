//! The page: what a [`View`] says, in as many columns and rows as there are.
//!
//! ```text
//! head       what is looked at, and how it is
//! body       processes | callsites | a callsite's tree or lifetimes
//! foot       the chosen row in full; keys, a message, or the filter that is being typed
//! ```

mod callsite;
mod callsites;
mod columns;
mod foot;
mod head;
mod help;
mod list;
mod processes;
mod theme;

use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use crate::board::{Detail, View};
use crate::model::Model;
use crate::process::Screen;
use list::{List, draw_rows};
pub use theme::Theme;

/// A terminal of fewer columns or rows has no room for a page.
const LEAST: (u16, u16) = (40, 8);

/// Rows that a page of this height has for a list.
pub fn list_height(height: u16) -> usize {
    usize::from(height).saturating_sub(head::HEIGHT + 3)
}

/// Draws the page.
pub fn draw(frame: &mut Frame<'_>, model: &Model, view: &View, theme: Theme) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        frame.render_widget(Paragraph::new("lifetrace: the terminal is too small"), area);
        return;
    }
    let heights = [head::HEIGHT as u16, 1, 0, 1, 1].map(Constraint::Length);
    let mut heights = heights;
    heights[2] = Constraint::Min(1);
    let [top, heading, body, told, foot] = Layout::vertical(heights).areas(area);
    let width = usize::from(area.width);
    frame.render_widget(Paragraph::new(head::lines(model, view, theme, width)), top);
    frame.render_widget(Paragraph::new(foot::line(model, view, theme, width)), foot);
    if model.is_helping() {
        frame.render_widget(Paragraph::new(help::lines(theme)), body);
        return;
    }
    let list = list(model, view, theme, (width, usize::from(body.height)));
    frame.render_widget(Paragraph::new(list.heading), heading);
    frame.render_widget(Paragraph::new(list.told), told);
    draw_rows(frame, list.rows, list.chosen, body, theme);
}

/// For so many columns and rows.
fn list(model: &Model, view: &View, theme: Theme, room: (usize, usize)) -> List {
    match (model.screen(), &view.detail) {
        (Screen::Processes, _) => processes::list(model, view, theme, room),
        (_, Detail::Callsites(page)) => callsites::list(model, page, theme, room),
        (_, Detail::Tree(branches)) => callsite::tree(model, branches, theme, room),
        (_, Detail::Lifetimes(lifetime, read)) => {
            callsite::lifetimes(lifetime, *read, theme, room.0)
        }
        (_, Detail::None) => List {
            heading: Line::default(),
            rows: vec![Line::styled(head::why_nothing(model, view), theme.faint())],
            chosen: None,
            told: Line::default(),
        },
    }
}

/// The page as text, with so many rows of its list: for those who have no terminal, or want it once. Notes, which
/// may be longer than a row, are not on it: [`Shown::notes`](crate::board::Shown::notes) has them.
pub fn text(model: &Model, view: &View, width: usize, rows: usize) -> String {
    let height = (head::HEIGHT + 3 + rows.max(1)).min(usize::from(u16::MAX)) as u16;
    let backend = TestBackend::new(width.clamp(LEAST.0.into(), 1000) as u16, height.max(LEAST.1));
    let mut terminal = Terminal::new(backend).expect("a buffer in memory takes anything");
    let theme = Theme { has_colours: false };
    let drawn = terminal.draw(|frame| draw(frame, model, view, theme));
    let buffer = drawn.expect("a buffer in memory takes anything").buffer.clone();
    let lines = buffer.content.chunks(usize::from(buffer.area.width)).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    let mut lines: Vec<_> = lines.collect();
    // Keys, and the chosen row in full.
    lines.truncate(lines.len() - 2);
    lines.remove(head::NOTE);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}
