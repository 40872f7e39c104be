//! `lifetrace export`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use lifetrace_analysis::Metric as Order;
use lifetrace_export::{Format, Metric, Options, PprofTypes};
use lifetrace_heap::{Opened, write_heapsnapshot};
use lifetrace_human::named;
use lifetrace_human::named::Named;
use lifetrace_study::Study;
use lifetrace_study::origin::Origin;
use lifetrace_study::sought::Sought;
use lifetrace_viewer::MOST_SAMPLES;

use crate::output::{Content, Output};
use crate::typed::{Either, either, one_of};
use crate::viewing::Wanted;
use crate::{bar, choosing, gates, terminal};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace; - is standard input. Of -F html there may be several, in one page
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// What to write (see docs/exports.md)
    #[arg(short = 'F', long, value_parser = either::<Format, OtherFormat>())]
    format: Either<Format, OtherFormat>,
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

const EXAMPLES: &str = "\
Examples:
  lifetrace export -F pprof lifetrace.server.1234.lt -o heap.pb.gz
  lifetrace export -F svg --metric peak lifetrace.server.1234.lt -o peak.svg
  lifetrace export -F html lifetrace.server.1234.lt -o server.html     the page of `lifetrace view`";

named! {
    /// What is not made of one trace.
    pub enum OtherFormat {
        /// Heap snapshots of V8, for Chrome's DevTools; of a snapshot (.lth) or a dump of Ruby's heap
        HeapSnapshot = "heapsnapshot",
        /// A page for browsers with all questions at the mouse: what `lifetrace view` shows
        Html = "html",
    }
}

/// What may be written, by name.
pub fn formats() -> Vec<&'static str> {
    let others = OtherFormat::ALL.iter().map(|format| format.name());
    Format::ALL.iter().map(|format| format.name()).chain(others).collect()
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { traces, format, output, force, metric, pprof_types, choice } = args;
    if format == Either::Other(OtherFormat::Html) {
        let metric = page_metric(metric)?;
        let wanted = Wanted {
            traces,
            choice: choice.choice()?,
            view: None,
            metric,
            most_samples: MOST_SAMPLES,
        };
        return export_page(wanted, &output, force);
    }
    let [trace] = traces.as_slice() else {
        bail!(
            "-F: of several traces together there is a page only\n  -F html, or one trace at a time"
        )
    };
    let format = match format {
        Either::One(format) => format,
        Either::Other(_) => return export_heap(trace, &output, force),
    };
    if pprof_types.is_some() && format != Format::Pprof {
        bail!("--pprof-types: is about pprof profiles\n  add -F pprof, or leave it out");
    }
    let content = format.binary().map_or(Content::Text, Content::Binary);
    let output = Output::of(content, &output, trace, force)?;
    let choice = choice.choice()?;
    let mut sought = Sought::of(&choice);
    let study = Study::of(trace, choice, bar::watch)?;
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

/// Writes a page.
fn export_page(wanted: Wanted, output: &Path, force: bool) -> anyhow::Result<ExitCode> {
    let inputs = wanted
        .traces
        .iter()
        .map(|trace| Output::of(Content::Binary("a page"), output, trace, force));
    let Some(output) = inputs.collect::<Result<Vec<_>, _>>()?.pop() else { bail!("which trace?") };
    let made = wanted.read()?;
    output.write(|file| made.page.write(file).with_context(|| output.name().to_owned()))?;
    Ok(super::conclude_page(&made))
}

/// What a page is first about.
fn page_metric(metric: Option<Metric>) -> anyhow::Result<Option<Order>> {
    let Some(metric) = metric else { return Ok(None) };
    let known = Order::ALL.into_iter().find(|known| known.name() == metric.name());
    let name = metric.name();
    known.map(Some).with_context(|| {
        format!(
            "--metric {name}: is none of the page's: {}",
            Order::ALL.map(Order::name).join(", ")
        )
    })
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
