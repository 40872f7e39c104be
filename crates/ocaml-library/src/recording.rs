//! The one recording of this process.

use std::io::Write;

use lifetrace_agent::host::Host;
use lifetrace_agent::phase::Start;
use lifetrace_inside::cell::RecordingCell;
use lifetrace_inside::preload;
use lifetrace_inside::process::Occasions;
use lifetrace_inside::running::Running;
use lifetrace_native::modules;
use lifetrace_ocaml::linked::{self, Memprof, Unable};
use lifetrace_recorder::{Collector, Outcome};

use crate::request::Request;
use crate::symbols;

/// What has come of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Recording,
    /// By the preload library.
    RecordedAlready,
    /// There is a recording, started here before.
    Active,
}

struct Recording {
    memprof: Memprof,
    running: Running,
}

static CURRENT: RecordingCell<Recording> = RecordingCell::new();

const HOST: Host = Host {
    // The recorder does not follow children.
    begin_session: |start: Start| start.finish(false),
    announce_module: modules::announce_at,
    // A process does not look through itself.
    say_farewell: || {},
};

/// OCaml's own at_exit ends most; not that of a C program. If the program exits in the middle of a start or
/// an end, that is not waited for.
const OCCASIONS: Occasions = Occasions { at_exit, in_child: || {} };

/// Starts a recorder and connects the agent to it.
///
/// # Errors
/// With what the user should read.
pub(crate) fn start(request: &Request<'_>) -> Result<Started, String> {
    if preload::records() {
        return Ok(Started::RecordedAlready);
    }
    let mut current = CURRENT.enter();
    if current.get().is_some() {
        return Ok(Started::Active);
    }
    if current.forget_parents() {
        linked::reset_after_fork();
    }
    current.put(begin(request)?);
    Ok(Started::Recording)
}

/// What Memprof is to be started with.
pub(crate) fn memprof() -> Option<Memprof> {
    CURRENT.enter().get().map(|recording| recording.memprof)
}

/// Whether there is a recording of this process.
pub(crate) fn is_active() -> bool {
    CURRENT.enter().get().is_some()
}

/// `None` if there is no recording.
pub(crate) fn with_collector<T>(tell: impl FnOnce(&Collector) -> T) -> Option<T> {
    let current = CURRENT.enter();
    current.get().and_then(|recording| recording.running.collector()).map(tell)
}

/// Ends it, if there is one, and returns when its trace is written.
pub(crate) fn stop() {
    if let Some(recording) = CURRENT.enter().take() {
        tell_errors(&recording.end());
    }
}

/// Nothing more can be done about a trace that was not written; nor if nobody can be told.
fn tell_errors(outcome: &Outcome) {
    for trace in &outcome.sessions {
        if let Some(error) = &trace.error {
            let _ = writeln!(std::io::stderr(), "lifetrace: {}: {error}", trace.path.display());
        }
    }
}

/// Ends it and removes its trace.
pub(crate) fn abandon() {
    if let Some(recording) = CURRENT.enter().take() {
        linked::finish();
        recording.running.abandon();
    }
}

fn begin(request: &Request<'_>) -> Result<Recording, String> {
    let options = request.options()?;
    let running = Running::start(&options, OCCASIONS).map_err(|error| error.to_string())?;
    match linked::prepare(HOST, symbols::find) {
        Ok(memprof) => Ok(Recording { memprof, running }),
        Err(unable) => {
            running.abandon();
            Err(why(unable).to_owned())
        }
    }
}

fn why(unable: Unable) -> &'static str {
    match unable {
        Unable::NoRuntime => "this program has no native OCaml runtime (bytecode is not sampled)",
        Unable::UnknownRuntime => {
            "this version of OCaml has no Gc.Memprof that can be used: 4.11 to 4.14, and 5.3 and later do"
        }
        Unable::NotNow => "there is no memory for it",
    }
}

impl Recording {
    /// Ends it on both sides: what has been sampled is in the trace.
    fn end(self) -> Outcome {
        linked::finish();
        self.running.end()
    }
}

extern "C" fn at_exit() {
    if let Some(recording) = CURRENT.take_at_exit() {
        tell_errors(&recording.end());
    }
}
