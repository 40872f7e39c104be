//! `lifetrace report`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lifetrace_analysis::Metric;
use lifetrace_analysis::filter::{ByteSize, Micros};
use lifetrace_trace::ids::Bytes;

use super::record::quantity;
use crate::choice::{self, Choice};
use crate::damage::Damage;
use crate::damages::Damages;
use crate::report::{Report, ViewName};
use crate::study::Study;
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace; - is standard input
    trace: PathBuf,
    /// The question to answer
    #[arg(long, value_enum, default_value_t)]
    view: ViewName,
    /// Show so many callsites, functions, threads
    #[arg(long, value_name = "N", default_value_t = Options::default().top)]
    top: usize,
    /// What it is about; of callsites, the first have most of it
    #[arg(long, visible_alias = "sort", value_enum, default_value_t)]
    metric: MetricName,
    /// The tree from the callsites to their callers
    #[arg(long)]
    inverted: bool,
    /// Of --view leaks: how much memory there is to fill
    #[arg(long, value_name = "SIZE", default_value_t = Options::default().limit, value_parser = limit)]
    limit: ByteSize,
    /// Of --view temporary: what lives shorter than this
    #[arg(long, value_name = "TIME", default_value_t = Options::default().below, value_parser = below)]
    below: Micros,
    #[command(flatten)]
    choice: choice::Args,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

/// The names of [`Metric`].
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum MetricName {
    /// Bytes ever allocated
    #[default]
    Allocated,
    /// Bytes live at the end
    Live,
    /// Bytes live when the program had most
    Peak,
    /// Objects ever allocated
    #[value(alias = "count")]
    Objects,
    /// Bytes ever allocated, times the seconds that they lived
    ByteSeconds,
}

/// How a report is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The question.
    pub view: ViewName,
    /// Number of callsites shown.
    pub top: usize,
    pub metric: Metric,
    pub inverted: bool,
    /// What leaks may fill.
    pub limit: ByteSize,
    /// What lives shorter is temporary.
    pub below: Micros,
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            view: ViewName::Summary,
            top: 10,
            metric: Metric::Allocated,
            inverted: false,
            limit: ByteSize(Bytes(4 << 30)),
            below: Micros::TEMPORARY,
            json: false,
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options {
        view: args.view,
        top: args.top,
        metric: args.metric.into(),
        inverted: args.inverted,
        limit: args.limit,
        below: args.below,
        json: args.json,
    };
    Ok(super::conclude(&write(&args.trace, &options, args.choice.choice()?)?))
}

/// Writes the report of a trace to stdout. Gives back the first thing that was wrong with the trace.
///
/// # Errors
/// If the trace cannot be opened, or stdout not be written.
pub fn print(path: &Path, options: &Options) -> anyhow::Result<Option<Damage>> {
    Ok(write(path, options, Choice::default())?.into_first())
}

fn write(path: &Path, options: &Options, choice: Choice) -> anyhow::Result<Damages> {
    let study = Study::of(path, choice)?;
    let report = Report::new(&study, options)?;
    let text = if options.json { report.json()? } else { report.text(terminal::width()) };
    terminal::print(&text)?;
    drop(report);
    Ok(study.reading.damages)
}

fn limit(text: &str) -> Result<ByteSize, String> {
    quantity::size(text).map(|bytes| ByteSize(Bytes(bytes)))
}

fn below(text: &str) -> Result<Micros, String> {
    let micros = u64::try_from(quantity::span(text)?.as_micros()).unwrap_or(u64::MAX);
    let micros = Micros::new(micros).filter(|micros| micros.get() > 0);
    micros.ok_or_else(|| "must be 1us or more, and less than 290000 years".to_owned())
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Allocated => Self::Allocated,
            MetricName::Live => Self::Live,
            MetricName::Peak => Self::Peak,
            MetricName::Objects => Self::Objects,
            MetricName::ByteSeconds => Self::ByteSeconds,
        }
    }
}
