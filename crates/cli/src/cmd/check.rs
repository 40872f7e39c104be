//! `lifetrace check`: reads all of each trace, backtraces and facts included, and says whether that is
//! possible: checksums, the sequence of packets, and the index against what is there.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_human::json_text;
use serde::Serialize;

use crate::terminal;

mod counted;
mod verdict;

use verdict::Verdict;

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The traces; - is standard input
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

#[derive(Serialize)]
struct Document {
    traces: Vec<Verdict>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let (true, Some(output)) = (args.repair, &args.output) {
        let [trace] = &args.traces[..] else {
            bail!("--repair takes one trace\n  repair each one for itself");
        };
        return super::repair::run(trace, output, args.force);
    }
    let mut document = Document { traces: Vec::new() };
    for path in &args.traces {
        let verdict = Verdict::of(path);
        if verdict.is_ok() && !args.json {
            terminal::print(&verdict.text())?;
        }
        document.traces.push(verdict);
    }
    if args.json {
        terminal::print(&json_text::pretty(&document)?)?;
    }
    let all_ok = document.traces.iter().all(Verdict::is_ok);
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
