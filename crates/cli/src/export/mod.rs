//! Traces as other programs read them: one module a format, and what they have in common.
//!
//! ```text
//!   Study ─┬─ reading ───→ by name: Stacks ─→ collapsed ─→ svg;  speedscope
//!          │               by frame ───────────→ pprof
//!          └─ replay() ──→ each block ─────────→ firefox
//!
//!   Metric, apportion: which numbers, and whole ones that add up
//!   notes: what every file says of where its numbers come from
//! ```
//!
//! All amounts are estimates (see `lifetrace_analysis::estimate`), rounded so that they still add up.
//! docs/exports.md says what each format keeps and loses.

mod apportion;
mod collapsed;
mod firefox;
mod metric;
mod notes;
mod pprof;
mod speedscope;
mod stacks;
mod svg;

use std::io::Write;

use clap::ValueEnum;

use crate::output::Content;
use crate::study::Study;

pub use metric::Metric;
pub use pprof::Types as PprofTypes;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line a backtrace, for flame graph programs
    Collapsed,
    /// For profiler.firefox.com: each sampled block at its time
    Firefox,
    /// For Go's pprof and everything that reads its files; gzipped
    Pprof,
    /// For speedscope.app: a JSON file with all metrics
    Speedscope,
    /// A flame graph to be opened in a browser
    Svg,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Of formats that have room for one, the one; of others, the one that is shown first.
    pub metric: Metric,
    /// Whose names pprof's numbers have.
    pub pprof_types: PprofTypes,
}

impl Format {
    /// What kind of file that is.
    pub fn content(self) -> Content {
        match self {
            Self::Collapsed | Self::Firefox | Self::Speedscope | Self::Svg => Content::Text,
            Self::Pprof => Content::Binary("a pprof profile"),
        }
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
            Self::Firefox => firefox::write(study, output),
            Self::Pprof => pprof::write(study, options, output),
            Self::Speedscope => speedscope::write(study, options, output),
            Self::Svg => svg::write(study, options, output),
        }
    }
}
