//! Questions to a whole dataset that have names.
//!
//! Each is one or two plain queries (no function of our own: they run on any engine that knows the tables), and what statistics
//! make of their rows. Its answer is a document: `--json` writes it, and a page shows it.

pub mod flamegraph;
pub mod leaks;
pub mod metric;
pub mod outliers;
pub mod page;
pub mod regressions;
pub mod rows;
pub mod runs;
pub mod selection;
pub mod top;

pub use metric::Metric;
pub use selection::Selection;

/// The queries of all questions, to all runs, by names: to be asked on any engine.
pub fn queries() -> Vec<(&'static str, String)> {
    let all = Selection::all();
    let top = |metric, by: Option<&str>| {
        let by = by.map(str::to_owned);
        top::query(&top::Question { of: Selection::all(), metric, by, limit: 1_000_000 })
    };
    vec![
        ("runs", runs::query(&all)),
        ("top held", top(Metric::Held, None)),
        ("top allocated by version", top(Metric::Allocated, Some("version"))),
        ("top live", top(Metric::Live, None)),
        ("total", top::total_query(&all, Metric::Held)),
        ("leaks", leaks::query(&all)),
        ("judged runs", leaks::numbers_query(&all)),
        ("amounts", regressions::query(&all, Metric::Held)),
        ("side", regressions::side_query(&all)),
        ("outliers", outliers::query(&all, Metric::Held)),
        ("flamegraph", flamegraph::query(&all, Metric::Held)),
    ]
}
