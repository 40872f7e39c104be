//! `lifetrace record`

pub(super) mod format;
mod memtrace;
pub(super) mod options;
pub(super) mod progress;
pub(super) mod quantity;
mod quoting;
pub(super) mod sampling;
mod shortcomings;
pub(super) mod signals;
pub(super) mod snapshots;
pub(super) mod telling;
mod untraced;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lifetrace_recorder::{CommandEnd, Config, LaunchError, Outcome, Recording, StartError};

use crate::{embedded, terminal};
use options::{Options, Verbosity};
use progress::ProgressLine;
use signals::{Attended, Signals};
use snapshots::SnapshotSignal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Have the Memtrace that an OCaml program has linked in record it, instead of recording it from
    /// outside; the program alone, not what it starts. Of the other options, -o, --format, -f, --rate,
    /// --interval, --report and -q count
    #[arg(long, conflicts_with_all = ["sources", "labels", "seed", "delay", "duration", "max_size",
        "counters", "progress", "no_children", "keep_empty", "stack_limit", "native_frames",
        "no_small_objects", "no_leak_check", "on", "every", "at_exit", "after_gc", "when"])]
    memtrace: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace record --report -- ./server --port 8080
  lifetrace record --interval 64KiB -o run.lt -- make -j8        eight times as many samples as by default
  lifetrace record --snapshot-on USR1 -- ruby app.rb
What is between `--` and the end is the program's: options of lifetrace's stand before. `lifetrace help sampling` says which \
interval to choose.

Exit code: the command's own, 128 + N if signal N killed it; 125 if lifetrace failed, 126 if the \
command cannot be executed, 127 if it is not found.";

/// Of `record`, since every code from 0 to 124 may be the command's.
pub const OUR_FAILURE: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// As a shell that was interrupted.
const INTERRUPTED: u8 = 130;

/// What a command leaves behind is mentioned when it lives longer than this.
pub(super) const AFTERLIFE: Duration = Duration::from_secs(1);

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { options, memtrace: is_memtraces, command } = args;
    let (verbosity, snapshot_on) = (options.verbosity(), options.snapshot_signal());
    let config = options.into_options().map(|options| Config {
        command,
        preload: embedded::PRELOAD,
        options,
    });
    let recorded = config.and_then(|config| match is_memtraces {
        true => record_by_memtrace(&config, verbosity),
        false => record(&config, verbosity, snapshot_on),
    });
    let code = match recorded {
        Ok(code) => code,
        Err(failure) => {
            terminal::complain(format_args!("{failure:#}"));
            failure.downcast_ref().map_or(OUR_FAILURE, code_of)
        }
    };
    Ok(ExitCode::from(code))
}

fn record(
    config: &Config,
    verbosity: Verbosity,
    snapshot_on: Option<SnapshotSignal>,
) -> anyhow::Result<u8> {
    let signals = Signals::catch(snapshot_on)?;
    let recording = Recording::start(config)?;
    let signals = signals.attend(recording.control())?;
    let mut end = wait(&recording, &signals, verbosity)?;
    let outcome = recording.finish();
    tell(&outcome, recording.pid(), verbosity);
    if config.options.snapshots.at_exit {
        telling::tell_missing_snapshot(&outcome);
    }
    if end == CommandEnd::Abandoned {
        if !verbosity.quiet {
            terminal::complain("the recording is over; the command goes on");
        }
        end = recording.accompany_command();
    }
    Ok(exit_code(end, &outcome))
}

/// What Memtrace has not written is our failure.
fn record_by_memtrace(config: &Config, verbosity: Verbosity) -> anyhow::Result<u8> {
    let recorded = memtrace::record(config)?;
    match &recorded.trace {
        Some(trace) => telling::tell_one(trace, verbosity.quiet, verbosity.report),
        None => terminal::complain(format_args!(
            "process {} has written no trace: it ended before Memtrace.trace_if_requested, or does not \
             call it",
            recorded.pid
        )),
    }
    Ok(match recorded.end {
        CommandEnd::Exited(0) if recorded.trace.is_none() => OUR_FAILURE,
        CommandEnd::Exited(code) => code as u8,
        CommandEnd::Killed(signal) => 128 + signal as u8,
        CommandEnd::Abandoned => INTERRUPTED,
    })
}

/// Until there is nothing more to record, or recording is to end.
fn wait(
    recording: &Recording,
    signals: &Attended,
    verbosity: Verbosity,
) -> anyhow::Result<CommandEnd> {
    let line = match verbosity.progress {
        Some(false) => ProgressLine::none(),
        wish => ProgressLine::start(recording.control(), wish.is_some())?,
    };
    let end = recording.wait_for_command();
    if end != CommandEnd::Abandoned {
        signals.command_has_ended();
        wait_for_others(recording, &line, verbosity);
    }
    Ok(end)
}

pub(super) fn tell(outcome: &Outcome, command: u32, verbosity: Verbosity) {
    telling::tell(outcome, command, verbosity.quiet);
    if verbosity.report {
        telling::report(outcome, command);
    }
}

fn wait_for_others(recording: &Recording, line: &ProgressLine, verbosity: Verbosity) {
    if recording.wait_for_others(Some(Instant::now() + AFTERLIFE)) {
        return;
    }
    if !verbosity.quiet {
        let doing = match recording.living_processes() {
            0 => "writing traces".to_owned(),
            1 => "recording a process that it has started (Ctrl-C ends that)".to_owned(),
            count => format!("recording {count} processes that it has started (Ctrl-C ends that)"),
        };
        line.say(format_args!("the command has ended; still {doing}"));
    }
    recording.wait_for_others(None);
}

/// The command's own, unless that would hide a failure of ours behind a success.
fn exit_code(end: CommandEnd, outcome: &Outcome) -> u8 {
    match end {
        CommandEnd::Exited(0) if telling::has_failed(outcome) => OUR_FAILURE,
        CommandEnd::Exited(code) => code as u8,
        CommandEnd::Killed(signal) => 128 + signal as u8,
        CommandEnd::Abandoned => INTERRUPTED,
    }
}

fn code_of(error: &StartError) -> u8 {
    match error {
        StartError::Launch(LaunchError::NotFound(_)) => NOT_FOUND,
        StartError::Launch(LaunchError::NotExecutable { .. }) => NOT_EXECUTABLE,
        _ => OUR_FAILURE,
    }
}
