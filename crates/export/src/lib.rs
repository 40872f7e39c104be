//! Traces as other programs read them: one module a format, and what they have in common.
//!
//! ```text
//!   Study ─┬─ reading ───→ by name: Stacks ─→ collapsed ─→ svg;  speedscope
//!          │               by frame ───────────→ pprof
//!          └─ replay() ──→ each block ─────────→ firefox, dhat, heaptrack, tables
//!
//!   Metric, lifetrace_pprof::whole: which numbers, and whole ones that add up
//!   notes: what every file says of where its numbers come from
//! ```
//!
//! All amounts are estimates (see `lifetrace_analysis::estimate`), rounded so that they still add up.
//! docs/exports.md says what each format keeps and loses.
#![forbid(unsafe_code)]

mod collapsed;
mod dhat;
mod firefox;
mod heaptrack;
mod length;
mod lines;
mod metric;
mod notes;
mod pprof;
mod speedscope;
mod stacks;
mod svg;
mod tables;

use std::io::Write;

use lifetrace_human::named;
use lifetrace_import::Lack;
use lifetrace_study::Study;

pub use length::Warn;
pub use metric::Metric;
pub use pprof::Types as PprofTypes;

named! {
    /// What can be written.
    pub enum Format {
        /// One line a backtrace, for flame graph programs
        Collapsed = "collapsed",
        /// All callsites as CSV
        CallsitesCsv = "callsites-csv",
        /// All callsites as JSON
        CallsitesJson = "callsites-json",
        /// For Valgrind's dh_view.html: backtraces with lifetimes
        Dhat = "dhat",
        /// All events as CSV
        EventsCsv = "events-csv",
        /// All events as JSON, an object a line
        EventsJson = "events-json",
        /// For profiler.firefox.com: each sampled block at its time
        Firefox = "firefox",
        /// For heaptrack_gui and heaptrack_print: each allocation and free
        Heaptrack = "heaptrack",
        /// For Go's pprof and everything that reads its files; gzipped
        Pprof = "pprof",
        /// For speedscope.app: a JSON file with all metrics
        Speedscope = "speedscope",
        /// A flame graph to be opened in a browser
        Svg = "svg",
    }
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Of formats that have room for one, the one; of others, the one that is shown first.
    pub metric: Metric,
    /// Whose names pprof's numbers have.
    pub pprof_types: PprofTypes,
    /// Told what a user should know before a long text is written.
    pub warn: Warn,
}

impl Format {
    /// What the file is called if it may not be shown on a terminal.
    pub fn binary(self) -> Option<&'static str> {
        (self == Self::Pprof).then_some("a pprof profile")
    }

    /// What a trace must tell, whatever the metric.
    pub fn needs(self) -> &'static [Lack] {
        match self {
            Self::Firefox | Self::Heaptrack => &[Lack::Times, Lack::Allocated],
            Self::EventsCsv | Self::EventsJson => &[Lack::Times],
            Self::Dhat => &[Lack::Peak, Lack::Allocated, Lack::Live],
            _ => &[],
        }
    }

    /// Whether the file itself says where its numbers come from, where one sees it.
    pub fn has_notes(self) -> bool {
        use Format::{CallsitesCsv, CallsitesJson, Collapsed, Svg};
        !matches!(self, CallsitesCsv | CallsitesJson | Collapsed | Svg)
    }

    /// Whether one can be chosen.
    pub fn has_metrics(self) -> bool {
        use Format::{CallsitesCsv, CallsitesJson, Collapsed, Pprof, Speedscope, Svg};
        matches!(self, CallsitesCsv | CallsitesJson | Collapsed | Pprof | Speedscope | Svg)
    }

    /// Writes the trace.
    ///
    /// # Errors
    /// Those of `output`, and numbers that the format has no room for.
    pub fn write(
        self,
        study: &Study,
        options: &Options,
        output: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match self {
            Self::Collapsed => collapsed::write(study, options, output),
            Self::CallsitesCsv => tables::callsites_csv(study, options, output),
            Self::CallsitesJson => tables::callsites_json(study, options, output),
            Self::Dhat => dhat::write(study, output),
            Self::EventsCsv => tables::events_csv(study, options, output),
            Self::EventsJson => tables::events_json(study, options, output),
            Self::Firefox => firefox::write(study, output),
            Self::Heaptrack => heaptrack::write(study, output),
            Self::Pprof => pprof::write(study, options, output),
            Self::Speedscope => speedscope::write(study, options, output),
            Self::Svg => svg::write(study, options, output),
        }
    }
}
