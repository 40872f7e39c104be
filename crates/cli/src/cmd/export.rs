//! `lifetrace export`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_export::{Format, Metric, Options, PprofTypes};
use lifetrace_human::named::Named;
use lifetrace_study::Study;
use lifetrace_study::origin::Origin;
use lifetrace_study::sought::Sought;

use crate::output::{Content, Output};
use crate::typed::one_of;
use crate::{bar, choosing, gates, terminal};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace; - is standard input
    trace: PathBuf,
    /// What to write (see docs/exports.md)
    #[arg(short = 'F', long, value_parser = one_of::<Format>())]
    format: Format,
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { trace, format, output, force, metric, pprof_types, choice } = args;
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
