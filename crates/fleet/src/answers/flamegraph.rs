//! Collapsed stacks of many runs, for flame graphs: `outermost;...;innermost BYTES`, one line a stack.
//!
//! Of sums by backtrace alone, so it is as fast for a hundred million samples as for a few; `extract` writes what a viewer
//! wants.

use std::collections::BTreeMap;

use anyhow::Result;
use lifetrace_human::collapsed::name;
use lifetrace_pprof::whole::apportion;

use super::metric::{Metric, totals};
use super::rows::{each, widened};
use super::selection::Selection;
use crate::engine::Engine;
use crate::stacks::Stacks;

/// The lines, in the order of their names; what rounds to nothing is left out.
///
/// # Errors
/// The engine's, and numbers that are too large.
pub async fn lines(engine: &Engine, of: &Selection, metric: Metric) -> Result<Vec<String>> {
    let stacks = Stacks::of(engine, of).await?;
    let batches = widened(engine.ask(&query(of, metric)).await?)?;
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    for row in each(&batches) {
        let places = stacks.places(row.whole("site")?);
        let names: Vec<String> = places.map(|place| name(&place.defname)).collect();
        let names = if names.is_empty() { "[no backtrace]".to_owned() } else { names.join(";") };
        *by_name.entry(names).or_default() += row.number("value")?;
    }
    let values = apportion(metric.name(), &by_name.values().copied().collect::<Vec<_>>())?;
    let lines = by_name.into_keys().zip(values).filter(|(_, value)| *value > 0);
    Ok(lines.map(|(names, value)| format!("{names} {value}")).collect())
}

pub(super) fn query(of: &Selection, metric: Metric) -> String {
    let [value, _] = metric.columns();
    let of = of.sql();
    format!(
        "SELECT t.site AS site, sum({value}) AS value
        FROM {} AS t JOIN (SELECT run, duration_us FROM runs WHERE {of} AND duration_us > 0) AS r
            ON r.run = t.run
        GROUP BY t.site",
        totals(&of),
    )
}
