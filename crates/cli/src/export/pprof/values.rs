//! Which numbers a profile has, and what they are called.

use clap::ValueEnum;
use lifetrace_analysis::account::Balance;

use crate::export::Metric;
use crate::export::apportion::apportion;

/// Whose names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Types {
    /// Go's four, which most readers know, and then ours
    #[default]
    Go,
    /// Those of Ruby's gem `ruby_memprofiler_pprof`: retained_objects, retained_size
    Rmp,
}

/// One of the numbers: its name, its unit, and what it is.
pub type Column = (&'static str, &'static str, Metric);

const GO: &[Column] = &[
    ("alloc_objects", "count", Metric::AllocatedObjects),
    ("alloc_space", "bytes", Metric::Allocated),
    ("inuse_objects", "count", Metric::LiveObjects),
    ("inuse_space", "bytes", Metric::Live),
    ("peak_objects", "count", Metric::PeakObjects),
    ("peak_space", "bytes", Metric::Peak),
    ("samples", "count", Metric::Samples),
];

const RMP: &[Column] =
    &[("retained_objects", "count", Metric::LiveObjects), ("retained_size", "bytes", Metric::Live)];

impl Types {
    /// In their order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Go => GO,
            Self::Rmp => RMP,
        }
    }

    /// The name of what is shown first: that of `metric` if it is there, else of the last.
    pub fn default_name(self, metric: Metric) -> &'static str {
        let columns = self.columns();
        let found = columns.iter().find(|&&(.., of)| of == metric).or(columns.last());
        found.map_or("", |&(name, ..)| name)
    }

    /// For each balance its row.
    ///
    /// # Errors
    /// If numbers are too large.
    pub fn rows(self, balances: &[Balance]) -> anyhow::Result<Vec<Vec<i64>>> {
        let mut rows = vec![Vec::new(); balances.len()];
        for (name, _, metric) in self.columns() {
            let values: Vec<f64> = balances.iter().map(|balance| metric.of(balance)).collect();
            for (row, value) in rows.iter_mut().zip(apportion(name, &values)?) {
                row.push(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
        Ok(rows)
    }
}
