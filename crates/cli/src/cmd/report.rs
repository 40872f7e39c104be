//! `lifetrace report`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::error::ErrorKind;
use lifetrace_analysis::filter::{ByteSize, Micros};
use lifetrace_analysis::gate::{Gate, Measure, WholeProgram};
use lifetrace_analysis::statistics::Growth;
use lifetrace_analysis::{Metric, Summary};
use lifetrace_heap::{newest_beside, ways};
use lifetrace_human::named::Named;
use lifetrace_report::style::Width;
use lifetrace_report::{Beside, Judged, OF_SEVERAL, Options, Report, Resident, Several, Sum, Ways};
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_study::damage::Damage;
use lifetrace_study::damages::Damages;
use lifetrace_study::origin::Origin;
use lifetrace_study::question::ViewName;
use lifetrace_study::sought::Sought;
use lifetrace_trace::ids::{Bytes, Timestamp};

use super::record::quantity;
use crate::bar;
use crate::choosing;
use crate::gates;
use crate::terminal;
use crate::tips;
use crate::typed::one_of;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace; - is standard input. Several are added up, callsite by callsite
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Show what each process has, before what all have (views summary, hot, tree, paths, functions, classes)
    #[arg(long)]
    per_process: bool,
    /// The question to answer
    #[arg(long, value_parser = one_of::<ViewName>(), default_value = ViewName::default().name())]
    view: ViewName,
    /// Show so many callsites, functions, threads
    #[arg(long, value_name = "N", default_value_t = Options::default().top)]
    top: usize,
    /// What it is about, where the view does not say: what callsites have most of comes first
    #[arg(long, visible_alias = "sort", value_enum)]
    metric: Option<MetricName>,
    /// Of --view tree: from the callsites to their callers; with --focus from the last function of it
    #[arg(long)]
    inverted: bool,
    /// Of --view leaks: how much memory there is to fill
    #[arg(long, value_name = "SIZE", default_value_t = Options::default().limit, value_parser = limit)]
    limit: ByteSize,
    /// Of --view temporary: what lives shorter than this
    #[arg(long, value_name = "TIME", default_value_t = Options::default().below, value_parser = below)]
    below: Micros,
    #[command(flatten)]
    choice: choosing::Args,
    /// Exit with 1 if this is surely true: 'live > 100MB', 'growth > 1MB/h' (see docs/reports.md)
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Let estimates decide what is true, even where that may be noise
    #[arg(long, requires = "fail_if")]
    strict: bool,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace report lifetrace.server.1234.lt
  lifetrace report --view leaks --limit 2GiB lifetrace.server.1234.lt
  lifetrace report --metric peak --filter 'size > 1MiB' lifetrace.server.1234.lt
  lifetrace report --fail-if 'growth > 1MB/h' lifetrace.server.1234.lt   exits with 1 if that is sure
`lifetrace help reports` says how to read each view.";

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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options {
        view: args.view,
        top: args.top,
        asked_metric: args.metric.map(Metric::from),
        metric: args.metric.unwrap_or_default().into(),
        inverted: args.inverted,
        limit: args.limit,
        below: args.below,
        json: args.json,
    };
    let gates = Gates { gates: gates::parse(&args.fail_if)?, is_strict: args.strict };
    let choice = args.choice.choice()?;
    if let Some(tip) = args.traces.iter().find_map(|trace| tips::view_as_file(trace)) {
        bail!(tip);
    }
    let is_one = args.traces.len() == 1 && !args.per_process;
    let mut sought = Sought::of(&choice);
    let (damages, judged) = if is_one {
        let (damages, judged) = write(&args.traces[0], &options, choice, &gates, &mut sought)?;
        (vec![damages], judged)
    } else {
        refuse_what_has_no_sum(&options, &gates).unwrap_or_else(|misuse| misuse.exit());
        write_sum(&args.traces, &options, choice, &gates, args.per_process, &mut sought)?
    };
    let damage = super::worst(damages.iter().map(super::conclude).collect::<Vec<_>>());
    let unmet = gates::conclude_sought(&sought, args.strict && !judged.is_empty());
    Ok(super::worst([damage, gates::conclude(&judged), unmet]))
}

/// # Errors
/// If something is asked for that several traces do not have together.
fn refuse_what_has_no_sum(options: &Options, gates: &Gates) -> Result<(), clap::Error> {
    let misuse = |text: &str| {
        let command = clap::Command::new("lifetrace report");
        <Args as clap::Args>::augment_args(command).error(ErrorKind::ArgumentConflict, text)
    };
    if !OF_SEVERAL.contains(&options.view) {
        let names = OF_SEVERAL.map(ViewName::name).join(", ");
        let text = format!(
            "the view {} is of one trace: times of several processes do not add up. Of several traces, and with --per-process, there are {names}",
            options.view.name()
        );
        return Err(misuse(&text));
    }
    let of_one = [Measure::Peak, Measure::Growth];
    match gates.gates.iter().find(|gate| of_one.contains(&gate.measure())) {
        Some(gate) => Err(misuse(&format!(
            "the condition '{gate}' is of one trace: peaks of several processes are at different times, and what they hold ends with them. Of several traces, and with --per-process, there are conditions on live, leaked, allocated and objects"
        ))),
        None => Ok(()),
    }
}

