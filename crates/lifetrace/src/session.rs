//! The one session of this process.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use lifetrace_agent::guard;
use lifetrace_inside::cell::{CellGuard, RecordingCell};
use lifetrace_inside::error::StartError;
use lifetrace_inside::preload;
use lifetrace_inside::process::Occasions;
use lifetrace_inside::running::Running;
use lifetrace_native::linked;
use lifetrace_recorder::heap::Heap;
use lifetrace_recorder::{Collector, CollectorError, CollectorOptions, Format};
use lifetrace_transport::handshake::JOINS_MARK;

use crate::density::Density;
use crate::error::Error;
use crate::hooks;
use crate::listening::{self, Audience, is_in_tracker};
use crate::snapshot::Snapshot;
use crate::summary::Summary;

/// A session under way. It ends when it is [stopped](Session::stop) or dropped, or with the process.
#[derive(Debug)]
#[must_use = "the session ends when this is dropped"]
pub struct Session {
    /// `None` if it is the preload library's.
    number: Option<u64>,
    /// Another process records.
    is_elsewhere: bool,
}

#[derive(Debug)]
struct Current {
    number: u64,
    /// Empty if there is no file.
    output: PathBuf,
    format: Format,
    /// `None` if nothing is recorded: there is a tracker, and that is all.
    heap: Option<Heap>,
    running: Running,
}

/// What `lifetrace record` looks for in a static program.
#[used]
static MARK: [u8; JOINS_MARK.len() + 2] = mark();

const fn mark() -> [u8; JOINS_MARK.len() + 2] {
    let mut string = [0; JOINS_MARK.len() + 2];
    let (_, end) = string.split_at_mut(1);
    let (middle, _) = end.split_at_mut(JOINS_MARK.len());
    middle.copy_from_slice(JOINS_MARK);
    string
}

static CURRENT: RecordingCell<Current> = RecordingCell::new();
static NUMBER: AtomicU64 = AtomicU64::new(0);

const OCCASIONS: Occasions = Occasions { at_exit, in_child };

pub(crate) fn start(
    options: &CollectorOptions,
    audience: Option<Audience>,
) -> Result<Session, Error> {
    if is_in_tracker() {
        return Err(Error::InTracker);
    }
    if preload::records() {
        return Ok(Session { number: None, is_elsewhere: true });
    }
    let mut current = CURRENT.enter();
    if let Some(active) = current.get() {
        return Err(Error::Active(active.output.clone()));
    }
    current.forget_parents();
    if !hooks::find_global() {
        return Err(Error::NoAllocator);
    }
    if !linked::prepare() {
        return Err(Error::NoMemory);
    }
    let is_recorded = audience.as_ref().is_none_or(|audience| audience.is_recorded);
    let running = run(options, audience)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let output = options.output.template().unwrap_or_default().into();
    let is_elsewhere = running.collector().is_none();
    let heap = options.output.heap().cloned().filter(|_| is_recorded && !is_elsewhere);
    current.put(Current { number, output, format: options.format, heap, running });
    hooks::count();
    Ok(Session { number: Some(number), is_elsewhere })
}

fn run(options: &CollectorOptions, audience: Option<Audience>) -> Result<Running, Error> {
    // A tracker alone has nothing to say to a recorder.
    let joined = match &audience {
        Some(audience) if !audience.is_recorded => None,
        _ => Running::join(OCCASIONS),
    };
    let running = joined.map_or_else(|| Running::start(options, OCCASIONS), Ok)?;
    let listens = audience.map_or(Ok(()), listening::begin);
    match listens {
        Ok(()) => Ok(running),
        Err(error) => {
            running.abandon();
            Err(StartError::from(CollectorError::System(error)).into())
        }
    }
}

impl Session {
    /// Ends the session, and returns when its trace is written.
    ///
    /// # Errors
    /// If the trace could not be written to its end, or if the session is not of this process: a forked
    /// child has its parent's sessions, but not their recorder.
    pub fn stop(mut self) -> Result<Summary, Error> {
        match self.number.take() {
            Some(number) => end(number),
            None => Ok(Summary::default()),
        }
    }

    /// Whether it is `lifetrace record` that records this process. Then that writes the trace, of all that
    /// it was told to; and it says at which rate. This session only says when, and not even that where `lifetrace
    /// record` hears the program without its help.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// From now on nothing is sampled; what was sampled before is followed to its end. It takes up to 20 ms
    /// until all threads know.
    pub fn pause(&self) {
        self.with(|current| current.running.collector().map(Collector::pause));
    }

