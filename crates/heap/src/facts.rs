//! What a snapshot says about itself, in documents.

use lifetrace_human as human;
use serde::Serialize;

use crate::origin::Origin;

/// What a snapshot says about itself.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    program: String,
    pid: u64,
    number: u32,
    /// In nanoseconds since the Unix epoch.
    time_ns: u64,
    runtime: String,
    cause: String,
    trace: Option<String>,
    samples: usize,
    /// `null` if it was not finished.
    pause_ns: Option<u64>,
    is_complete: bool,
    /// What else is known exactly, by name.
    figures: Vec<Figure>,
}

#[derive(Debug, Serialize)]
struct Figure {
    name: String,
    value: u64,
}

impl Facts {
    pub(crate) fn of(origin: &Origin) -> Facts {
        let header = &origin.header;
        let outcome = origin.outcome.as_ref().map(|(outcome, _)| outcome);
        let figures = outcome.map(|outcome| &outcome.figures[..]).unwrap_or_default();
        let figure = |(name, value): &(std::sync::Arc<str>, u64)| Figure {
            name: name.to_string(),
            value: *value,
        };
        Facts {
            program: header.program.to_string(),
            pid: header.pid,
            number: header.number,
            time_ns: header.time,
            runtime: header.runtime.to_string(),
            cause: header.cause.to_string(),
            trace: header.trace.as_ref().map(ToString::to_string),
            samples: origin.samples.len(),
            pause_ns: outcome.map(|outcome| outcome.pause_ns),
            is_complete: origin.lacks().is_none(),
            figures: figures.iter().map(figure).collect(),
        }
    }

    /// In one sentence or two.
    pub(crate) fn text(&self) -> String {
        let Facts { number, program, pid, runtime, cause, .. } = self;
        let program = human::printable(program);
        let mut text = match cause.as_str() {
            "import" => format!("Imported from {program} ({runtime})."),
            _ => format!("Snapshot {number} of {program} ({runtime}), process {pid}: {cause}."),
        };
        if let Some(pause) = self.pause_ns.filter(|&pause| pause > 0) {
            let pause = human::duration(std::time::Duration::from_nanos(pause));
            text += &format!(" The program stood still for {pause}.");
        }
        for Figure { name, value } in self.figures.iter().filter(|it| it.value > 0) {
            let is_bytes = name.ends_with("bytes");
            let value = *value as f64;
            let value = if is_bytes { human::bytes(value) } else { human::count(value) };
            text += &format!(" {}: {value}.", human::printable(name));
        }
        text
    }
}
