//! `lifetrace ps`

use std::process::ExitCode;

use lifetrace_human::{bytes, calendar, count, json_text, printable};
use lifetrace_recorder::{ListedSession, Recorder, recorders};
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use serde::Serialize;

use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace ps
  lifetrace ps --json | jq '.recorders[].processes[].trace'";

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let recorders = recorders();
    match args.json {
        true => terminal::print(&json_text::pretty(&Document::of(&recorders))?)?,
        false => terminal::print(&text(&recorders))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for each process that is recorded.
fn text(recorders: &[Recorder]) -> String {
    let sessions =
        || recorders.iter().flat_map(|it| it.recorded.sessions.iter().map(move |one| (it, one)));
    if sessions().next().is_none() {
        return "nothing is being recorded now, as far as this user may see\n".to_owned();
    }
    let mut table = Table::new([
        Column::right("PID"),
        Column::right("SAMPLES"),
        Column::right("LOST"),
        Column::right("SIZE"),
        Column::right("SINCE"),
        Column::right("RECORDER"),
    ]);
    for (recorder, session) in sessions() {
        let trace = match session.trace.as_os_str().is_empty() {
            true => "(no trace)".into(),
            false => session.trace.display().to_string(),
        };
        let name = format!("{}  {}", printable(&session.program), printable(&trace));
        let since = calendar::readable(session.since);
        let cells = [
            session.pid.to_string(),
            count(session.samples as f64),
            count(session.lost as f64),
            bytes(session.bytes as f64),
            since,
            recorder.pid.to_string(),
        ];
        table.row(cells.map(Cell::from), Tail::Note(name));
    }
    let mut page = Page::new(terminal::width());
    page.table(&table);
    page.text
}

#[derive(Serialize)]
struct Document<'a> {
    recorders: Vec<OfRecorder<'a>>,
}

#[derive(Serialize)]
struct OfRecorder<'a> {
    pid: u32,
    command: &'a str,
    since_us: Option<u64>,
    /// How many sessions have begun, those that are over included.
    begun: u64,
    processes: Vec<Process<'a>>,
}

#[derive(Serialize)]
struct Process<'a> {
    pid: u32,
    parent: u32,
    program: &'a str,
    trace: Option<String>,
    since_us: u64,
    trace_bytes: u64,
    samples: u64,
    resident_bytes: u64,
    lost: u64,
}

impl<'a> Document<'a> {
    fn of(recorders: &'a [Recorder]) -> Self {
        let of = |recorder: &'a Recorder| OfRecorder {
            pid: recorder.pid,
            command: &recorder.command,
            since_us: recorder.since.map(|since| since.0),
            begun: recorder.recorded.begun,
            processes: recorder.recorded.sessions.iter().map(Process::of).collect(),
        };
        Self { recorders: recorders.iter().map(of).collect() }
    }
}

impl<'a> Process<'a> {
    fn of(session: &'a ListedSession) -> Self {
        let trace = session.trace.display().to_string();
        Self {
            pid: session.pid,
            parent: session.parent,
            program: &session.program,
            trace: Some(trace).filter(|trace| !trace.is_empty()),
            since_us: session.since.0,
            trace_bytes: session.bytes,
            samples: session.samples,
            resident_bytes: session.resident,
            lost: session.lost,
        }
    }
}
