//! `lifetrace record`

mod format;
mod memtrace;
mod progress;
pub(super) mod quantity;
mod quoting;
mod sampling;
mod shortcomings;
mod signals;
mod snapshots;
mod telling;
mod untraced;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::builder::RangedU64ValueParser;
use lifetrace_recorder::{
    CollectorOptions, CommandEnd, Config, Format, Introduction, LaunchError, MOST_FRAMES, Outcome,
    Rate, Recording, Schedule, SourceChoice, StartError,
};

use crate::naming::{self, Verb};
use crate::{embedded, terminal};
use progress::ProgressLine;
use sampling::{Density, Probability};
use signals::{Attended, Signals};
use snapshots::SnapshotSignal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// Trace file; %p is the process id, %e what the program was run as, %% a percent sign. Where a name is needed
    /// twice, .2, .3 and so on is put before its suffix [default: lifetrace.%e.%p.lt]
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// What to write traces in: lt, or memtrace for OCaml Memtrace's tools. By default the suffix of
    /// the trace file decides, .ctf for memtrace
    #[arg(long, value_name = "FORMAT", value_parser = format::format)]
    format: Option<Format>,
    /// Have each trace say this; may be given several times
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = format::label)]
    labels: Vec<(String, String)>,
    /// Overwrite trace files that exist
    #[arg(short, long)]
    force: bool,
    /// What to sample: native for malloc and its like, ocaml for the heap of OCaml programs, ruby for the objects of
    /// Ruby programs, all for malloc and any of these, auto for OCaml's heap where there is one, for malloc and
    /// Ruby's objects where these are, and else for malloc
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = sampling::sources)]
    sources: SourceChoice,
    /// Sample once in so many bytes on average: 4096, 64KiB, 1MB; 1 records everything [default:
    /// 512KiB of malloc's; see --rate for others]
    #[arg(long, value_name = "SIZE", value_parser = sampling::interval)]
    interval: Option<Rate>,
    /// Sample with this probability each byte of malloc's, each word of OCaml's heap, each object of Ruby's: 1e-5; 1
    /// records everything. With --interval, which is malloc's then, of the others alone [default there: 1e-6 of OCaml's
    /// words, or MEMTRACE_RATE, and 1e-3 of Ruby's objects]
    #[arg(long, value_name = "R", value_parser = sampling::rate)]
    rate: Option<Probability>,
    /// Most frames of an OCaml or a Ruby backtrace; of deeper ones both ends are kept, and the cut is marked
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = stack_limit())]
    stack_limit: u32,
    /// Keep what Ruby's interpreter calls within itself in malloc's backtraces, inside of Ruby's own frames
    #[arg(long)]
    native_frames: bool,
    /// Seed of the sampler; the same one gives a single-threaded program the same samples
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Begin to sample after this time: 500ms, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = quantity::span)]
    delay: Duration,
    /// End the recording after this time, counted from the end of the delay; the command goes on
    #[arg(long, value_name = "TIME", value_parser = quantity::span)]
    duration: Option<Duration>,
    /// End a trace before it is longer than this: 100MiB, 1GB; the process goes on
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_size: Option<u64>,
    /// How often to note each process's memory and page faults, or off
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = counters)]
    counters: Counters,
    #[command(flatten)]
    snapshots: snapshots::Args,
    /// Print the report of the command's trace, too
    #[arg(long)]
    report: bool,
    /// Say nothing but errors and losses
    #[arg(short, long)]
    quiet: bool,
    /// Show how it goes even where stderr is no terminal, or the command uses it
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,
    /// Do not show how it goes
    #[arg(long)]
    no_progress: bool,
    /// Do not trace processes that the command starts
    #[arg(long)]
    no_children: bool,
    /// Do not look through the memory of processes, when they or the recording end, for blocks to which nothing points
    /// any more
    #[arg(long)]
    no_leak_check: bool,
    /// Keep the traces of processes in which nothing was sampled, too; the command's is always kept
    #[arg(long)]
    keep_empty: bool,
    /// Have the Memtrace that an OCaml program has linked in record it, instead of recording it from
    /// outside; the program alone, not what it starts. Of the other options, -o, --format, -f, --rate,
    /// --interval, --report and -q count
    #[arg(long, conflicts_with_all = ["sources", "labels", "seed", "delay", "duration", "max_size",
        "counters", "progress", "no_children", "keep_empty", "stack_limit", "native_frames",
        "no_leak_check", "on", "every", "at_exit", "after_gc", "when"])]
    memtrace: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXIT_CODES: &str = "\
Exit code: the command's own, 128 + N if signal N killed it; 125 if lifetrace failed, 126 if the \
command cannot be executed, 127 if it is not found.";

