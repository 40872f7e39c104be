//! What may be typed of a recording, whatever is recorded.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use anyhow::bail;
use clap::builder::RangedU64ValueParser;
use lifetrace_recorder::{
    CollectorOptions, Format, Introduction, MOST_FRAMES, Rate, Schedule, SourceChoice,
};

use super::sampling::{Density, Probability};
use super::snapshots::SnapshotSignal;
use super::{format, quantity, sampling, snapshots};
use crate::naming::{self, Verb};
use crate::terminal;

/// How to record, and how much to say.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    how: How,
    /// Print the report of the command's trace, too
    #[arg(long)]
    report: bool,
    /// Say nothing but errors and losses
    #[arg(short, long)]
    quiet: bool,
    /// Show how it goes even where stderr is no terminal, or the program uses it [default: where stderr is a
    /// terminal, after two seconds]
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,
    /// Do not show how it goes
    #[arg(long)]
    no_progress: bool,
}

/// How something is recorded: what may be typed wherever something is.
#[derive(clap::Args)]
pub struct How {
    /// Trace file; %p is the process id, %e what the program was run as, %% a percent sign. Where a name is needed
    /// twice, .2, .3 and so on is put before its suffix [default: lifetrace.%e.%p.lt]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<OsString>,
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
    /// Ruby programs, mmap for memory that programs map themselves, all for malloc and any of these, auto for OCaml's
    /// heap where there is one, for malloc and Ruby's objects where these are, and else for malloc. mmap may be named
    /// beside another: native,mmap
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
    /// Keep what Ruby's or Python's interpreter calls within itself in malloc's backtraces
    #[arg(long)]
    native_frames: bool,
    /// Do not sample Python's objects of up to 512 bytes, which it has in arenas of its own: cheaper where a program
    /// makes very many
    #[arg(long)]
    no_small_objects: bool,
    /// Seed of the sampler; the same one gives a single-threaded program the same samples
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Begin to sample after this time: 500ms, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = quantity::span)]
    delay: Duration,
    /// End the recording after this time, counted from the end of the delay; the program goes on
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
}

/// How often to note what a process uses; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Counters(pub(in super::super) Option<Duration>);

/// How much is printed.
#[derive(Clone, Copy)]
pub(in super::super) struct Verbosity {
    pub(in super::super) report: bool,
    pub(in super::super) quiet: bool,
    /// `None`: where that makes sense.
    pub(in super::super) progress: Option<bool>,
}

/// More often costs more than it tells.
const SHORTEST_COUNTERS: Duration = Duration::from_millis(10);

pub(in super::super) fn counters(text: &str) -> Result<Counters, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(Counters(None));
    }
    let interval = quantity::span(text).map_err(|error| format!("{error}, or off"))?;
    if interval < SHORTEST_COUNTERS {
        return Err("must be at least 10ms".to_owned());
    }
    Ok(Counters(Some(interval)))
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

impl Options {
    pub(in super::super) fn verbosity(&self) -> Verbosity {
        let progress = match (self.progress, self.no_progress || self.quiet) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        Verbosity { report: self.report, quiet: self.quiet, progress }
    }

    /// Which signal means a snapshot.
    pub(in super::super) fn snapshot_signal(&self) -> Option<SnapshotSignal> {
        self.how.snapshots.on
    }

    /// What the recorder is to do.
    ///
    /// # Errors
    /// If the options contradict each other.
    pub(in super::super) fn into_options(self) -> anyhow::Result<CollectorOptions> {
        self.how.into_options()
    }
}

impl How {
    /// What a recorder is to do.
    ///
    /// # Errors
    /// If the options contradict each other.
    pub fn into_options(self) -> anyhow::Result<CollectorOptions> {
        if let Some(output) = &self.output {
            refuse_name(output, self.format.is_some())?;
        }
        let named = self.output.as_deref().and_then(Format::of_name);
        let format = self.format.or(named).unwrap_or_default();
        if format == Format::Memtrace && self.sources.has_mappings() {
            bail!(
                "Memtrace's format has room for one source; write a .lt trace, or choose --sources \
                 ocaml or native"
            );
        }
        let density = Density { interval: self.interval, rate: self.rate };
        Ok(CollectorOptions {
            keep_empty: self.keep_empty,
            native_frames: self.native_frames,
            small_objects: !self.no_small_objects,
            output: self.output.unwrap_or_else(|| format.default_template().into()).into(),
            format,
            labels: self.labels,
            looks_for_lost: !self.no_leak_check,
            standing: None,
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
        })
    }
}

pub(in super::super) fn stack_limit() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(2..=MOST_FRAMES.into())
}

/// What the environment says of a runtime's programs.
pub(in super::super) fn rate_in_environment(variable: &str) -> Option<Probability> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    let complain = |error: &String| {
        terminal::complain(format_args!("{variable}={text}: {error}; it is ignored"));
    };
    sampling::rate(&text).inspect_err(complain).ok()
}
