//! `lifetrace info`: what a trace, or a snapshot, says about itself.
//!
//! A finished `.lt` trace has an index, which says numbers and facts in an instant, whatever its
//! length; all others are read from the first event to the last.

use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_human::json_text;
use lifetrace_report::{Flaws, Known, Subject};
use lifetrace_study::damages::Damages;
use lifetrace_study::glance::{Glance, Look};
use lifetrace_study::open::Backtraces;
use serde::Serialize;

use super::lth;
use crate::{bar, terminal};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace, or a heap snapshot (.lth); - is standard input, of traces only
    trace: PathBuf,
    /// Read all of the trace, to count what its index does not, and to find damage
    #[arg(long)]
    all: bool,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace info lifetrace.server.1234.lt
  lifetrace info lifetrace.server.1234.1.lth     of a snapshot";

#[derive(Serialize)]
struct Document<'a> {
    trace: Subject<'a>,
    #[serde(flatten)]
    flaws: Flaws,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(file) = lth::open(&args.trace)? {
        return lth::info(&args.trace, file, args.json);
    }
    let look = if args.all { Look::NotWorthwhile } else { Glance::at(&args.trace)? };
    if let Look::Glance(glance) = look {
        return tell(Known::at_a_glance(&glance), &Damages::default(), args.json);
    }
    let reading = lifetrace_study::read(&args.trace, Backtraces::Skip, bar::watch)?;
    if matches!(look, Look::NoIndex) && reading.damages.unfinished.is_none() {
        let trace = args.trace.display();
        terminal::complain(format_args!("{trace}: has no index: all of it was read"));
    }
    tell(Known::of(&reading), &reading.damages, args.json)
}

fn tell(known: Known<'_>, damages: &Damages, as_json: bool) -> anyhow::Result<ExitCode> {
    let subject = Subject::new(known);
    let text = match as_json {
        true => json_text::pretty(&Document { trace: subject, flaws: Flaws::new(damages) })?,
        false => subject.facts(terminal::width()),
    };
    terminal::print(&text)?;
    Ok(super::conclude(damages))
}
