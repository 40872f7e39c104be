//! The one recording of this process. \[UNSAFE\]
//!
//! It belongs to the process that has started it. A forked child finds another process's there, whose
//! threads it does not have and whose files are not its own: that is forgotten as it is, never dropped.

use std::ffi::{CStr, OsStr, OsString, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::id;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Start};
use lifetrace_agent::room;
use lifetrace_native::{executable, modules};
use lifetrace_ocaml::linked::{self, Memprof, Unable};
use lifetrace_ocaml::start::Host;
use lifetrace_recorder::{
    Collector, CollectorOptions, Format, Introduction, MOST_FRAMES, Outcome, OutputError, Rate,
    Rates, Schedule, Socket, SourceChoice,
};
use lifetrace_transport::message::Body;
use rustix::process::getpid;

use crate::{signals, symbols};

const COUNTERS: Duration = Duration::from_millis(100);

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) output: Output<'a>,
    /// What the program says of itself; empty for its command line.
    pub(crate) context: &'a str,
    /// The runtime's.
    pub(crate) parameters: &'a str,
    /// Probability that a word is hit.
    pub(crate) rate: f64,
}

/// Where the trace goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    /// As `lifetrace record -o` has it: with placeholders, and nothing is overwritten.
    Template(&'a OsStr),
    /// As Memtrace has it: this file, overwritten if it is there.
    File(&'a OsStr),
}

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
    if let Some(recording) = take() {
        for trace in &recording.end().sessions {
            if let Some(error) = &trace.error {
                eprintln!("lifetrace: {}: {error}", trace.path.display());
            }
        }
    }
}

/// Ends it and removes its trace.
pub(crate) fn abandon() {
    if let Some(recording) = take() {
        for trace in recording.end().sessions.iter().filter(|trace| trace.path.is_file()) {
            // It is as good as empty; nothing depends on it.
            let _ = std::fs::remove_file(&trace.path);
        }
    }
}

fn current() -> MutexGuard<'static, Option<Recording>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take() -> Option<Recording> {
    current().take_if(|recording| recording.process == id())
}

fn begin(request: &Request<'_>) -> Result<Recording, String> {
    let options = options(request)?;
    let executable = std::env::current_exe().unwrap_or_default();
    options.check(&executable).map_err(|error| of_output(&error))?;
    let start = phase::claim_restart().ok_or("the agent is busy in this process")?;
    let socket = Socket::bind_abstract().or_else(|_| Socket::bind());
    let started = socket.map_err(|error| format!("cannot open a socket: {error}")).and_then(|it| {
        let path = it.path().as_os_str().to_owned();
        let collector = signals::without(|| Collector::start(it, &options, Some(getpid())));
        Ok((collector.map_err(|error| error.to_string())?, path))
    });
    let (collector, path) = match started {
        Ok(started) => started,
        Err(message) => {
            start.finish(false);
            return Err(message);
        }
    };
    connect(start, collector, path.as_bytes())
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
            collector.finish();
            Err(why(unable).to_owned())
        }
    }
}

/// What the command says of its options.
fn of_output(error: &OutputError) -> String {
    match error {
        OutputError::Placeholder { template, placeholder } => format!(
            "{}: '%{placeholder}' means nothing; there are %p (process id), %e (program) and %%",
            template.display()
        ),
        OutputError::Exists(path) => {
            format!(
                "{} exists, and is not overwritten; %p in a name is the process id",
                path.display()
            )
        }
        OutputError::Io { .. } => error.to_string(),
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

fn options(request: &Request<'_>) -> Result<CollectorOptions, String> {
    let rate = Rate::from_probability_per_word(request.rate)
        .ok_or_else(|| format!("the sampling rate {} is not between 0 and 1", request.rate))?;
    let (output, format, overwrite) = match request.output {
        Output::Template(template) => {
            (template.to_owned(), Format::of_name(template).unwrap_or_default(), false)
        }
        Output::File(path) => {
            (literal(path), Format::of_name(path).unwrap_or(Format::Memtrace), true)
        }
    };
    Ok(CollectorOptions {
        output,
        format,
        overwrite,
        sources: SourceChoice::Linked,
        rates: Rates::all(rate),
        stack_limit: MOST_FRAMES,
        seed: 0,
        follow_children: false,
        schedule: Schedule::default(),
        max_size: None,
        counters: Some(COUNTERS),
        labels: Vec::new(),
        introduction: Introduction {
            context: request.context.to_owned(),
            runtime_params: request.parameters.to_owned(),
        },
    })
}

/// A template that stands for this very path.
fn literal(path: &OsStr) -> OsString {
    let doubled = path.as_bytes().iter().flat_map(|&byte| match byte {
        b'%' => vec![byte, byte],
        _ => vec![byte],
    });
    OsString::from_vec(doubled.collect())
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

extern "C" fn at_exit() {
    stop();
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