/// What a trace must not be.
#[derive(Debug, Default)]
struct Gates {
    gates: Vec<Gate>,
    is_strict: bool,
}

impl Gates {
    fn judge(&self, study: &Study) -> anyhow::Result<Vec<Judged>> {
        let profile = &study.reading.profile;
        let growth = if self.gates.iter().any(|gate| gate.measure() == Measure::Growth) {
            let mut program = WholeProgram::new(profile.replay().start());
            study.replay(&mut program)?;
            program.growth()
        } else {
            None
        };
        let origin = study.reading.origin();
        let judged = self.judge_totals(&profile.summary(), growth.as_ref(), &origin);
        let judged = self.gates.iter().zip(judged);
        Ok(judged.map(|(gate, judged)| judged.compared(gate, beside(study, gate))).collect())
    }

    fn judge_totals(
        &self,
        summary: &Summary,
        growth: Option<&Growth>,
        origin: &Origin,
    ) -> Vec<Judged> {
        let caveat = origin.caveat();
        let judge = |gate| Judged::of_trace(gate, caveat, summary, growth, self.is_strict);
        self.gates.iter().map(judge).collect()
    }
}

/// The memory that a condition on what lives is silent about.
fn beside(study: &Study, gate: &Gate) -> Option<Beside> {
    let resident = match gate.measure() {
        Measure::Peak => Resident::at_peak(study),
        Measure::Live | Measure::Leaked | Measure::Growth => Resident::of(study),
        Measure::Allocated | Measure::Objects => None,
    }?;
    let sentence = resident.unexplained()?;
    let value = match gate.measure() {
        Measure::Growth => study.reading.resident.growth()?.per_hour,
        _ => resident.moment().resident as f64,
    };
    Some(Beside { value, sentence })
}

/// Writes the report of a trace to stdout. Gives back the first thing that was wrong with the trace.
///
/// # Errors
/// If the trace cannot be opened, or stdout not be written.
pub fn print(path: &Path, options: &Options) -> anyhow::Result<Option<Damage>> {
    let (gates, mut sought) = (Gates::default(), Sought::default());
    let (damages, _) = write(path, options, Choice::default(), &gates, &mut sought)?;
    Ok(damages.into_first())
}

fn write(
    path: &Path,
    options: &Options,
    choice: Choice,
    gates: &Gates,
    sought: &mut Sought,
) -> anyhow::Result<(Damages, Vec<Judged>)> {
    let study = Study::of(path, choice, bar::watch)?;
    let (origin, path) = (study.reading.origin(), &study.reading.trace.path);
    let metric = options.asked_metric.unwrap_or_else(|| origin.usual_metric());
    let options = &Options { metric, ..*options };
    origin.refuse_report(path, options.view, metric)?;
    origin.refuse_gates(path, &gates.gates)?;
    sought.look(&study.reading);
    let judged = gates.judge(&study)?;
    let width = if options.json { Width::ENDLESS } else { terminal::width() };
    let ways = || held_by_snapshot(&study);
    let report = Report::with_ways(&study, options, width, &ways)?;
    let text = if options.json { report.json(&judged)? } else { report.text() };
    terminal::print(&text)?;
    drop(report);
    Ok((study.reading.damages, judged))
}

/// What holds the blocks of a trace, by the newest snapshot of its process that lies beside it.
fn held_by_snapshot(study: &Study) -> Option<Ways> {
    /// Clocks of a trace and of a snapshot are read one after the other.
    const SLACK: u64 = 1_000_000_000;
    let (trace, replay) = (&study.reading.trace, study.reading.profile.replay());
    let nanos = |time: Timestamp| time.0.saturating_mul(1000);
    let (from, to) = (nanos(replay.start()), nanos(replay.end()).saturating_add(SLACK));
    // Of a damaged trace births have other numbers.
    let is_whole = study.reading.damages.is_empty();
    let path = is_whole.then(|| newest_beside(&trace.path, trace.info().pid, from, to))??;
    ways(&path).inspect_err(|error| terminal::complain(format_args!("{error:#}"))).ok()
}

/// Writes the report of several traces to stdout.
fn write_sum(
    paths: &[PathBuf],
    options: &Options,
    choice: Choice,
    gates: &Gates,
    is_per_process: bool,
    sought: &mut Sought,
) -> anyhow::Result<(Vec<Damages>, Vec<Judged>)> {
    let accept = |path: &Path, origin: &Origin| {
        origin.refuse_report(path, options.view, options.metric)?;
        origin.refuse_gates(path, &gates.gates)
    };
    let several = Several::of(paths, choice, options.metric, accept, sought, bar::watch)?;
    let judged = gates.judge_totals(&several.summary(), None, &several.origin());
    let judged = gates.gates.iter().zip(judged);
    let judged = judged.map(|(gate, it)| it.compared(gate, several.beside(gate.measure())));
    let judged: Vec<_> = judged.collect();
    let sum = Sum::new(&several, options, is_per_process)?;
    let text = if options.json { sum.json(&judged)? } else { sum.text(terminal::width()) };
    terminal::print(&text)?;
    drop(sum);
    Ok((several.into_damages(), judged))
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
