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
    /// What is summed up of the view `totals`, for each run, and its variance; `duration_us` is that of the run.
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

/// A query for the sums of samples of some runs, by these columns of the table `rollup`. It has what the view `totals` has,
/// but is of the files of those runs' days and services alone.
pub(super) fn sums(by: &str, of: &str) -> String {
    format!(
        "SELECT {by}, sum(bytes) AS bytes, sum(bytes_variance) AS bytes_variance,
            sum(CASE WHEN lifetime IS NULL THEN bytes ELSE 0 END) AS live_bytes,
            sum(CASE WHEN lifetime IS NULL THEN bytes_variance ELSE 0 END) AS live_variance,
            sum(byte_seconds) AS byte_seconds,
            sum(byte_seconds_variance) AS byte_seconds_variance
        FROM rollup WHERE {of} GROUP BY {by}"
    )
}
