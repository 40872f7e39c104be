//! Which numbers a profile has, and what they are called.

use lifetrace_analysis::account::Balance;
use lifetrace_human::named;
use lifetrace_pprof::whole::apportion;
use lifetrace_study::origin::Origin;

use crate::Metric;

named! {
    /// Whose names.
    #[derive(Default)]
    pub enum Types {
        /// Go's four, which most readers know, and then ours
        #[default]
        Go = "go",
        /// Those of Ruby's gem ruby_memprofiler_pprof: retained_objects, retained_size
        Rmp = "rmp",
    }
}

/// One of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    pub unit: &'static str,
    metric: Metric,
    /// How many of the unit one of the metric is.
    scale: f64,
}

/// For `pprof -mean`, which divides by the first number: the objects.
const LIFETIME: &str = "lifetime";

/// What lifetimes are summed in: the first that leaves the sum its digits.
const SPANS: [(&str, f64); 4] =
    [("nanoseconds", 1e9), ("microseconds", 1e6), ("milliseconds", 1e3), ("seconds", 1.0)];

/// Greater numbers have no fractions in a double.
const GREATEST_EXACT: f64 = (1u64 << 53) as f64;

impl Column {
    /// Whether a trace tells it.
    pub fn is_told(&self, origin: &Origin) -> bool {
        !self.metric.needs().iter().any(|lack| origin.lacks(*lack))
    }
}

impl Types {
    /// What a profile of these balances has.
    pub fn columns(self, balances: &[Balance]) -> Vec<Column> {
        let column = |name, unit, metric| Column { name, unit, metric, scale: 1.0 };
        match self {
            Self::Go => vec![
                column("alloc_objects", "count", Metric::AllocatedObjects),
                column("alloc_space", "bytes", Metric::Allocated),
                column("inuse_objects", "count", Metric::LiveObjects),
                column("inuse_space", "bytes", Metric::Live),
                column("peak_objects", "count", Metric::PeakObjects),
                column("peak_space", "bytes", Metric::Peak),
                lifetime(balances),
                column("byte_seconds", "byte_seconds", Metric::ByteSeconds),
                column("samples", "count", Metric::Samples),
            ],
            Self::Rmp => vec![
                column("retained_objects", "count", Metric::LiveObjects),
                column("retained_size", "bytes", Metric::Live),
            ],
        }
    }

    /// Whether samples have labels: the gem's have none.
    pub fn has_labels(self) -> bool {
        self == Self::Go
    }
}

/// The one that is shown first: that of `metric` if it is there, else the last.
pub fn shown_first(columns: &[Column], metric: Metric) -> &'static str {
    let found = columns.iter().find(|column| column.metric == metric).or(columns.last());
    found.map_or("", |column| column.name)
}

/// For each balance its numbers.
///
/// # Errors
/// If they are too large.
pub fn rows(columns: &[Column], balances: &[Balance]) -> anyhow::Result<Vec<Vec<i64>>> {
    let mut rows = vec![Vec::with_capacity(columns.len()); balances.len()];
    for Column { name, metric, scale, .. } in columns {
        let values: Vec<f64> = balances.iter().map(|balance| metric.of(balance) * scale).collect();
        for (row, value) in rows.iter_mut().zip(apportion(name, &values)?) {
            row.push(i64::try_from(value)?);
        }
    }
    Ok(rows)
}

fn lifetime(balances: &[Balance]) -> Column {
    let metric = Metric::ObjectSeconds;
    let seconds: f64 = balances.iter().map(|balance| metric.of(balance)).sum();
    let fits = |&&(_, scale): &&(&str, f64)| seconds * scale < GREATEST_EXACT;
    let &(unit, scale) = SPANS.iter().find(fits).unwrap_or(&SPANS[SPANS.len() - 1]);
    Column { name: LIFETIME, unit, metric, scale }
}
