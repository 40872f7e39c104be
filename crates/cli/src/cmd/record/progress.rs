//! One line on the terminal that says how the recording goes.
//!
//! The terminal is the program's: what it prints comes first. So the line appears only when a
//! recording takes some time, is drawn once a second in one write, and is gone before anything else
//! is said; and it is not drawn while the program has the terminal to itself (an editor, a prompt:
//! the terminal is not in line mode then), or another job is in the foreground.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lifetrace_human as human;
use lifetrace_recorder::{Control, Figures};
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use crate::terminal;

/// A shorter recording has no line.
const PATIENCE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(1);

const WIDTH_ELSEWHERE: usize = 80;
const ERASE: &str = "\r\x1b[K";

/// The line, as long as this lives; nothing if nobody wants one.
pub(in super::super) struct ProgressLine(Option<Drawing>);

struct Drawing {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    is_drawn: Arc<AtomicBool>,
}

impl ProgressLine {
    /// A line on stderr, if that is a terminal. `forced` draws one also where it is not, and
    /// whatever mode the terminal is in.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(in super::super) fn start(control: Control, forced: bool) -> io::Result<ProgressLine> {
        let can_be_seen = io::stderr().is_terminal() && understands_codes();
        if !(forced || can_be_seen) {
            return Ok(ProgressLine::none());
        }
        let (stop, stopped) = mpsc::channel();
        let begun = Instant::now();
        let is_drawn = Arc::new(AtomicBool::new(false));
        let drawn = Arc::clone(&is_drawn);
        let draw = move || {
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = INTERVAL;
                if forced || terminal_is_ours() {
                    let parts = parts(begun.elapsed(), &control.figures());
                    write(&format!("{ERASE}{}", fitting(&parts, columns())));
                    drawn.store(true, Ordering::Relaxed);
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(draw)?;
        Ok(ProgressLine(Some(Drawing { stop, thread, is_drawn })))
    }

    /// No line.
    pub(in super::super) fn none() -> ProgressLine {
        ProgressLine(None)
    }

    /// Says something in the line's place; the line comes again below.
    pub(in super::super) fn say(&self, message: impl Display) {
        self.erase();
        terminal::complain(message);
    }

    fn erase(&self) {
        if let Some(drawing) = &self.0
            && drawing.is_drawn.swap(false, Ordering::Relaxed)
        {
            write(ERASE);
        }
    }
}

/// Erases it.
impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some(Drawing { stop, thread, is_drawn }) = self.0.take() {
            drop(stop);
            // A panic has been printed.
            let _ = thread.join();
            if is_drawn.load(Ordering::Relaxed) {
                write(ERASE);
            }
        }
    }
}

fn understands_codes() -> bool {
    std::env::var_os("TERM").is_none_or(|term| !term.is_empty() && term != "dumb")
}

/// Whether the terminal is in line mode and we are in its foreground.
fn terminal_is_ours() -> bool {
    let is_foreground = tcgetpgrp(io::stderr()).is_ok_and(|it| it == rustix::process::getpgrp());
    let has_lines =
        tcgetattr(io::stderr()).is_ok_and(|it| it.local_modes.contains(LocalModes::ICANON));
    is_foreground && has_lines
}

/// In one piece, so that it does not mix with what others write.
fn write(text: &str) {
    // A terminal that is gone has nobody before it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(WIDTH_ELSEWHERE, |(width, _)| usize::from(width.0))
}

/// As many of the parts, the first ones, as one line of the terminal has room for.
fn fitting(parts: &[String], columns: usize) -> String {
    let mut line = "lifetrace: ".to_owned();
    for (number, part) in parts.iter().enumerate() {
        let separator = if number == 0 { "" } else { ", " };
        // What is in the last column makes some terminals begin a new line. The parts are ASCII.
        if line.len() + separator.len() + part.len() >= columns {
            break;
        }
        line += &format!("{separator}{part}");
    }
    if line.len() < columns { line } else { String::new() }
}

fn parts(elapsed: Duration, figures: &Figures) -> [String; 6] {
    let processes = match figures.processes {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    [
        clock(elapsed.as_secs()),
        processes,
        format!("{} samples", human::count(figures.samples as f64)),
        human::bytes(figures.bytes as f64),
        format!("RSS {}", human::bytes(figures.resident as f64)),
        format!("{} lost", human::count(figures.lost as f64)),
    ]
}

/// `0:07`, `12:34`, `1:02:03`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line() {
        let figures =
            Figures { processes: 2, samples: 12_345, bytes: 80_000, resident: 3 << 20, lost: 0 };
        let parts = parts(Duration::from_millis(3_723_900), &figures);
        let line = "lifetrace: 1:02:03, 2 processes, 12,345 samples, 78.1 KiB, RSS 3 MiB, 0 lost";
        assert_eq!(fitting(&parts, 100), line);
        assert!(fitting(&parts, 100).is_ascii());
        assert_eq!((clock(7), clock(754)), ("0:07".to_owned(), "12:34".to_owned()));
    }

    /// Where there is no room for all of a number, there is none of it.
    #[test]
    fn a_line_is_never_two_and_no_number_is_cut() {
        let parts = parts(Duration::ZERO, &Figures::default());
        let whole = fitting(&parts, 100);
        for columns in 0..100 {
            let line = fitting(&parts, columns);
            assert!(line.len() < columns.max(1) && whole.starts_with(&line), "{columns}: {line}");
            let rest = &whole[line.len()..];
            assert!(
                line.len() < 12 || rest.is_empty() || rest.starts_with(','),
                "{columns}: {line}"
            );
        }
    }
}
