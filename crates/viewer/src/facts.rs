//! What a trace says of itself: the facts of a bundle.

use std::collections::BTreeMap;

use lifetrace_report::{Known, Subject, young_heap};
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::Value;

use crate::columns::Columns;
use crate::kinds::SourceFields;
use crate::threads::ThreadFields;

/// The fields are those that docs/format-page.md describes.
#[derive(Debug, Serialize)]
pub struct Facts {
    file: String,
    program: String,
    pid: Option<u64>,
    command: Option<String>,
    end: i64,
    duration: u64,
    start_unix_us: u64,
    clock: Vec<(i64, u64)>,
    peak: Option<i64>,
    exact: bool,
    hears_all: bool,
    word_bytes: u64,
    interval_bytes: f64,
    interval_objects: f64,
    samples_in_trace: u64,
    thinned: Option<Thinned>,
    sources: Vec<SourceFields>,
    has_threads: bool,
    threads: Vec<ThreadFields>,
    labels: BTreeMap<String, String>,
    young_heap_bytes: Option<u64>,
    notices: Vec<String>,
    damage: Vec<String>,
    in_import: Option<Import>,
}

/// How many samples there are, and how many there were.
#[derive(Clone, Copy, Debug, Serialize)]
struct Thinned {
    kept: u64,
    of: u64,
}

/// What an imported profile does not tell.
#[derive(Debug, Serialize)]
struct Import {
    #[serde(flatten)]
    fields: Value,
    caveat: Option<String>,
}

impl Facts {
    /// Of a trace whose samples these are, drawn with so large a part of the rate if they are not all.
    ///
    /// # Errors
    /// If what it says of an import is no JSON.
    pub fn of(
        study: &Study,
        columns: &mut Columns,
        share: Option<f64>,
    ) -> serde_json::Result<Self> {
        let reading = &study.reading;
        let (profile, trace) = (&reading.profile, &reading.trace);
        let (summary, info) = (profile.summary(), trace.info());
        let since_start = |time: u64| time.wrapping_sub(info.start_time.0) as i64;
        let subject = Subject::new(Known::of(reading));
        let sampling = &summary.sampling;
        let rest = share.unwrap_or(1.0);
        let threads = std::mem::take(&mut columns.threads).into_fields();
        let labels = reading.facts.labels.iter();
        Ok(Self {
            file: trace.path.display().to_string(),
            program: subject.program().to_owned(),
            pid: Some(info.pid).filter(|&pid| pid > 0),
            command: Some(subject.command().to_owned()).filter(|command| !command.is_empty()),
            end: since_start(trace.end_time().0).saturating_add(1),
            duration: u64::try_from(summary.duration.as_micros()).unwrap_or(u64::MAX),
            start_unix_us: info.start_time.0,
            clock: columns.over_time.clock().to_vec(),
            peak: (summary.samples > 0).then(|| since_start(profile.peak_time().0)),
            exact: sampling.is_exact() && share.is_none(),
            hears_all: sampling.hears_all(),
            word_bytes: sampling.word_bytes(),
            interval_bytes: sampling.interval_bytes() / rest,
            interval_objects: sampling.interval_objects() / rest,
            samples_in_trace: profile.replay().births(),
            thinned: share.map(|_| Thinned { kept: columns.len() as u64, of: summary.samples }),
            sources: columns.kinds.sources(rest),
            has_threads: trace.has_facts(),
            threads: if trace.has_facts() { threads } else { Vec::new() },
            labels: labels.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            young_heap_bytes: young_heap(study),
            notices: subject.oddities().collect(),
            damage: reading.damages.list(),
            in_import: Import::of(study)?,
        })
    }

    /// What the program was run as.
    pub fn program(&self) -> &str {
        &self.program
    }
}

impl Import {
    fn of(study: &Study) -> serde_json::Result<Option<Self>> {
        let origin = study.reading.origin();
        let Some(fields) = origin.fields() else { return Ok(None) };
        let caveat = origin.caveat().map(str::to_owned);
        Ok(Some(Self { fields: serde_json::to_value(fields)?, caveat }))
    }
}