/// Of `record`, since every code from 0 to 124 may be the command's.
pub const OUR_FAILURE: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// As a shell that was interrupted.
const INTERRUPTED: u8 = 130;

/// What a command leaves behind is mentioned when it lives longer than this.
const AFTERLIFE: Duration = Duration::from_secs(1);

/// How often to note what a process uses; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counters(Option<Duration>);

/// How much is printed.
#[derive(Clone, Copy)]
struct Verbosity {
    report: bool,
    quiet: bool,
    /// `None`: where that makes sense.
    progress: Option<bool>,
}

/// More often costs more than it tells.
const SHORTEST_COUNTERS: Duration = Duration::from_millis(10);

fn counters(text: &str) -> Result<Counters, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(Counters(None));
    }
    let interval = quantity::span(text).map_err(|error| format!("{error}, or off"))?;
    if interval < SHORTEST_COUNTERS {
        return Err("must be at least 10ms".to_owned());
    }
    Ok(Counters(Some(interval)))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let verbosity = args.verbosity();
    let is_memtraces = args.memtrace;
    let snapshot_on = args.snapshots.on;
    let recorded = args.into_config().and_then(|config| match is_memtraces {
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

const VERB: Verb = Verb { name: "record", writes_memtrace: true, has_format: true, option: "-o " };

/// # Errors
/// If no trace is called like this.
fn refuse_name(output: &OsStr, decided: bool) -> anyhow::Result<()> {
    if output == "-" {
        bail!(
            "-o -: traces go to files, one for each process, and standard output is the command's\n  \
             name a file, such as -o trace.lt; a file called so is -o ./-"
        );
    }
    naming::refuse(VERB, output.as_ref(), decided)
}

impl Args {
    fn verbosity(&self) -> Verbosity {
        let progress = match (self.progress, self.no_progress || self.quiet) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        Verbosity { report: self.report, quiet: self.quiet, progress }
    }

    /// # Errors
    /// If the options contradict each other.
    fn into_config(self) -> anyhow::Result<Config> {
        if let Some(output) = &self.output {
            refuse_name(output, self.format.is_some())?;
        }
        let named = self.output.as_deref().and_then(Format::of_name);
        let format = self.format.or(named).unwrap_or_default();
        if format == Format::Memtrace && self.sources == SourceChoice::All {
            bail!(
                "Memtrace's format has room for one source; write a .lt trace, or choose --sources \
                 ocaml or native"
            );
        }
        let density = Density { interval: self.interval, rate: self.rate };
        let options = CollectorOptions {
            keep_empty: self.keep_empty,
            native_frames: self.native_frames,
            output: self.output.unwrap_or_else(|| format.default_template().into()).into(),
            format,
            labels: self.labels,
            looks_for_lost: !self.no_leak_check,
            introduction: Introduction::default(),
            overwrite: self.force,
            sources: self.sources,
            rates: density.rates(self.sources, rate_in_environment)?,
            stack_limit: self.stack_limit,
            seed: self.seed.unwrap_or_else(sampling::random_seed),
            follow_children: !self.no_children,
            schedule: Schedule { delay: self.delay, duration: self.duration },
            max_size: self.max_size,
            counters: self.counters.0,
            snapshots: self.snapshots.plan(self.force),
        };
        Ok(Config { command: self.command, preload: embedded::PRELOAD, options })
    }
}

fn stack_limit() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(2..=MOST_FRAMES.into())
}

/// What the environment says of a runtime's programs.
fn rate_in_environment(variable: &str) -> Option<Probability> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    let complain = |error: &String| {
        terminal::complain(format_args!("{variable}={text}: {error}; it is ignored"));
    };
    sampling::rate(&text).inspect_err(complain).ok()
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

fn tell(outcome: &Outcome, command: u32, verbosity: Verbosity) {
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
