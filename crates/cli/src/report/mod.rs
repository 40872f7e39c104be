//! What a trace amounts to, for people and for programs: [`text`](Report::text) and
//! [`json`](Report::json) tell the same facts.

mod backtrace;
mod json;
mod page;
mod place;
mod ranking;
mod shorten;
mod subject;
mod text;
mod told;

use lifetrace_analysis::{Callsites, Metric, Shape, Summary};

use crate::cmd::report::Options;
use crate::summary::Reading;

pub use json::{Flaws, to_json};
pub use place::function;
pub use subject::{Counts, Known, Subject};
pub use told::{Coverage, Told, unit_name};

/// A report, not yet in words.
pub struct Report<'a> {
    reading: &'a Reading,
    summary: Summary,
    callsites: Callsites<'a>,
    top: usize,
    metric: Metric,
}

impl<'a> Report<'a> {
    pub fn new(reading: &'a Reading, options: &Options) -> Self {
        Self {
            reading,
            summary: reading.profile.summary(),
            callsites: reading.profile.callsites(&reading.trace, &Shape::default(), options.metric),
            top: options.top,
            metric: options.metric,
        }
    }
}
