//! Changes as JSON; `docs/json.md` describes its fields, which stay as they are.

use std::path::PathBuf;

use lifetrace_analysis::diff::{Change, TreeChange};
use lifetrace_analysis::statistics::Difference;
use lifetrace_analysis::{Metric, Summary};
use lifetrace_human::json_text;
use lifetrace_study::origin::{self, Origin};
use serde::Serialize;

use super::{By, Diff, Rows, Side};
use crate::gates::Judged;
use crate::{Flaws, number};

#[derive(Serialize)]
struct Document<'a> {
    before: Vec<Run>,
    after: Vec<Run>,
    metric: &'static str,
    by: &'static str,
    filter: Option<String>,
    level: f64,
    totals: Vec<Total>,
    changes_total: usize,
    changes: Vec<Row<'a>>,
    /// Those that were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gates: &'a [Judged],
}

#[derive(Serialize)]
struct Run {
    file: String,
    samples: u64,
    /// Nothing if the clock counts something else.
    duration_us: Option<u64>,
    /// Of a trace that another profiler recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<origin::Fields>,
    #[serde(flatten)]
    flaws: Flaws,
}

#[derive(Serialize)]
struct Total {
    metric: &'static str,
    #[serde(flatten)]
    change: Numbers,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    function: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(flatten)]
    change: Numbers,
}

#[derive(Serialize)]
struct Numbers {
    #[serde(serialize_with = "number")]
    before: f64,
    #[serde(serialize_with = "number")]
    after: f64,
    change: f64,
    change_interval95: f64,
    relative: Option<f64>,
    between_runs: Option<f64>,
    p_value: f64,
    significant: bool,
}

impl Diff {
    /// One JSON object.
    pub fn json(&self, gates: &[Judged]) -> serde_json::Result<String> {
        let (before, after) = self.damages.split_at(self.before.paths.len());
        let filter = &self.options.choice.filter;
        let total = |(metric, difference): &(Metric, Difference)| Total {
            metric: metric.name(),
            change: self.numbers(difference, difference.p_value()),
        };
        let top = self.options.top;
        let (changes_total, changes) = match &self.rows {
            Rows::Places(rows) => {
                (rows.len(), rows.iter().take(top).map(|row| self.place(row)).collect())
            }
            Rows::Tree(rows) => (rows.len(), rows.iter().map(|row| self.branch(row)).collect()),
        };
        json_text::pretty(&Document {
            before: runs(&self.before, before),
            after: runs(&self.after, after),
            metric: self.options.metric.name(),
            by: match self.options.by {
                By::Callsite => "callsite",
                By::Function => "function",
                By::Tree => "tree",
            },
            filter: (!filter.is_empty()).then(|| filter.to_string()),
            level: self.options.level,
            totals: self.totals.iter().map(total).collect(),
            changes_total,
            changes,
            gates,
        })
    }

    fn place<'s>(&self, row: &'s Change) -> Row<'s> {
        Row {
            depth: None,
            function: &row.function,
            file: Some(row.file.as_str()).filter(|file| !file.is_empty()),
            line: Some(row.line).filter(|&line| line > 0),
            change: self.numbers(&row.difference, row.p_value),
        }
    }

    fn branch<'s>(&self, row: &'s TreeChange) -> Row<'s> {
        let change = self.numbers(&row.difference, row.p_value);
        Row { depth: Some(row.depth), function: &row.function, file: None, line: None, change }
    }

    fn numbers(&self, difference: &Difference, p_value: f64) -> Numbers {
        Numbers {
            before: difference.before,
            after: difference.after,
            change: difference.change(),
            change_interval95: difference.interval95(),
            relative: difference.relative(),
            between_runs: difference.between_runs,
            p_value,
            significant: difference.change() != 0.0 && p_value <= self.options.level,
        }
    }
}

fn runs(side: &Side, damages: &[lifetrace_study::damages::Damages]) -> Vec<Run> {
    let runs = side.paths.iter().zip(&side.summaries).zip(&side.origins).zip(damages);
    let run = |(((path, summary), origin), damages): (((&PathBuf, &Summary), &Origin), _)| Run {
        file: path.display().to_string(),
        samples: summary.samples,
        duration_us: origin.clock().is_none().then_some(summary.duration.as_micros() as u64),
        import: origin.fields(),
        flaws: Flaws::new(damages),
    };
    runs.map(run).collect()
}
