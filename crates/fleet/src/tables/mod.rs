//! The tables of a dataset: their columns, and rows as Parquet.
//!
//! They are a public format (`docs/dataset.md`): a column is never renamed, and new ones come last.

mod column;
mod file;
pub mod growth;
pub mod labels;
pub mod rollup;
pub mod runs;
pub mod samples;
pub mod sites;
mod sums;
pub mod totals;

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;
use serde::{Deserialize, Serialize};

pub use file::{parquet, read};
pub use growth::Growth;
pub use labels::Labels;
pub use rollup::Rollup;
pub use runs::Runs;
pub use samples::Samples;
pub use sites::Sites;
pub use totals::Totals;

/// A table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// A row for each trace.
    Runs,
    /// A row for each label of a run.
    Labels,
    /// A row for each sampled block.
    Samples,
    /// A row for each backtrace.
    Sites,
    /// What each backtrace of a run amounts to.
    Totals,
    /// What a backtrace amounts to in all runs, by hours and lifetimes.
    Rollup,
    /// What each callsite of a run holds at the end, and how that grew.
    Growth,
}

impl Table {
    /// All.
    pub const ALL: [Table; 7] = [
        Table::Runs,
        Table::Labels,
        Table::Samples,
        Table::Sites,
        Table::Totals,
        Table::Rollup,
        Table::Growth,
    ];

    /// As SQL and paths call it.
    pub fn name(self) -> &'static str {
        match self {
            Table::Runs => "runs",
            Table::Labels => "labels",
            Table::Samples => "samples",
            Table::Sites => "sites",
            Table::Totals => "totals",
            Table::Rollup => "rollup",
            Table::Growth => "growth",
        }
    }

    /// Its columns.
    pub fn schema(self) -> SchemaRef {
        let columns = match self {
            Table::Runs => runs::columns(),
            Table::Labels => labels::columns(),
            Table::Samples => samples::columns(),
            Table::Sites => sites::columns(),
            Table::Totals => totals::columns(),
            Table::Rollup => rollup::columns(),
            Table::Growth => growth::columns(),
        };
        let common = [required("date", DataType::Date32), required("service", DataType::Utf8)];
        Arc::new(Schema::new(common.into_iter().chain(columns).collect::<Vec<_>>()))
    }

    /// Columns by which the rows of a file are in order, which makes files small, and lets engines pass over parts of them.
    pub fn order(self) -> &'static [&'static str] {
        match self {
            Table::Runs => &["start"],
            Table::Labels => &["key", "value", "run"],
            Table::Samples => &["run", "site", "birth_us"],
            Table::Sites => &["site"],
            Table::Totals => &["site", "run"],
            Table::Rollup => &["site", "hour", "lifetime"],
            Table::Growth => &["callsite", "run"],
        }
    }

    fn batch(
        self,
        of: &Partition,
        rows: usize,
        rest: Vec<ArrayRef>,
    ) -> std::result::Result<RecordBatch, ArrowError> {
        let mut columns =
            vec![column::date(vec![of.date; rows]), column::text(&vec![&*of.service; rows])];
        columns.extend(rest);
        RecordBatch::try_new(self.schema(), columns)
    }
}

/// What rows of one file have in common: their runs began on one day, and are of one service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Days since 1970, in UTC.
    pub date: i32,
    /// The label `service`, or the program's name.
    pub service: Arc<str>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Partition {
    /// What the rows of a file have in common.
    ///
    /// # Errors
    /// If there are none, or they are of no table.
    pub fn of(rows: &RecordBatch) -> Result<Partition> {
        ensure!(rows.num_rows() > 0, "there are no rows");
        let date = rows
            .column(0)
            .as_primitive_opt::<Date32Type>()
            .context("the first column is no date")?;
        let service =
            rows.column(1).as_string_opt::<i32>().context("the second column is no text")?;
        Ok(Partition { date: date.value(0), service: service.value(0).into() })
    }

    /// The day, as `2026-11-28`.
    pub fn day(&self) -> String {
        let day = Date32Type::to_naive_date_opt(self.date);
        day.map_or_else(|| format!("day {}", self.date), |day| day.to_string())
    }
}

/// The values of a column of whole numbers.
///
/// # Errors
/// If there is no such column.
pub fn int64s<'a>(rows: &'a RecordBatch, name: &str) -> Result<&'a Int64Array> {
    let column = rows.column_by_name(name).and_then(|it| it.as_primitive_opt::<Int64Type>());
    column.with_context(|| format!("there is no column {name} of whole numbers"))
}

fn required(name: &str, of: DataType) -> Field {
    Field::new(name, of, false)
}

fn optional(name: &str, of: DataType) -> Field {
    Field::new(name, of, true)
}

/// A moment, in microseconds.
fn moment() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// A list of such rows.
fn list_of(fields: Fields) -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Struct(fields), true)))
}
