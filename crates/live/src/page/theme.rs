//! How things look.

use ratatui::style::{Color, Modifier, Style};

/// How things look. Without colours they differ by weight alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Whether there are colours.
    pub has_colours: bool,
}

impl Theme {
    fn colour(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// What matters less.
    pub fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What matters more.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Headings of columns.
    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The chosen row.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// What is wrong.
    pub fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What has surely become more.
    pub fn more(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What has surely become less.
    pub fn less(self) -> Style {
        self.colour(Color::Green).add_modifier(Modifier::BOLD)
    }
}