    /// Undoes [`pause`](Session::pause).
    pub fn resume(&self) {
        self.with(|current| current.running.collector().map(Collector::resume));
    }

    /// From now on one sample is taken for so many bytes, on average. What the trace tells of earlier samples
    /// stays true, as it tells when the rate has changed. A session that is to be exact has to begin with an
    /// interval of 1: in another one threads do not wait for the recorder, and samples may get lost.
    ///
    /// # Errors
    /// If that is no interval; if the trace is in Memtrace's format, which has one rate; if the session has
    /// ended, or is [elsewhere](Session::is_elsewhere). Then the rate stays as it was.
    pub fn set_interval(&self, bytes: u64) -> Result<(), Error> {
        self.change_rate(Density::Interval(bytes))
    }

    /// From now on a byte is sampled with this probability; see [`set_interval`](Session::set_interval).
    ///
    /// # Errors
    /// If that is no probability; if the trace is in Memtrace's format, which has one rate; if the session has ended,
    /// or is [elsewhere](Session::is_elsewhere). Then the rate stays as it was.
    pub fn set_rate(&self, per_byte: f64) -> Result<(), Error> {
        self.change_rate(Density::PerByte(per_byte))
    }

    fn change_rate(&self, density: Density) -> Result<(), Error> {
        let rate = density.rate()?;
        if self.is_elsewhere {
            return Err(Error::Over);
        }
        self.with(|current| match current.format {
            Format::Memtrace => Err(Error::OneRate),
            Format::Lt if guard::change_rate(rate.per_word()) => {
                hooks::count();
                Ok(())
            }
            Format::Lt => Err(Error::Over),
        })
        .unwrap_or(Err(Error::Over))
    }

    /// What is live now, and what was allocated since the session began, as far as the recorder has come: it
    /// hears of a sample within a twentieth of a second, and is further behind where it looks up the names of
    /// much code for the first time. The program goes on meanwhile. `None` if the session has ended, is
    /// [elsewhere](Session::is_elsewhere), or keeps [nothing itself](crate::Recording::only).
    pub fn snapshot(&self) -> Option<Snapshot> {
        let heap = self.with(|current| current.heap.clone())??;
        Snapshot::take(&heap)
    }

    fn with<T>(&self, work: impl FnOnce(&Current) -> T) -> Option<T> {
        let current = enter()?;
        current.get().filter(|current| Some(current.number) == self.number).map(work)
    }
}

/// What is live now, as the session that is under way has it; see [`Session::snapshot`].
pub fn snapshot() -> Option<Snapshot> {
    let heap = enter()?.get()?.heap.clone()?;
    Snapshot::take(&heap)
}

/// A tracker runs while others may wait for it here.
fn enter() -> Option<CellGuard<'static, Current>> {
    (!is_in_tracker()).then(|| CURRENT.enter())
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            tell(end(number));
        }
    }
}

fn end(number: u64) -> Result<Summary, Error> {
    let mut current = enter().ok_or(Error::InTracker)?;
    match current.get() {
        Some(active) if active.number == number => take(&mut current),
        _ => Err(Error::Over),
    }
}

/// No other session starts before this one has ended.
fn take(current: &mut CellGuard<'_, Current>) -> Result<Summary, Error> {
    current.take().ok_or(Error::Over).and_then(|current| current.end(false))
}

impl Current {
    fn end(self, at_exit: bool) -> Result<Summary, Error> {
        hooks::count_no_more();
        let outcome = self.running.end();
        let shortfall = listening::end(at_exit);
        Ok(Summary::of(outcome)?.with(shortfall))
    }
}

/// If the program exits in the middle of a start or an end, that is not waited for.
extern "C" fn at_exit() {
    if let Some(current) = CURRENT.take_at_exit() {
        tell(current.end(true));
    }
}

fn in_child() {
    listening::reset_after_fork();
    hooks::reset_after_fork();
}

/// Nothing more can be done about a trace that was not written; nor if nobody can be told.
fn tell(end: Result<Summary, Error>) {
    if let Err(error @ Error::Write { .. }) = end {
        let _ = writeln!(std::io::stderr(), "lifetrace: {error}");
    }
}
