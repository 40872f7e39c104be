//! A progress bar on stderr, for work that reads a trace from one end to the other.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lifetrace_trace::Progress;

use crate::human;

/// Shorter work has no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

const OF_KNOWN_LENGTH: &str =
    "{bar:30} {percent} %, {binary_bytes} of {binary_total_bytes}, {msg}, {eta} left";
const OF_UNKNOWN_LENGTH: &str = "{spinner} {binary_bytes}, {msg}";

/// The bar, as long as this lives; nothing where nobody sees it.
pub struct Bar(Option<Drawing>);

struct Drawing {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Bar {
    /// Begins to show progress, `total` being the input's length in bytes if that is known.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(progress: Arc<Progress>, total: Option<u64>, quiet: bool) -> io::Result<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if quiet || is_dumb || !io::stderr().is_terminal() {
            return Ok(Self(None));
        }
        let (stop, stopped) = mpsc::channel();
        let draw = move || draw(&progress, total, &stopped);
        let thread = std::thread::Builder::new().name("progress".into()).spawn(draw)?;
        Ok(Self(Some(Drawing { stop, thread })))
    }
}

/// Removes it.
impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(Drawing { stop, thread }) = self.0.take() {
            drop(stop);
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

fn draw(progress: &Progress, total: Option<u64>, stopped: &Receiver<()>) {
    let begun = Instant::now();
    if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), OF_KNOWN_LENGTH),
        None => (ProgressBar::new_spinner(), OF_UNKNOWN_LENGTH),
    };
    // The templates are ours; indicatif's own style would do as well.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    let bar = bar.with_elapsed(begun.elapsed());
    loop {
        bar.set_message(speed(progress.told(), begun.elapsed()));
        bar.set_position(progress.bytes());
        bar.tick();
        if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return bar.finish_and_clear();
        }
    }
}

fn speed(events: u64, elapsed: Duration) -> String {
    format!("{} events/s", human::count((events as f64 / elapsed.as_secs_f64()).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_understood() {
        for template in [OF_KNOWN_LENGTH, OF_UNKNOWN_LENGTH] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn speeds() {
        assert_eq!(speed(3_000_000, Duration::from_secs(2)), "1,500,000 events/s");
        assert_eq!(speed(1, Duration::from_secs(3)), "0 events/s");
    }
}
