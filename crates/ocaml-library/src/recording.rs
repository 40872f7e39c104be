//! The one recording of this process. \[UNSAFE\]
//!
//! It belongs to the process that has started it. A forked child finds another process's there, whose
//! threads it does not have and whose files are not its own: that is forgotten as it is, never dropped.

use std::ffi::{CStr, OsString, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::id;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Start};
use lifetrace_agent::room;
use lifetrace_native::{executable, modules};
use lifetrace_ocaml::linked::{self, Memprof, Unable};
use lifetrace_ocaml::start::Host;
use lifetrace_recorder::{Collector, CollectorOptions, Outcome, Socket};
use lifetrace_transport::message::Body;
use rustix::process::getpid;

use crate::request::{self, Request};
use crate::{signals, symbols};

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
    process: u32,
    memprof: Memprof,
    collector: Collector,
}

static CURRENT: Mutex<Option<Recording>> = Mutex::new(None);

const HOST: Host = Host {
    // The recorder does not follow children.
    begin_session: |start: Start| start.finish(false),
    announce_modules: modules::refresh,
};

/// Starts a recorder and connects the agent to it.
///
/// # Errors
/// With what the user should read.
pub(crate) fn start(request: &Request<'_>) -> Result<Started, String> {
    if preload_records() {
        return Ok(Started::RecordedAlready);
    }
    let mut current = current();
    match current.take() {
        Some(active) if active.process == id() => {
            *current = Some(active);
            return Ok(Started::Active);
        }
        Some(parents) => {
            std::mem::forget(parents);
            linked::reset_after_fork();
        }
        None => {}
    }
    *current = Some(begin(request)?);
    Ok(Started::Recording)
}

/// What Memprof is to be started with.
pub(crate) fn memprof() -> Option<Memprof> {
    current().as_ref().map(|recording| recording.memprof)
}

/// Whether there is a recording of this process.
pub(crate) fn is_active() -> bool {
    current().as_ref().is_some_and(|recording| recording.process == id())
}

/// Ends it, if there is one, and returns when its trace is written.
pub(crate) fn stop() {
    if let Some(recording) = take(&mut current()) {
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
    if let Some(recording) = take(&mut current()) {
        remove_traces(&recording.end());
    }
}

fn remove_traces(outcome: &Outcome) {
    for trace in outcome.sessions.iter().filter(|trace| trace.path.is_file()) {
        // It is as good as empty; nothing depends on it.
        let _ = std::fs::remove_file(&trace.path);
    }
}

fn current() -> MutexGuard<'static, Option<Recording>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(current: &mut Option<Recording>) -> Option<Recording> {
    current.take_if(|recording| recording.process == id())
}

fn begin(request: &Request<'_>) -> Result<Recording, String> {
    let options = request.options()?;
    let executable = std::env::current_exe().unwrap_or_default();
    options.check(&executable).map_err(|error| request::explain(&error))?;
    let start = phase::claim_restart().ok_or("the agent is busy in this process")?;
    match collect(&options) {
        Ok((collector, path)) => connect(start, collector, path.as_bytes()),
        Err(message) => {
            start.finish(false);
            Err(message)
        }
    }
}

/// A recorder, and where it listens.
fn collect(options: &CollectorOptions) -> Result<(Collector, OsString), String> {
    let socket = Socket::bind_abstract().or_else(|_| Socket::bind());
    let socket = socket.map_err(|error| format!("cannot open a socket: {error}"))?;
    let path = socket.path().as_os_str().to_owned();
    let collector = signals::without(|| Collector::start(socket, options, Some(getpid())));
    Ok((collector.map_err(|error| error.to_string())?, path))
}

fn connect(start: Start, collector: Collector, path: &[u8]) -> Result<Recording, String> {
    prepare_once();
    let is_connected = start.connect_to(path).is_some();
    start.finish(is_connected);
    if !is_connected {
        let refusal = collector.finish().refusals.into_iter().next();
        return Err(refusal.map_or_else(|| "the recorder does not answer".into(), |it| it.reason));
    }
    match linked::prepare(HOST, &symbols::find) {
        Ok(memprof) => Ok(Recording { process: id(), memprof, collector }),
        Err(unable) => {
            phase::end();
            remove_traces(&collector.finish());
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
        let session = match guard::enter() {
            Entry::Recording(mut entered) => {
                entered.send(Body::Exiting);
                Some(entered.session())
            }
            Entry::Start(start) => {
                start.finish(false);
                None
            }
            Entry::Bypass => None,
        };
        phase::end();
        let outcome = self.collector.finish();
        if let Some(session) = session {
            session.give_back_rings();
        }
        outcome
    }
}

fn prepare_once() {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if !PREPARED.swap(true, Ordering::Relaxed) {
        room::take_note_of_main_stack();
        executable::take_note();
        // SAFETY: functions of this program.
        unsafe {
            // Programs that end without OCaml's at_exit, a C program's for one.
            libc::atexit(at_exit);
            libc::pthread_atfork(None, None, Some(in_child));
        }
    }
}

/// If the program exits in the middle of a start or an end, that is not waited for.
extern "C" fn at_exit() {
    let ended = CURRENT.try_lock().ok().and_then(|mut current| take(&mut current));
    if let Some(recording) = ended {
        tell_errors(&recording.end());
    }
}

extern "C" fn in_child() {
    phase::on_fork_in_child();
}

/// Whether the preload library is in this process and records it.
fn preload_records() -> bool {
    const NAME: &CStr = c"lifetrace_process_is_recorded";
    // SAFETY: a C string; the preload library's function has this type.
    unsafe {
        NonNull::new(libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr())).is_some_and(|found| {
            core::mem::transmute::<NonNull<c_void>, extern "C" fn() -> bool>(found)()
        })
    }
}
