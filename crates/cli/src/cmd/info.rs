//! `lifetrace info`

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::open::Backtraces;
use crate::report::{Flaw, Subject, to_json};
use crate::summary::Reading;
use crate::{summary, terminal};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace
    trace: PathBuf,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    trace: Subject<'a>,
    damage: Option<Flaw>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reading = summary::read(&args.trace, Backtraces::Skip)?;
    let text = if args.json { json(&reading)? } else { text(&reading) };
    terminal::print(&text)?;
    Ok(super::conclude(reading.damage.as_ref()))
}

fn text(reading: &Reading) -> String {
    let subject = Subject::new(reading, &reading.profile.summary());
    subject.facts().join("\n") + "\n"
}

fn json(reading: &Reading) -> serde_json::Result<String> {
    to_json(&Document {
        trace: Subject::new(reading, &reading.profile.summary()),
        damage: reading.damage.as_ref().map(Flaw::new),
    })
}
