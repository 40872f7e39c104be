//! `lifetrace check`: reads all of each trace, backtraces and facts included, and says whether that is
//! possible: checksums, the sequence of packets, and the index against what is there. Of heap snapshots as well.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_human::json_text;
use serde::Serialize;

use super::lth;
use crate::terminal;

mod counted;
mod verdict;

use verdict::Verdict;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The traces, or heap snapshots (.lth); - is standard input, of traces only
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Write what can be read of a trace to a new one, given by -o
    #[arg(long, requires = "output")]
    repair: bool,
    /// Where --repair writes to
    #[arg(short, long, value_name = "FILE", requires = "repair")]
    output: Option<PathBuf>,
    /// Overwrite the output if it exists
    #[arg(short, long, requires = "repair")]
    force: bool,
    /// Write JSON (see docs/json.md)
    #[arg(long, conflicts_with = "repair")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace check *.lt
  lifetrace check --repair damaged.lt -o whole.lt";

#[derive(Serialize)]
struct Document {
    traces: Vec<Checked>,
}

/// A file that was read.
#[derive(Serialize)]
#[serde(untagged)]
enum Checked {
    Trace(Verdict),
    Snapshot(lth::Verdict),
}

impl Checked {
    fn of(path: &Path) -> Checked {
        // What cannot be opened is told where traces are.
        match lth::open(path) {
            Ok(Some(file)) => Checked::Snapshot(lth::Verdict::of(path, file)),
            _ => Checked::Trace(Verdict::of(path)),
        }
    }

    fn is_ok(&self) -> bool {
        match self {
            Checked::Trace(verdict) => verdict.is_ok(),
            Checked::Snapshot(verdict) => verdict.is_ok(),
        }
    }

    fn text(&self) -> String {
        match self {
            Checked::Trace(verdict) => verdict.text(),
            Checked::Snapshot(verdict) => verdict.text(),
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let (true, Some(output)) = (args.repair, &args.output) {
        let [trace] = &args.traces[..] else {
            bail!("--repair takes one trace\n  repair each one for itself");
        };
        if lth::open(trace)?.is_some() {
            bail!("--repair is about traces\n  lifetrace heap reads of a snapshot what is whole")
        }
        return super::repair::run(trace, output, args.force);
    }
    let mut document = Document { traces: Vec::new() };
    for path in &args.traces {
        let verdict = Checked::of(path);
        if verdict.is_ok() && !args.json {
            terminal::print(&verdict.text())?;
        }
        document.traces.push(verdict);
    }
    if args.json {
        terminal::print(&json_text::pretty(&document)?)?;
    }
    let all_ok = document.traces.iter().all(Checked::is_ok);
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
