//! Answers that are baked into a page: those that rest on the whole trace, as `lifetrace report --json` gives them.

use lifetrace_human::named::Named;
use lifetrace_report::style::Width;
use lifetrace_report::{Options, Report};
use lifetrace_study::Study;
use lifetrace_study::question::ViewName;
use serde_json::{Map, Value};

/// How many callsites each of them has.
const LEAKS: usize = 50;
const OTHERS: usize = 20;

/// The documents by their views: those that the trace has anything for.
///
/// # Errors
/// If the trace cannot be read any more.
pub fn of(study: &Study) -> anyhow::Result<Map<String, Value>> {
    let mut documents = Map::new();
    for view in [ViewName::Summary, ViewName::Leaks, ViewName::Promotion, ViewName::Gc] {
        if has(study, view) {
            documents.insert(view.name().to_owned(), document(study, view)?);
        }
    }
    Ok(documents)
}

fn has(study: &Study, view: ViewName) -> bool {
    let reading = &study.reading;
    let (origin, facts) = (reading.origin(), &reading.facts);
    let promotions = reading.profile.replay().counts().promotions;
    let is_there = match view {
        ViewName::Promotion => promotions > 0,
        ViewName::Gc => promotions > 0 || facts.cycle_steps > 0 || facts.collector.is_some(),
        _ => true,
    };
    is_there && origin.refuse_report(&reading.trace.path, view, origin.usual_metric()).is_ok()
}

fn document(study: &Study, view: ViewName) -> anyhow::Result<Value> {
    let metric = study.reading.origin().usual_metric();
    let top = if view == ViewName::Leaks { LEAKS } else { OTHERS };
    let options = Options { view, top, metric, json: true, ..Options::default() };
    let report = Report::new(study, &options, Width::ENDLESS)?;
    Ok(serde_json::from_str(&report.json(&[])?)?)
}
