//! `lifetrace export`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use lifetrace_export::{Format, Metric, Options, PprofTypes};
use lifetrace_heap::{Opened, write_heapsnapshot};
use lifetrace_human::named;
use lifetrace_human::named::Named;
use lifetrace_study::Study;
use lifetrace_study::origin::Origin;
use lifetrace_study::sought::Sought;

use crate::output::{Content, Output};
use crate::typed::{Either, either, one_of};
use crate::{bar, choosing, gates, terminal};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace; - is standard input
    trace: PathBuf,
    /// What to write (see docs/exports.md)
    #[arg(short = 'F', long, value_parser = either::<Format, HeapFormat>())]
    format: Either<Format, HeapFormat>,
    /// The file to write; - is standard output
    #[arg(short, long, default_value = "-")]
    output: PathBuf,
    /// Overwrite the output if it exists
    #[arg(short, long)]
    force: bool,
    /// What to write where a format has room for one number; elsewhere, what is shown first
    #[arg(long, value_parser = one_of::<Metric>())]
    metric: Option<Metric>,
    /// Whose names the numbers of a pprof profile have
    #[arg(long, value_name = "NAMES", value_parser = one_of::<PprofTypes>())]
    pprof_types: Option<PprofTypes>,
    #[command(flatten)]
    choice: choosing::Args,
}

named! {
    /// What may be written of a heap.
    pub enum HeapFormat {
        /// Heap snapshots of V8, for Chrome's DevTools; of a snapshot (.lth) or a dump of Ruby's heap
        HeapSnapshot = "heapsnapshot",
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { trace, format, output, force, metric, pprof_types, choice } = args;
    let format = match format {
        Either::One(format) => format,
        Either::Other(HeapFormat::HeapSnapshot) => return export_heap(&trace, &output, force),
    };
    if pprof_types.is_some() && format != Format::Pprof {
        bail!("--pprof-types: is about pprof profiles\n  add -F pprof, or leave it out");
    }
    let content = format.binary().map_or(Content::Text, Content::Binary);
    let output = Output::of(content, &output, &trace, force)?;
    let choice = choice.choice()?;
    let mut sought = Sought::of(&choice);
    let study = Study::of(&trace, choice, bar::watch)?;
    sought.look(&study.reading);
    let origin = study.reading.origin();
    let metric = metric.unwrap_or_else(|| Metric::usual(&origin));
    refuse(&study, &origin, format, metric)?;
    if let Some(note) = origin.note().filter(|_| !format.has_notes()) {
        terminal::complain(format_args!("note: {}: {note}", study.reading.trace.path.display()));
    }
    let options = Options {
        metric,
        pprof_types: pprof_types.unwrap_or_default(),
        warn: |text| terminal::complain(text),
    };
    output.write(|file| format.write(&study, &options, file))?;
    gates::conclude_sought(&sought, false);
    Ok(super::conclude(&study.reading.damages))
}

/// Writes what a heap snapshot, or another program's dump, has.
fn export_heap(path: &Path, output: &Path, force: bool) -> anyhow::Result<ExitCode> {
    let output = Output::of(Content::Text, output, path, force)?;
    let opened = Opened::new(path)?;
    output.write(|file| {
        write_heapsnapshot(&opened, file).with_context(|| output.name().to_owned())
    })?;
    Ok(super::heap::conclude(&opened))
}

/// # Errors
/// If the trace is an import that does not tell what would be written.
fn refuse(study: &Study, origin: &Origin, format: Format, metric: Metric) -> anyhow::Result<()> {
    let path = &study.reading.trace.path;
    let what = format!("the format {}", format.name());
    origin.refuse(path, &what, format.needs())?;
    if format.has_metrics() {
        let what = format!("the metric {}", metric.name());
        origin.refuse(path, &what, metric.needs())?;
    }
    Ok(())
}
