//! A progress bar on stderr, for work that reads a file from one end to the other.

use std::any::Any;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lifetrace_human as human;
use lifetrace_study::watch::{Watch, unwatched};
use lifetrace_trace::Progress;

/// Shorter work has no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

const OF_KNOWN_LENGTH: &str =
    "{wide_bar} {percent} %, {binary_bytes} of {binary_total_bytes}, {msg}, {eta} left";
const OF_UNKNOWN_LENGTH: &str = "{spinner} {binary_bytes}, {msg}";

/// How far work has come.
pub trait Advance: Send + Sync + 'static {
    /// Bytes read.
    fn bytes(&self) -> u64;

    /// Events and facts read, if the work is about events.
    fn records(&self) -> Option<u64>;
}

impl Advance for Progress {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn records(&self) -> Option<u64> {
        Some(self.records())
    }
}

/// Counts what is read through it.
pub struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    /// Nothing has been read.
    pub fn new(inner: R) -> Self {
        Self { inner, count: Arc::default() }
    }

    /// For a [bar](Bar::start).
    pub fn count(&self) -> Arc<AtomicU64> {
        self.count.clone()
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

impl Advance for AtomicU64 {
    fn bytes(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn records(&self) -> Option<u64> {
        None
    }
}

/// The bar, as long as this lives; nothing where nobody sees it.
pub struct Bar(Option<Drawing>);

struct Drawing {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

/// Shows the reading of a trace as a bar.
///
/// # Errors
/// When no thread can be started.
pub fn watch(progress: Arc<Progress>, total: Option<u64>) -> io::Result<Box<dyn Any>> {
    Ok(Box::new(Bar::start(progress, total, false)?))
}

/// What shows the reading of a trace, or nothing if `quiet`.
pub fn unless(quiet: bool) -> Watch {
    if quiet { unwatched } else { watch }
}

impl Bar {
    /// Begins to show progress, `total` being the input's length in bytes if that is known.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(progress: Arc<impl Advance>, total: Option<u64>, quiet: bool) -> io::Result<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if quiet || is_dumb || !io::stderr().is_terminal() {
            return Ok(Self(None));
        }
        let (stop, stopped) = mpsc::channel();
        let draw = move || draw(&*progress, total, &stopped);
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

fn draw(progress: &impl Advance, total: Option<u64>, stopped: &Receiver<()>) {
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
        bar.set_message(speed(progress, begun.elapsed()));
        bar.set_position(progress.bytes());
        bar.tick();
        if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return bar.finish_and_clear();
        }
    }
}

fn speed(progress: &impl Advance, elapsed: Duration) -> String {
    let a_second = |number: u64| (number as f64 / elapsed.as_secs_f64()).round();
    match progress.records() {
        Some(events) => format!("{} events/s", human::count(a_second(events))),
        None => format!("{}/s", human::bytes(a_second(progress.bytes()))),
    }
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
        struct Events(u64);
        impl Advance for Events {
            fn bytes(&self) -> u64 {
                7
            }
            fn records(&self) -> Option<u64> {
                Some(self.0)
            }
        }
        assert_eq!(speed(&Events(3_000_000), Duration::from_secs(2)), "1,500,000 events/s");
        assert_eq!(speed(&Events(1), Duration::from_secs(3)), "0 events/s");
        assert_eq!(speed(&AtomicU64::new(6 << 20), Duration::from_secs(2)), "3 MiB/s");
    }

    #[test]
    fn what_is_read_is_counted() {
        let mut counted = Counted::new(&[1; 10][..]);
        let count = counted.count();
        counted.read_exact(&mut [0; 7]).unwrap();
        assert_eq!(count.bytes(), 7);
    }
}
