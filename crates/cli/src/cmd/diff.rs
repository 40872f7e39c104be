//! `lifetrace diff`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_analysis::gate::ChangeGate;
use lifetrace_human::named::Named;
use lifetrace_report::diff::{By, Diff, Options};

use crate::gates;
use crate::terminal;
use crate::typed::one_of;
use crate::{bar, choosing};

use super::report::MetricName;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A trace of before and one of after
    #[arg(num_args = 0..=2, value_names = ["BEFORE", "AFTER"])]
    traces: Vec<PathBuf>,
    /// Traces of several runs before
    #[arg(long, num_args = 1.., value_name = "TRACE", requires = "after", conflicts_with = "traces")]
    before: Vec<PathBuf>,
    /// Traces of several runs after
    #[arg(long, num_args = 1.., value_name = "TRACE", requires = "before")]
    after: Vec<PathBuf>,
    /// What is compared
    #[arg(long, value_parser = one_of::<By>(), default_value = By::default().name())]
    by: By,
    /// What of it
    #[arg(long, value_enum, default_value_t)]
    metric: MetricName,
    /// Show so many changes
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show changes too that may be noise
    #[arg(long)]
    all: bool,
    /// How much of what is called significant may be noise, on average
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    level: f64,
    #[command(flatten)]
    choice: choosing::Args,
    /// Exit with 1 if this is surely true: 'allocated > +5%', 'live > +10MB' (see docs/reports.md)
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
  lifetrace diff before.lt after.lt
  lifetrace diff --fail-if 'allocated > +10%' before.lt after.lt     exits with 1 if that is sure";

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1, such as 0.05".to_owned()),
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let gates: Vec<ChangeGate> = gates::parse(&args.fail_if)?;
    let (before, after) = sides(args.traces, args.before, args.after)?;
    let options = Options {
        by: args.by,
        metric: args.metric.into(),
        top: args.top,
        level: args.level,
        all: args.all,
        choice: args.choice.choice()?,
    };
    let diff = Diff::of(&before, &after, options, bar::watch)?;
    diff.refuse(&gates)?;
    let judged = diff.judge(&gates, args.strict);
    let text = if args.json { diff.json(&judged)? } else { diff.text(terminal::width()) };
    terminal::print(&text)?;
    let damage = super::worst(diff.damages.iter().map(super::conclude).collect::<Vec<_>>());
    let unmet = gates::conclude_sought(&diff.sought, args.strict && !judged.is_empty());
    Ok(super::worst([damage, gates::conclude(&judged), unmet]))
}

/// Which traces are compared with which.
fn sides(
    traces: Vec<PathBuf>,
    before: Vec<PathBuf>,
    after: Vec<PathBuf>,
) -> anyhow::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    match <[PathBuf; 2]>::try_from(traces) {
        Ok([first, second]) => Ok((vec![first], vec![second])),
        Err(traces) if traces.is_empty() && !before.is_empty() => Ok((before, after)),
        Err(_) => bail!(
            "two traces are compared: lifetrace diff BEFORE AFTER, or several with --before and --after"
        ),
    }
}
