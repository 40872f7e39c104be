//! Values of rows that a query has given.

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::record_batch::RecordBatch;

/// A row.
pub struct Row<'a> {
    batch: &'a RecordBatch,
    at: usize,
}

/// All rows.
pub fn each(batches: &[RecordBatch]) -> impl Iterator<Item = Row<'_>> {
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| Row { batch, at }))
}

/// As engines may differ in how wide their numbers are.
///
/// # Errors
/// If columns cannot be made so.
pub fn widened(batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let wide = |column: &ArrayRef| {
        let to = match column.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
            DataType::Float32 | DataType::Decimal128(..) => DataType::Float64,
            of if of.is_integer() => DataType::Int64,
            DataType::Timestamp(..) => DataType::Int64,
            of => of.clone(),
        };
        cast(column, &to)
    };
    let each = |batch: RecordBatch| -> Result<RecordBatch> {
        let names = batch.schema().fields().iter().map(|it| it.name().clone()).collect::<Vec<_>>();
        let columns = batch.columns().iter().map(wide).collect::<Result<Vec<_>, _>>()?;
        let named = names.into_iter().zip(columns).map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(named)?)
    };
    batches.into_iter().filter(|batch| batch.num_columns() > 0).map(each).collect()
}

impl Row<'_> {
    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).with_context(|| format!("the answer has no column {name}"))
    }

    /// # Errors
    /// If there is no such number.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.maybe_number(name)?.with_context(|| format!("{name} has no value"))
    }

    /// # Errors
    /// If there is no such column.
    pub fn maybe_number(&self, name: &str) -> Result<Option<f64>> {
        let column = self.column(name)?.as_primitive_opt::<Float64Type>();
        let column = column.with_context(|| format!("{name} is no number"))?;
        Ok((!column.is_null(self.at)).then(|| column.value(self.at)))
    }

    /// # Errors
    /// If there is no such whole number.
    pub fn whole(&self, name: &str) -> Result<i64> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>();
        let column = column.with_context(|| format!("{name} is no whole number"))?;
        Ok(column.value(self.at))
    }

    /// # Errors
    /// If there is no such column.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let column = self.column(name)?.as_string_opt::<i32>();
        let column = column.with_context(|| format!("{name} is no text"))?;
        Ok((!column.is_null(self.at)).then(|| column.value(self.at).to_owned()))
    }
}
