//! By what callsites and runs are compared.

use serde::Serialize;

/// By what callsites are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Bytes that live on average, over the time of each run; of several runs, together.
    #[default]
    Held,
    /// Bytes that were allocated.
    Allocated,
    /// Bytes that live when the run is over.
    Live,
}

impl Metric {
    /// What is summed up of `t`, rows of the table `totals`, and its variance; `r` is the row of their run.
    pub(super) fn columns(self) -> [&'static str; 2] {
        match self {
            Metric::Held => [
                "t.byte_seconds / (r.duration_us / 1000000.0)",
                "t.byte_seconds_variance / ((r.duration_us / 1000000.0) * (r.duration_us / 1000000.0))",
            ],
            Metric::Allocated => ["t.bytes", "t.bytes_variance"],
            Metric::Live => ["t.live_bytes", "t.live_variance"],
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Held => "held on average",
            Metric::Allocated => "allocated",
            Metric::Live => "live at the end",
        }
    }
}

/// The rows of the table `totals` of some runs; of their days and services alone, by which files are passed over.
pub(super) fn totals(of: &str) -> String {
    format!("(SELECT * FROM totals WHERE {of})")
}
