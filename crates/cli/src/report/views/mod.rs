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

use clap::ValueEnum;
use lifetrace_analysis::Metric;
use serde_json::{Map, Value};

use super::page::Page;
use super::several::Several;
use crate::cmd::report::Options;
use crate::report::style::Width;
use crate::study::Study;

/// An answer.
pub trait View {
    /// For people.
    fn text(&self, page: &mut Page);

    /// For programs: fields of the document.
    fn json(&self) -> serde_json::Result<Map<String, Value>>;
}

/// What may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViewName {
    /// One page with the totals and the first callsites
    #[default]
    Summary,
    /// Callsites that have most
    Hot,
    /// Call tree from the outermost function; with --inverted from the callsites, or from --focus
    Tree,
    /// Of the function that --focus names: where it is called, and where in it calls are made
    Calls,
    /// Sequences of calls, anywhere in backtraces, that explain most
    Paths,
    /// Functions, by themselves and with all that they call
    Functions,
    /// What moved from the young heap to the old one, and what a larger young heap would spare
    Promotion,
    /// Garbage collections, and what became of blocks in them
    Gc,
    /// What was alive when the program had most
    Peak,
    /// Live bytes over time, and who had them
    Timeline,
    /// Who allocates, and who frees what others allocated
    Threads,
    /// How large blocks are
    Sizes,
    /// What is never freed, and grows
    Leaks,
    /// What is freed soon: candidates for the stack, an arena, or reuse
    Temporary,
    /// How long blocks live
    Lifetimes,
}

impl ViewName {
    /// As one types it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What it is about if `asked` is what one would like; nothing if that is no metric.
    pub fn metric(self, asked: Metric) -> Option<Metric> {
        match self {
            Self::Summary
            | Self::Hot
            | Self::Tree
            | Self::Calls
            | Self::Paths
            | Self::Functions
            | Self::Temporary
            | Self::Lifetimes => Some(asked),
            Self::Peak => Some(Metric::Peak),
            Self::Timeline | Self::Leaks => Some(Metric::Live),
            Self::Gc | Self::Threads => Some(Metric::Allocated),
            Self::Promotion | Self::Sizes => None,
        }
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
pub fn make_sum<'a>(several: &'a Several, options: &'a Options) -> Option<Box<dyn View + 'a>> {
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
