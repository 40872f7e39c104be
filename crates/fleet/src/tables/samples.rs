//! Sampled blocks.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Partition, Table, column, optional, required};

/// A sampled block, from its birth to its death.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Which run it is of.
    pub run: i64,
    /// Its backtrace.
    pub site: i64,
    /// Microseconds from the run's start to its birth.
    pub birth_us: i64,
    /// Microseconds from its birth to its death; nothing if it lives at the end.
    pub lifetime_us: Option<i64>,
    /// Its length.
    pub bytes: i64,
    /// How many blocks it stands for.
    pub weight: f64,
    /// Not a block of its own, but bytes that were added to one.
    pub is_growth: bool,
    /// Whether it was moved to an old heap.
    pub is_promoted: bool,
    /// Its thread's number in the trace.
    pub thread: i32,
    /// The sampler: `malloc`, `ocaml`.
    pub source: Arc<str>,
    /// Where a runtime put it: `young`, `old`; nothing outside of such heaps.
    pub heap: Option<&'static str>,
}

impl Sample {
    /// By how much it adds to the variance of a number of blocks; times its bytes squared, of a number of bytes.
    pub fn variance(&self) -> f64 {
        self.weight * (self.weight - 1.0)
    }

    /// The blocks that it stands for.
    pub fn objects(&self) -> f64 {
        if self.is_growth { 0.0 } else { self.weight }
    }
}

/// Rows of the table.
pub type Samples = Vec<Sample>;

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("run", DataType::Int64),
        required("site", DataType::Int64),
        required("birth_us", DataType::Int64),
        optional("lifetime_us", DataType::Int64),
        required("bytes", DataType::Int64),
        required("weight", DataType::Float64),
        required("variance", DataType::Float64),
        required("is_growth", DataType::Boolean),
        required("is_promoted", DataType::Boolean),
        required("thread", DataType::Int32),
        required("source", DataType::Utf8),
        optional("heap", DataType::Utf8),
    ]
}

/// As Arrow has them, in the order in which they are given.
///
/// # Errors
/// Never, unless columns and schema differ.
pub fn batch(of: &Partition, rows: &[Sample]) -> Result<RecordBatch> {
    let ints = |of: fn(&Sample) -> i64| column::int64(rows.iter().map(of).collect());
    let floats = |of: fn(&Sample) -> f64| column::float(rows.iter().map(of).collect());
    let truths = |of: fn(&Sample) -> bool| column::truth(rows.iter().map(of).collect());
    let columns = vec![
        ints(|it| it.run),
        ints(|it| it.site),
        ints(|it| it.birth_us),
        column::maybe_int64(rows.iter().map(|it| it.lifetime_us).collect()),
        ints(|it| it.bytes),
        floats(|it| it.weight),
        floats(Sample::variance),
        truths(|it| it.is_growth),
        truths(|it| it.is_promoted),
        column::int32(rows.iter().map(|it| it.thread).collect()),
        column::text(&rows.iter().map(|it| &*it.source).collect::<Vec<_>>()),
        column::maybe_text(&rows.iter().map(|it| it.heap).collect::<Vec<_>>()),
    ];
    Ok(Table::Samples.batch(of, rows.len(), columns)?)
}
