//! How pages look: styles of text, and how much room lines have.

use anstyle::{AnsiColor, Style};

/// As it comes.
pub const PLAIN: Style = Style::new();
/// What a reader should see first.
pub const STRONG: Style = Style::new().bold();
/// What they may skip.
pub const FAINT: Style = Style::new().dimmed();
/// Names of functions.
pub const NAME: Style = AnsiColor::Cyan.on_default().bold();
/// Shares of the whole.
pub const SHARE: Style = AnsiColor::Yellow.on_default().bold();

const WIDTH_ELSEWHERE: usize = 100;
const NARROWEST: usize = 40;

/// Columns that there are for lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// For sentences, which are broken between words.
    pub prose: usize,
    /// For tables and names; nothing where lines may be as long as they need to be.
    pub lines: Option<usize>,
}

impl Width {
    /// Lines may be as long as they need to be: a pipe or a file has no end of lines.
    pub const ENDLESS: Self = Self { prose: WIDTH_ELSEWHERE, lines: None };

    /// So many columns, for all.
    pub fn of(columns: usize) -> Self {
        let columns = columns.max(NARROWEST);
        Self { prose: columns, lines: Some(columns) }
    }
}

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
