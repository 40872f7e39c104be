//! How a report is made.

use lifetrace_analysis::Metric;
use lifetrace_analysis::filter::{ByteSize, Micros};
use lifetrace_study::question::ViewName;
use lifetrace_trace::ids::Bytes;

/// How a report is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The question.
    pub view: ViewName,
    /// Number of callsites shown.
    pub top: usize,
    /// Nothing for the usual one.
    pub asked_metric: Option<Metric>,
    /// What the view is about, where it does not say itself.
    pub metric: Metric,
    /// Whether a tree begins at the callsites.
    pub inverted: bool,
    /// What leaks may fill.
    pub limit: ByteSize,
    /// What lives shorter is temporary.
    pub below: Micros,
    /// Whether a document is asked for, not a page.
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            view: ViewName::Summary,
            top: 10,
            asked_metric: None,
            metric: Metric::Allocated,
            inverted: false,
            limit: ByteSize(Bytes(4 << 30)),
            below: Micros::TEMPORARY,
            json: false,
        }
    }
}
