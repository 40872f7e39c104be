//! What is to be said of one trace.

use std::path::Path;

use lifetrace_report::Flaws;
use lifetrace_study::damages::Damages;
use lifetrace_study::open::{Backtraces, Trace};
use serde::Serialize;

use super::counted::Counted;
use crate::terminal;

/// What was found. Its fields are those of `--json`.
#[derive(Serialize)]
pub(super) struct Verdict {
    file: String,
    ok: bool,
    /// Why it could not be read at all.
    error: Option<String>,
    complete: Option<bool>,
    #[serde(flatten)]
    counted: Option<Counted>,
    packets: Option<u64>,
    index_errors: Vec<String>,
    #[serde(flatten)]
    flaws: Flaws,
}

impl Verdict {
    /// Reads all of a trace, and tells what is wrong with it.
    pub(super) fn of(path: &Path) -> Self {
        match Trace::open(path, Backtraces::Read) {
            Ok(trace) => Self::read(trace),
            Err(error) => Self::unreadable(path, &error),
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.ok
    }

    /// The line about a trace that is whole.
    pub(super) fn text(&self) -> String {
        let counts =
            self.counted.as_ref().map(|counted| counted.text(self.packets)).unwrap_or_default();
        format!("{}: ok: {counts}\n", self.file)
    }

    fn unreadable(path: &Path, error: &anyhow::Error) -> Self {
        let error = format!("{error:#}");
        terminal::complain(&error);
        Self {
            file: path.display().to_string(),
            ok: false,
            error: Some(error),
            complete: None,
            counted: None,
            packets: None,
            index_errors: Vec::new(),
            flaws: Flaws::new(&Damages::default()),
        }
    }

    fn read(mut trace: Trace) -> Self {
        let mut counted = Counted::default();
        while let Some(record) = trace.next_record() {
            counted.take(&record.kind);
        }
        let damages = trace.damages();
        damages.messages().iter().for_each(terminal::complain);
        let file = trace.path.display().to_string();
        let index_errors = index_errors(&trace, &counted, &damages);
        if let Some(first) = index_errors.first() {
            terminal::complain(format_args!(
                "{file}: the index is wrong: {first}\n  \
                 the events are whole; info --all counts them anew"
            ));
        }
        let is_whole = damages.is_empty() && trace.is_complete() != Some(false);
        Self {
            file,
            ok: is_whole && index_errors.is_empty(),
            error: None,
            complete: trace.is_complete(),
            counted: Some(counted),
            packets: trace.passed().map(|passed| passed.packets),
            index_errors,
            flaws: Flaws::new(&damages),
        }
    }
}

/// None where something is damaged: that is not counted.
fn index_errors(trace: &Trace, counted: &Counted, damages: &Damages) -> Vec<String> {
    match (trace.passed(), trace.index()) {
        (Some(passed), Some(index)) if damages.is_empty() => {
            let duration = trace.end_time().0.saturating_sub(trace.info().start_time.0);
            counted.errors_of(index, passed, duration)
        }
        _ => Vec::new(),
    }
}
