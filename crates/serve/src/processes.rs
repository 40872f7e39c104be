//! The processes as a document: those that are recorded, or those that have ended and left traces.

use std::collections::BTreeMap;

use lifetrace_human::json_text;
use lifetrace_recorder::{FolderTrace, ListedSession};
use lifetrace_report::{Total, number};
use serde::Serialize;

use crate::follower::Holding;

#[derive(Serialize)]
struct Document<T> {
    processes: Vec<T>,
}

#[derive(Serialize)]
struct Recorded<'a> {
    pid: u32,
    parent: u32,
    program: &'a str,
    since_us: u64,
    samples: u64,
    lost: u64,
    trace_bytes: u64,
    resident_bytes: u64,
    /// Whether the trace is read up to now, or why it is not.
    state: String,
    #[serde(flatten)]
    held: Option<Held>,
}

#[derive(Serialize)]
struct Held {
    live: Total,
    allocated: Total,
    /// Since when what is allocated is counted.
    allocated_since_us: u64,
    /// How many files were gone before they were read.
    missing_files: u64,
    lost_by_reason: BTreeMap<String, u64>,
    #[serde(serialize_with = "number")]
    sample_interval_bytes: f64,
    exact: bool,
    hears_all: bool,
    /// Up to when all this is known.
    now_us: u64,
}

#[derive(Serialize)]
struct Ended<'a> {
    pid: u32,
    program: &'a str,
    traces: Vec<&'a str>,
}

/// What is recorded now; beside each process what is known of its trace, or why that is not known.
///
/// # Errors
/// If a number cannot be written.
pub fn recorded(rows: &[(ListedSession, Result<Holding, String>)]) -> serde_json::Result<String> {
    let processes = rows.iter().map(|(session, held)| Recorded::of(session, held)).collect();
    json_text::pretty(&Document { processes })
}

/// What has ended and left traces, the last first; `is_recorded` says which processes have not.
///
/// # Errors
/// None, as far as is known.
pub fn ended(
    traces: &[FolderTrace],
    is_recorded: impl Fn(u32) -> bool,
) -> serde_json::Result<String> {
    let mut by_process: BTreeMap<(u32, &str), Vec<&str>> = BTreeMap::new();
    for trace in traces.iter().filter(|trace| trace.is_finished && !is_recorded(trace.pid)) {
        by_process.entry((trace.pid, &trace.program)).or_default().push(trace.name());
    }
    let mut processes: Vec<_> = by_process
        .into_iter()
        .map(|((pid, program), traces)| Ended { pid, program, traces })
        .collect();
    let end = |process: &Ended<'_>| {
        traces.iter().rposition(|it| Some(&it.name()) == process.traces.last())
    };
    processes.sort_by_key(|process| std::cmp::Reverse(end(process)));
    json_text::pretty(&Document { processes })
}

impl<'a> Recorded<'a> {
    fn of(session: &'a ListedSession, held: &Result<Holding, String>) -> Self {
        Self {
            pid: session.pid,
            parent: session.parent,
            program: &session.program,
            since_us: session.since.0,
            samples: session.samples,
            lost: session.lost,
            trace_bytes: session.bytes,
            resident_bytes: session.resident,
            state: held.as_ref().err().cloned().unwrap_or_else(|| "followed".to_owned()),
            held: held.as_ref().ok().map(Held::of),
        }
    }
}

impl Held {
    fn of(held: &Holding) -> Self {
        let lost = held.lost.iter().map(|(reason, &count)| (reason.to_string(), count));
        Self {
            live: Total::new(held.live, &held.sampling),
            allocated: Total::new(held.allocated, &held.sampling),
            allocated_since_us: held.since.0,
            missing_files: held.gaps,
            lost_by_reason: lost.collect(),
            sample_interval_bytes: held.sampling.interval_bytes(),
            exact: held.sampling.is_exact(),
            hears_all: held.sampling.hears_all(),
            now_us: held.now.0,
        }
    }
}
