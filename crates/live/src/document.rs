//! What is known now, for programs: `docs/json.md` describes its fields, which stay as they are.

use lifetrace_analysis::{Amount, Interval};
use lifetrace_human::json_text;
use lifetrace_report::{Quantity, Total, number};
use lifetrace_trace::fact::Exit;
use serde::{Serialize, Serializer};

use crate::board::{Board, Shown};
use crate::process::{Screen, Stage};
use crate::rows::{self, Holding, Movement, Row};

/// All processes.
#[derive(Serialize)]
struct Document {
    processes: Vec<Process>,
    /// Others that were recorded, and came and went or had nothing sampled.
    unseen: u64,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    parent: u32,
    program: String,
    trace: Option<String>,
    state: &'static str,
    exit_status: Option<i32>,
    exit_signal: Option<i32>,
    error: Option<String>,
    duration_us: u64,
    resident_bytes: Option<u64>,
    faults_per_second: Option<f64>,
    lost: u64,
    filter: Option<String>,
    /// What one should know before trusting the numbers.
    notes: Vec<String>,
    #[serde(flatten)]
    amounts: Option<Amounts>,
}

#[derive(Serialize)]
struct Amounts {
    sample_interval_bytes: f64,
    exact: bool,
    hears_all: bool,
    /// Different ones so far.
    backtraces: usize,
    totals: Holds<Total>,
    callsites_total: usize,
    callsites: Vec<Callsite>,
}

/// Of all blocks, or of a callsite's.
#[derive(Serialize)]
struct Holds<Q> {
    allocated: Q,
    peak: Q,
    live: Q,
    recent: Moved,
}

#[derive(Serialize)]
struct Callsite {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    share: f64,
    #[serde(flatten)]
    holds: Holds<Quantity>,
}

/// What came and went in the last minute.
struct Moved(Movement);

impl Serialize for Moved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            #[serde(serialize_with = "number")]
            seconds: f64,
            #[serde(serialize_with = "number")]
            change_bytes: f64,
            #[serde(serialize_with = "number")]
            change_low95: f64,
            #[serde(serialize_with = "number")]
            change_high95: f64,
            p_value: f64,
            allocated: Quantity,
        }
        let Movement { span, allocated, p_value, .. } = self.0;
        let Interval { low, high } = self.0.interval();
        Fields {
            seconds: span.as_secs_f64(),
            change_bytes: self.0.change(),
            change_low95: low,
            change_high95: high,
            p_value,
            allocated: Quantity(allocated),
        }
        .serialize(serializer)
    }
}

/// What is known now, with so many callsites of each process: in one line, or in several.
///
/// # Errors
/// If a number cannot be written.
pub fn json(board: &mut Board, top: usize, is_line: bool) -> serde_json::Result<String> {
    let view = board.view(&Screen::Processes);
    let mut known: Vec<_> = board
        .books()
        .map(|(session, book, sites)| (session.clone(), rows::amounts(book, sites)))
        .collect();
    let mut process = |shown: &Shown| {
        let at = known.iter().position(|(session, _)| session.is(&shown.session));
        let amounts = at.map(|at| known.swap_remove(at).1);
        Process::new(shown, amounts, view.filter.clone(), top)
    };
    let processes = view.processes.iter().map(&mut process).collect();
    let document = Document { processes, unseen: view.unseen };
    match is_line {
        true => serde_json::to_string(&document).map(|line| line + "\n"),
        false => json_text::pretty(&document),
    }
}

impl Process {
    fn new(
        shown: &Shown,
        amounts: Option<rows::Amounts>,
        filter: Option<String>,
        top: usize,
    ) -> Self {
        let (exit_status, exit_signal) = match shown.stage {
            Stage::Ended(Some(Exit::Status(status))) => (Some(status), None),
            Stage::Ended(Some(Exit::Signal(signal))) => (None, Some(signal)),
            _ => (None, None),
        };
        let (state, error) = match &shown.stage {
            Stage::Waiting => ("waiting", None),
            Stage::Reading(_) => ("reading", None),
            Stage::Running => ("running", None),
            Stage::Ended(_) => ("ended", None),
            Stage::Failed(why) => ("failed", Some(why.clone())),
        };
        let session = &shown.session;
        Self {
            pid: session.pid,
            parent: session.parent,
            program: session.program.clone(),
            trace: session.trace.as_ref().map(|path| path.display().to_string()),
            state,
            exit_status,
            exit_signal,
            error,
            duration_us: shown.age.as_micros() as u64,
            resident_bytes: shown.resident,
            faults_per_second: shown.faults,
            lost: shown.lost,
            filter,
            notes: shown.notes.clone(),
            amounts: amounts.map(|amounts| Amounts::new(amounts, top)),
        }
    }
}

impl Amounts {
    fn new(amounts: rows::Amounts, top: usize) -> Self {
        let rows::Amounts { total, mut rows, sampling, backtraces } = amounts;
        rows.retain(|row| row.has.live.samples > 0 || !row.has.recent.is_still());
        let live = |row: &Row| row.has.live.bytes.value;
        rows.sort_by(|a, b| live(b).total_cmp(&live(a)).then_with(|| a.name.cmp(&b.name)));
        Self {
            sample_interval_bytes: sampling.interval_bytes(),
            exact: sampling.is_exact(),
            hears_all: sampling.hears_all(),
            backtraces,
            totals: Holds::new(total, |amount| Total::new(amount, &sampling)),
            callsites_total: rows.len(),
            callsites: rows.into_iter().take(top).map(Callsite::new).collect(),
        }
    }
}

impl<Q> Holds<Q> {
    fn new(has: Holding, told: impl FnMut(Amount) -> Q) -> Self {
        let [allocated, peak, live] = [has.allocated, has.peak, has.live].map(told);
        Self { allocated, peak, live, recent: Moved(has.recent) }
    }
}

impl Callsite {
    fn new(row: Row) -> Self {
        let told = row.name.told.clone();
        let (function, file, line) = (told.function, told.file, told.line);
        Self { function, file, line, share: row.share, holds: Holds::new(row.has, Quantity) }
    }
}
