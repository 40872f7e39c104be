//! The questions that a report answers: for each a document, which serialises as the fields of `--json`
//! and renders itself as a page.

mod advice;
mod calls;
pub(crate) mod callsites;
mod classes;
mod functions;
mod gc;
mod leaks;
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

pub use calls::Calls;
pub use callsites::Ranking;
pub use classes::Classes;
pub use functions::Functions;
pub use gc::Gc;
pub use leaks::Leaks;
pub use lifetimes::Lifetimes;
pub use paths::Paths;
pub use peak::Peak;
pub use promotion::Promotion;
pub use sizes::Sizes;
pub use summary::Summary;
pub use temporary::Temporary;
pub use threads::Threads;
pub use timeline::Timeline;
pub use tree::{Tree, levels};

use lifetrace_analysis::Metric;
use lifetrace_study::Study;
use lifetrace_study::question::ViewName;
use serde::Serialize;
use serde_json::{Map, Value};

use super::page::Page;
use crate::Options;
use crate::style::Width;
use crate::ways::FindWays;

/// An answer.
pub trait View {
    /// For people.
    fn text(&self, page: &mut Page);

    /// For programs: fields of the document.
    fn json(&self) -> serde_json::Result<Map<String, Value>>;
}

/// A document that can be shown as a page: what people read is made of what programs get.
pub trait Render: Serialize {
    /// Writes the page.
    fn render(&self, page: &mut Page);
}

impl<T: Render> View for T {
    fn text(&self, page: &mut Page) {
        self.render(page);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        fields(self)
    }
}

/// Finds the answer, for lines of so many columns.
///
/// # Errors
/// If the trace cannot be read any more, or the options make no sense for the view.
pub fn make<'a>(
    study: &'a Study,
    options: &'a Options,
    width: Width,
    ways: &FindWays<'_>,
) -> anyhow::Result<Box<dyn View + 'a>> {
    Ok(match options.view {
        ViewName::Summary => Box::new(Summary::new(study, options)?),
        ViewName::Hot => Box::new(Ranking::new(study, options, options.metric)),
        ViewName::Tree => Box::new(Tree::new(study, options)),
        ViewName::Calls => Box::new(Calls::new(study, options)?),
        ViewName::Paths => Box::new(Paths::new(study, options)),
        ViewName::Functions => Box::new(Functions::new(study, options)),
        ViewName::Classes => Box::new(Classes::new(study, options)?),
        ViewName::Promotion => Box::new(Promotion::new(study, options)?),
        ViewName::Gc => Box::new(Gc::new(study, options, width)?),
        ViewName::Peak => Box::new(Peak::new(study, options)),
        ViewName::Timeline => Box::new(Timeline::new(study, options, width)?),
        ViewName::Threads => Box::new(Threads::new(study, options)?),
        ViewName::Sizes => Box::new(Sizes::new(study)?),
        ViewName::Leaks => Box::new(Leaks::new(study, options, ways)?),
        ViewName::Temporary => Box::new(Temporary::new(study, options)?),
        ViewName::Lifetimes => Box::new(Lifetimes::new(study, options)?),
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
