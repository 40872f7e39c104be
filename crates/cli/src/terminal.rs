//! Where text goes: its width, its colours, and the one place that writes reports to stdout.
//!
//! Colours are dropped where stdout is no terminal or NO_COLOR is set, and kept where
//! CLICOLOR_FORCE is: `anstream` decides, so everybody may write styled text.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use lifetrace_human as human;

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

/// Columns of stdout: those of COLUMNS if it is set, else the terminal's.
pub fn width() -> Width {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = asked.filter(|&columns| columns > 0);
    let real =
        || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    asked.or_else(real).map_or(Width::ENDLESS, Width::of)
}

/// Writes a finished report to stdout.
///
/// # Errors
/// Those of stdout; see [`is_closed_pipe`].
pub fn print(report: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(report.as_bytes())?;
    stdout.flush()
}

/// Whether the reader has seen enough, as `head` has: no reason to complain.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes a message to stderr, whose lines are [printable]. Where stderr is closed or full there is nobody
/// to tell.
///
/// [printable]: human::printable
pub fn complain(message: impl std::fmt::Display) {
    let message = message.to_string();
    let lines: Vec<_> = message.split('\n').map(human::printable).collect();
    let _ = writeln!(anstream::stderr().lock(), "lifetrace: {}", lines.join("\n"));
}
