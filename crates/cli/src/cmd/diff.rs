//! `lifetrace diff`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use crate::choice;
use crate::diff::{By, Diff, Options};
use crate::terminal;

use super::report::MetricName;

/// What may be typed.
#[derive(clap::Args)]
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
    #[arg(long, value_enum, default_value_t)]
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
    choice: choice::Args,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1, such as 0.05".to_owned()),
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { traces, mut before, mut after, by, metric, top, all, level, choice, json } = args;
    match <[PathBuf; 2]>::try_from(traces) {
        Ok([first, second]) => (before, after) = (vec![first], vec![second]),
        Err(traces) if traces.is_empty() && !before.is_empty() => {}
        Err(_) => bail!(
            "two traces are compared: lifetrace diff BEFORE AFTER, or several with --before and --after"
        ),
    }
    let options = Options { by, metric: metric.into(), top, level, all, choice: choice.choice()? };
    let diff = Diff::of(&before, &after, options)?;
    terminal::print(&if json { diff.json()? } else { diff.text(terminal::width()) })?;
    let codes = diff.damages.iter().map(super::conclude);
    Ok(codes.fold(
        ExitCode::SUCCESS,
        |worst, code| if code == ExitCode::SUCCESS { worst } else { code },
    ))
}
