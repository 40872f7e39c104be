//! Where text goes: its width, its colours, and the one place that writes reports to stdout.
//!
//! Colours are dropped where stdout is no terminal or NO_COLOR is set, and kept where
//! CLICOLOR_FORCE is: `anstream` decides, so everybody may write styled text.

use std::io::{self, Write};

use lifetrace_human as human;
use lifetrace_report::style::Width;

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

/// Writes a text to stderr as it is. Where stderr is closed or full there is nobody to tell.
pub fn advise(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Whether what goes to stdout may have colours.
pub fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Whether the reader has seen enough, as `head` has: no reason to complain.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
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
