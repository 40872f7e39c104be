//! What callsites hold when a run is over, and how that grew.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Partition, Table, column, optional, required};

/// A callsite of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The run.
    pub run: i64,
    /// As in [`sites`](super::sites).
    pub callsite: i64,
    /// What `report --view leaks` calls it: `leak`, `plateau`.
    pub kind: &'static str,
    /// Bytes that live at the end.
    pub live_bytes: f64,
    /// The variance of that.
    pub live_variance: f64,
    /// Bytes per hour in the later half of the run, with the ends of the 95 % interval; nothing if the run was too short.
    pub rate: Option<[f64; 3]>,
    /// In the callsite's own words: the function.
    pub function: Arc<str>,
}

/// Rows of the table.
pub type Growth = Vec<Row>;

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("run", DataType::Int64),
        required("callsite", DataType::Int64),
        required("function", DataType::Utf8),
        required("kind", DataType::Utf8),
        required("live_bytes", DataType::Float64),
        required("live_variance", DataType::Float64),
        optional("bytes_per_hour", DataType::Float64),
        optional("bytes_per_hour_low", DataType::Float64),
        optional("bytes_per_hour_high", DataType::Float64),
    ]
}

/// As Arrow has them, in the order in which they are given.
///
/// # Errors
/// Never, unless columns and schema differ.
pub fn batch(of: &Partition, rows: &[Row]) -> Result<RecordBatch> {
    let rate = |at: usize| {
        column::maybe_float(rows.iter().map(|it| it.rate.map(|rate| rate[at])).collect())
    };
    let columns = vec![
        column::int64(rows.iter().map(|it| it.run).collect()),
        column::int64(rows.iter().map(|it| it.callsite).collect()),
        column::text(&rows.iter().map(|it| &*it.function).collect::<Vec<_>>()),
        column::text(&rows.iter().map(|it| it.kind).collect::<Vec<_>>()),
        column::float(rows.iter().map(|it| it.live_bytes).collect()),
        column::float(rows.iter().map(|it| it.live_variance).collect()),
        rate(0),
        rate(1),
        rate(2),
    ];
    Ok(Table::Growth.batch(of, rows.len(), columns)?)
}
