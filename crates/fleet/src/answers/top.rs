//! Who allocates, or holds, most in the whole fleet.

use anyhow::Result;
use lifetrace_analysis::Estimate;
use lifetrace_human::counted;
use serde::Serialize;

use super::metric::{Metric, totals};
use super::page::{Page, place};
use super::rows::{each, widened};
use super::selection::{Selection, quoted};
use crate::engine::Engine;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Of which runs.
    pub of: Selection,
    /// By what.
    pub metric: Metric,
    /// Each value of that label apart.
    pub by: Option<String>,
    /// So many callsites at most.
    pub limit: usize,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Top {
    /// By what.
    pub metric: Metric,
    /// Of which runs.
    pub of: String,
    /// How many these are.
    pub runs: u64,
    /// What all callsites have together.
    pub total: Amount,
    /// The greatest first.
    pub callsites: Vec<Callsite>,
}

/// A callsite.
#[derive(Clone, Debug, Serialize)]
pub struct Callsite {
    /// As in the table of sites.
    pub callsite: i64,
    /// Its function.
    pub function: String,
    /// Its file.
    pub file: Option<String>,
    /// The value of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it has, in all runs together.
    pub amount: Amount,
    /// Its part of all.
    pub share: f64,
    /// In how many runs it was seen.
    pub runs: u64,
}

/// Bytes that were estimated; the interval is that of sampling, for these runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// The estimate.
    pub bytes: f64,
    /// Half the width of its 95 % interval.
    pub interval95: f64,
}

impl Amount {
    fn new(bytes: f64, variance: f64) -> Amount {
        Amount { bytes, interval95: Estimate::new(bytes, variance).interval95() }
    }

    /// As people read it.
    pub fn text(&self) -> String {
        let deviation = self.interval95 / Estimate::new(1.0, 1.0).interval95();
        lifetrace_human::estimate(&Estimate {
            value: self.bytes,
            variance: deviation * deviation,
            uncertain: 0.0,
        })
    }
}

/// Asks it.
///
/// # Errors
/// The engine's.
pub async fn ask(engine: &Engine, question: &Question) -> Result<Top> {
    let batches = widened(engine.ask(&query(question)).await?)?;
    let mut callsites = Vec::new();
    for row in each(&batches) {
        callsites.push(Callsite {
            callsite: row.whole("callsite")?,
            function: row.text("function")?.unwrap_or_default(),
            file: row.text("file")?,
            label: if question.by.is_some() { row.text("label")? } else { None },
            amount: Amount::new(row.number("value")?, row.number("variance")?),
            share: 0.0,
            runs: row.whole("runs")? as u64,
        });
    }
    let (total, runs) = total(engine, question).await?;
    for callsite in &mut callsites {
        callsite.share = if total.bytes > 0.0 { callsite.amount.bytes / total.bytes } else { 0.0 };
    }
    let of = question.of.to_string();
    Ok(Top { metric: question.metric, of, runs, total, callsites })
}

pub(super) fn query(question: &Question) -> String {
    let [value, variance] = question.metric.columns();
    let (of, limit) = (question.of.sql(), question.limit);
    let (label, labels, group) = match &question.by {
        None => ("", String::new(), ""),
        Some(key) => (
            ", l.value AS label",
            format!(
                "LEFT JOIN (SELECT run, value FROM labels WHERE key = {}) AS l ON l.run = t.run",
                quoted(key)
            ),
            ", label",
        ),
    };
    format!(
        "WITH chosen AS (SELECT run, duration_us FROM runs WHERE {of} AND duration_us > 0),
        each_run AS (
            SELECT p.callsite AS callsite, t.run AS run{label}, sum({value}) AS value, sum({variance}) AS variance
            FROM {totals} AS t JOIN chosen AS r ON r.run = t.run JOIN places AS p ON p.site = t.site {labels}
            GROUP BY p.callsite, t.run{group_of_label}
        ),
        largest AS (
            SELECT callsite{group}, sum(value) AS value, sum(variance) AS variance, count(*) AS runs
            FROM each_run GROUP BY callsite{group} ORDER BY value DESC, callsite LIMIT {limit}
        )
        SELECT largest.*, c.function AS function, c.file AS file
        FROM largest JOIN callsites AS c ON c.callsite = largest.callsite
        ORDER BY value DESC, largest.callsite",
        totals = totals(&of),
        group_of_label = if question.by.is_some() { ", l.value" } else { "" },
    )
}

pub(super) fn total_query(of: &Selection, metric: Metric) -> String {
    let ([value, variance], of) = (metric.columns(), of.sql());
    format!(
        "WITH chosen AS (SELECT run, duration_us FROM runs WHERE {of} AND duration_us > 0)
        SELECT coalesce(sum({value}), 0) AS value, coalesce(sum({variance}), 0) AS variance,
            (SELECT count(*) FROM chosen) AS runs
        FROM {} AS t JOIN chosen AS r ON r.run = t.run",
        totals(&of),
    )
}

async fn total(engine: &Engine, question: &Question) -> Result<(Amount, u64)> {
    let query = total_query(&question.of, question.metric);
    let batches = widened(engine.ask(&query).await?)?;
    let row = each(&batches).next();
    let Some(row) = row else { return Ok((Amount::new(0.0, 0.0), 0)) };
    Ok((Amount::new(row.number("value")?, row.number("variance")?), row.whole("runs")? as u64))
}

impl Top {
    /// For people.
    pub fn page(&self) -> Page {
        let has_labels = self.callsites.iter().any(|it| it.label.is_some());
        let mut columns = vec![("bytes", true), ("share", true), ("runs", true)];
        columns.extend(has_labels.then_some(("label", false)));
        columns.push(("callsite", false));
        let rows = self.callsites.iter().map(|it| {
            let mut row = vec![
                it.amount.text(),
                lifetrace_human::percent(it.share),
                lifetrace_human::count(it.runs as f64),
            ];
            row.extend(has_labels.then(|| it.label.clone().unwrap_or_default()));
            row.push(place(&it.function, it.file.as_deref()));
            row
        });
        Page {
            heading: format!(
                "{} {} in {} ({})",
                self.total.text(),
                self.metric.name(),
                counted(self.runs, "run", "runs"),
                self.of
            ),
            columns,
            rows: rows.collect(),
            notes: vec![
                "Intervals are those of sampling: what these runs themselves did, to within 95 %."
                    .to_owned(),
            ],
        }
    }
}
