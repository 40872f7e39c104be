//! What users called their runs.

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Partition, Table, column, required};

/// Rows of the table.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Run, key and value.
    pub rows: Vec<(i64, String, String)>,
}

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("run", DataType::Int64),
        required("key", DataType::Utf8),
        required("value", DataType::Utf8),
    ]
}

impl Labels {
    /// As Arrow has them.
    ///
    /// # Errors
    /// Never, unless columns and schema differ.
    pub fn batch(mut self, of: &Partition) -> Result<RecordBatch> {
        self.rows.sort_by(|a, b| (&a.1, &a.2, a.0).cmp(&(&b.1, &b.2, b.0)));
        let part = |of: fn(&(i64, String, String)) -> &str| {
            column::text(&self.rows.iter().map(of).collect::<Vec<_>>())
        };
        let runs = self.rows.iter().map(|row| row.0).collect();
        let columns = vec![column::int64(runs), part(|row| &row.1), part(|row| &row.2)];
        Ok(Table::Labels.batch(of, self.rows.len(), columns)?)
    }
}
