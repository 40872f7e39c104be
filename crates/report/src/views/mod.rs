//! The questions that a report answers, a module each.

mod calls;
mod callsites;
mod functions;
mod gc;
pub mod leaks;
mod lifetimes;
mod paths;
mod peak;
mod promotion;
mod sizes;
mod summary;
mod temporary;
mod threads;
mod timeline;
mod tree;

use lifetrace_analysis::Metric;
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::question::ViewName;
use serde_json::{Map, Value};

use super::page::Page;
use crate::Options;
use crate::style::Width;

/// An answer.
pub trait View {
    /// For people.
    fn text(&self, page: &mut Page);

    /// For programs: fields of the document.
    fn json(&self) -> serde_json::Result<Map<String, Value>>;
}

/// Finds the answer, for lines of so many columns.
///
/// # Errors
/// If the trace cannot be read any more, or the options make no sense for the view.
pub fn make<'a>(
    study: &'a Study,
    options: &'a Options,
    width: Width,
) -> anyhow::Result<Box<dyn View + 'a>> {
    Ok(match options.view {
        ViewName::Summary => Box::new(summary::Summary::new(study, options)),
        ViewName::Hot => Box::new(callsites::Ranking::new(study, options, options.metric)),
        ViewName::Tree => Box::new(tree::Tree::new(study, options)),
        ViewName::Calls => Box::new(calls::Calls::new(study, options)?),
        ViewName::Paths => Box::new(paths::Paths::new(study, options)),
        ViewName::Functions => Box::new(functions::Functions::new(study, options)),
        ViewName::Promotion => Box::new(promotion::Promotion::new(study, options)?),
        ViewName::Gc => Box::new(gc::Gc::new(study, options, width)?),
        ViewName::Peak => Box::new(peak::Peak::new(study, options)),
        ViewName::Timeline => Box::new(timeline::Timeline::new(study, options, width)?),
        ViewName::Threads => Box::new(threads::Threads::new(study, options)?),
        ViewName::Sizes => Box::new(sizes::Sizes::new(study)?),
        ViewName::Leaks => Box::new(leaks::Leaks::new(study, options)?),
        ViewName::Temporary => Box::new(temporary::Temporary::new(study, options)?),
        ViewName::Lifetimes => Box::new(lifetimes::Lifetimes::new(study, options)?),
    })
}

/// Those of which several traces have a sum.
pub const OF_SEVERAL: [ViewName; 5] =
    [ViewName::Summary, ViewName::Hot, ViewName::Tree, ViewName::Paths, ViewName::Functions];

/// Finds the answer for several traces, if the view is one [of those](OF_SEVERAL).
pub fn make_sum<'a>(
    several: &'a impl Accounts,
    options: &'a Options,
) -> Option<Box<dyn View + 'a>> {
    Some(match options.view {
        ViewName::Summary => Box::new(summary::Summary::of_sum(several, options)),
        ViewName::Hot => Box::new(callsites::Ranking::new(several, options, options.metric)),
        ViewName::Tree => Box::new(tree::Tree::new(several, options)),
        ViewName::Paths => Box::new(paths::Paths::new(several, options)),
        ViewName::Functions => Box::new(functions::Functions::new(several, options)),
        _ => return None,
    })
}

/// Fields of a document.
fn fields(view: &impl serde::Serialize) -> serde_json::Result<Map<String, Value>> {
    match serde_json::to_value(view)? {
        Value::Object(fields) => Ok(fields),
        other => Ok(Map::from_iter([("view".to_owned(), other)])),
    }
}

/// What a metric is called in a heading.
pub fn measure(metric: Metric) -> &'static str {
    match metric {
        Metric::Allocated => "bytes allocated",
        Metric::Live => "bytes live at the end",
        Metric::Peak => "bytes live at the peak",
        Metric::Objects => "objects allocated",
        Metric::ByteSeconds => "bytes times the seconds that they lived",
    }
}
