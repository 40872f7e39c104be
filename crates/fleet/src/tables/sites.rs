//! Backtraces, by names.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Partition, Table, column, list_of, optional, required};

/// A line of a backtrace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function, or the object file where no name is known.
    pub function: Arc<str>,
    /// Its source file.
    pub file: Option<Arc<str>>,
    /// In that file.
    pub line: Option<i32>,
}

/// A backtrace.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Made of the names of its frames: the same in all runs, whatever their addresses.
    pub site: i64,
    /// Made of the names of function and file of its callsite: the same in all versions that call them so.
    pub callsite: i64,
    /// The callsite: the innermost frame that is not machinery.
    pub at: Frame,
    /// A runtime's class of its objects, if it has one.
    pub class: Option<Arc<str>>,
    /// The outermost first.
    pub frames: Vec<Frame>,
}

/// Rows of the table.
pub type Sites = Vec<Site>;

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("site", DataType::Int64),
        required("callsite", DataType::Int64),
        required("function", DataType::Utf8),
        optional("file", DataType::Utf8),
        optional("line", DataType::Int32),
        optional("class", DataType::Utf8),
        required("frames", list_of(frame_columns())),
    ]
}

fn frame_columns() -> Fields {
    Fields::from(vec![
        required("function", DataType::Utf8),
        optional("file", DataType::Utf8),
        optional("line", DataType::Int32),
    ])
}

/// As Arrow has them, in the order in which they are given.
///
/// # Errors
/// Never, unless columns and schema differ.
pub fn batch(of: &Partition, rows: &[Site]) -> Result<RecordBatch> {
    let at: Vec<&Frame> = rows.iter().map(|it| &it.at).collect();
    let frames: Vec<&Frame> = rows.iter().flat_map(|it| &it.frames).collect();
    let lengths: Vec<usize> = rows.iter().map(|it| it.frames.len()).collect();
    let classes: Vec<_> = rows.iter().map(|it| it.class.as_deref()).collect();
    let [function, file, line] = columns_of(&at);
    let columns = vec![
        column::int64(rows.iter().map(|it| it.site).collect()),
        column::int64(rows.iter().map(|it| it.callsite).collect()),
        function,
        file,
        line,
        column::maybe_text(&classes),
        column::lists(frame_columns(), &lengths, columns_of(&frames).to_vec()),
    ];
    Ok(Table::Sites.batch(of, rows.len(), columns)?)
}

fn columns_of(frames: &[&Frame]) -> [datafusion::arrow::array::ArrayRef; 3] {
    [
        column::text(&frames.iter().map(|it| &*it.function).collect::<Vec<_>>()),
        column::maybe_text(&frames.iter().map(|it| it.file.as_deref()).collect::<Vec<_>>()),
        column::maybe_int32(frames.iter().map(|it| it.line).collect()),
    ]
}
