//! Keys, a message, or the filter that is being typed.

use ratatui::text::{Line, Span};

use super::columns::cut;
use super::theme::Theme;
use crate::board::View;
use crate::model::Model;
use crate::process::Screen;

pub fn line(model: &Model, view: &View, theme: Theme, width: usize) -> Line<'static> {
    if let (Some(typed), message) = (model.typed(), model.message()) {
        return filter(typed, message, theme, width);
    }
    if let Some(message) = model.message() {
        return Line::styled(cut(message, width), theme.bad());
    }
    let keys = match (model.screen(), &view.filter) {
        (Screen::Processes, _) => {
            "Enter callsites  m mark  f filter  l g a n order  ? help  q quit"
        }
        (Screen::Callsites(_), _) => {
            "Enter calls, lifetimes  m mark  f filter  l g d a t n order  ? help  q quit"
        }
        (Screen::Callsite(..), _) => "Tab calls or lifetimes  Esc back  ? help  q quit",
    };
    Line::styled(cut(keys, width), theme.faint())
}

fn filter(typed: &str, message: Option<&str>, theme: Theme, width: usize) -> Line<'static> {
    let told = match message {
        Some(message) => format!("  {}", message.split('\n').collect::<Vec<_>>().join(" ")),
        None => "  Enter: look at these blocks; Esc: as before".to_owned(),
    };
    let style = if message.is_some() { theme.bad() } else { theme.faint() };
    let prompt = format!("filter: {}_", lifetrace_human::printable(typed));
    // The end of what is typed matters most.
    let room = width.saturating_sub(1);
    let over = prompt.chars().count().saturating_sub(room);
    let prompt: String = prompt.chars().skip(over).collect();
    let rest = width.saturating_sub(prompt.chars().count());
    Line::from(vec![Span::styled(prompt, theme.strong()), Span::styled(cut(&told, rest), style)])
}
