//! The one recording of this process. \[UNSAFE\]

use std::ffi::c_void;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::host::Host;
use lifetrace_agent::phase::Start;
use lifetrace_inside::cell::RecordingCell;
use lifetrace_inside::preload;
use lifetrace_inside::process::Occasions;
use lifetrace_inside::running::Running;
use lifetrace_native::modules;
use lifetrace_recorder::heap::Heap;
use lifetrace_recorder::{Collector, Outcome};
use lifetrace_ruby::linked::{self, Unable};

use crate::machine;
use crate::request::Request;

/// What has come of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Recording,
    /// `lifetrace record` records this process already.
    Elsewhere,
}

/// What a recording has left.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Empty if there was to be no file.
    pub(crate) path: PathBuf,
    pub(crate) samples: u64,
    pub(crate) lost: u64,
    /// The trace has the greatest length that it may have.
    pub(crate) is_full: bool,
    /// Empty if the trace is written.
    pub(crate) error: String,
}

#[derive(Debug)]
struct Recording {
    heap: Heap,
    running: Running,
}

static CURRENT: RecordingCell<Recording> = RecordingCell::new();

/// For a forked child, which may find [`CURRENT`] locked by a thread that it does not have.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

const HOST: Host = Host {
    // The recorder does not follow children.
    begin_session: |start: Start| start.finish(false),
    announce_module: modules::announce_at,
    // A process does not look through itself.
    say_farewell: || {},
};

const OCCASIONS: Occasions = Occasions { at_exit, in_child };

/// Starts a recorder and the agent.
///
/// # Errors
/// With what the user should read.
pub(crate) fn start(request: &Request<'_>) -> Result<Started, String> {
    if preload::records() {
        return Ok(Started::Elsewhere);
    }
    let mut current = CURRENT.enter();
    if current.get().is_some() {
        return Err("a recording is under way: stop it first".to_owned());
    }
    current.forget_parents();
    current.put(begin(request)?);
    IS_ACTIVE.store(true, Ordering::Relaxed);
    Ok(Started::Recording)
}

/// Whether there is a recording of this process.
pub(crate) fn is_active() -> bool {
    CURRENT.enter().get().is_some()
}

/// What is live in it.
pub(crate) fn heap() -> Option<Heap> {
    CURRENT.enter().get().map(|recording| recording.heap.clone())
}

/// Samples nothing from now on; false if there is no recording.
pub(crate) fn pause() -> bool {
    with_collector(Collector::pause).is_some()
}

/// Samples again; false if there is no recording.
pub(crate) fn resume() -> bool {
    with_collector(Collector::resume).is_some()
}

/// Ends it, if there is one, and returns when its trace is written. Other threads go on meanwhile.
pub(crate) fn stop() -> Option<End> {
    let recording = CURRENT.enter().take()?;
    IS_ACTIVE.store(false, Ordering::Relaxed);
    // SAFETY: this is called by a method, with the machine's lock and outside of hooks.
    unsafe { linked::end() };
    let outcome = machine::get().without_lock(|| recording.running.end());
    Some(End::of(outcome))
}

/// `None` if there is no recording.
pub(crate) fn with_collector<T>(tell: impl FnOnce(&Collector) -> T) -> Option<T> {
    let current = CURRENT.enter();
    let collector = current.get().and_then(|recording| recording.running.collector());
    collector.map(tell)
}

fn begin(request: &Request<'_>) -> Result<Recording, String> {
    let heap = Heap::new();
    let options = request.options(&heap)?;
    let running = Running::start(&options, OCCASIONS).map_err(|error| error.to_string())?;
    // SAFETY: as in `stop`.
    match unsafe { linked::begin(HOST) } {
        Ok(()) => Ok(Recording { heap, running }),
        Err(unable) => {
            running.abandon();
            Err(why(unable).to_owned())
        }
    }
}

fn why(unable: Unable) -> &'static str {
    match unable {
        Unable::UnknownVersion => {
            "this version of Ruby has not been tried: objects of 3.1 to 3.4 can be sampled"
        }
        Unable::NotNow => "there is no memory for it",
    }
}

impl End {
    fn of(outcome: Outcome) -> End {
        // There is one process, and it had one session.
        let Some(report) = outcome.sessions.into_iter().next() else { return End::default() };
        End {
            path: report.path,
            samples: report.samples,
            lost: report.lost.iter().map(|(_, events)| events).sum(),
            is_full: report.is_full,
            error: report.error.map_or_else(String::new, |error| error.to_string()),
        }
    }
}

/// The machine is gone; what it has said is written.
extern "C" fn at_exit() {
    if let Some(recording) = CURRENT.take_at_exit() {
        let End { path, error, .. } = End::of(recording.running.end());
        if !error.is_empty() {
            // If nobody can be told, there is nothing more to be done.
            let _ = writeln!(std::io::stderr(), "lifetrace: {}: {error}", path.display());
        }
    }
}

/// A child that goes on as Ruby is recorded anew; one that executes another program does not come to that.
fn in_child() {
    if IS_ACTIVE.swap(false, Ordering::Relaxed) {
        // SAFETY: the thread that forks has the machine's lock; in a program that forks otherwise nobody has it, and
        // its child does nothing with the machine.
        unsafe { linked::postpone(forked) }
    }
}

unsafe extern "C" fn forked(_: *mut c_void) {
    machine::get().call_lifetrace(c"__forked");
}
