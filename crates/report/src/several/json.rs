//! Several traces as JSON; `docs/json.md` describes its fields, which stay as they are.

use lifetrace_human::json_text;
use lifetrace_human::named::Named;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::json::Totals;
use super::{Flaws, Process, Several, Sum};
use crate::gates::Judged;

#[derive(Serialize)]
struct Document<'a> {
    traces: Vec<Trace<'a>>,
    view: &'static str,
    metric: &'static str,
    filter: Option<String>,
    /// Births, those that the filter left out included.
    samples_in_traces: u64,
    totals: Value,
    #[serde(flatten)]
    view_fields: Map<String, Value>,
    /// Those that were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gates: &'a [Judged],
}

#[derive(Serialize)]
struct Trace<'a> {
    trace: &'a Value,
    /// The number, from 0, of the trace of the process that started this one.
    parent: Option<usize>,
    share: f64,
    totals: Value,
    #[serde(flatten)]
    flaws: Flaws,
}

impl Sum<'_> {
    /// One JSON object.
    pub fn json(&self, gates: &[Judged]) -> serde_json::Result<String> {
        let Several { processes, family, summary, choice, origin, .. } = self.several;
        let mut view_fields = self.view.json()?;
        origin.silence_fields(&mut view_fields);
        let parent = |index: usize| family.iter().find(|it| it.index == index)?.parent;
        let trace = |(index, process)| self.trace(process, parent(index));
        json_text::pretty(&Document {
            traces: processes.iter().enumerate().map(trace).collect::<Result<_, _>>()?,
            view: self.options.view.name(),
            metric: self.options.metric.name(),
            filter: (!choice.filter.is_empty()).then(|| choice.filter.to_string()),
            samples_in_traces: processes.iter().map(|process| process.births).sum(),
            totals: Totals::of_sum(summary).known_to(origin)?,
            view_fields,
            gates,
        })
    }

    fn trace<'s>(
        &self,
        process: &'s Process,
        parent: Option<usize>,
    ) -> serde_json::Result<Trace<'s>> {
        Ok(Trace {
            trace: &process.subject,
            parent,
            share: self.several.share(process),
            totals: Totals::new(&process.summary).known_to(&process.origin)?,
            flaws: Flaws::new(&process.damages),
        })
    }
}
