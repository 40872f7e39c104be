//! Rows for people and programs.

use std::io::Write;

use anyhow::Result;
use datafusion::arrow::array::Array;
use datafusion::arrow::json::ArrayWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// Columns that are aligned.
    #[default]
    Text,
    /// Values between commas, with a line of names.
    Csv,
    /// A list of objects.
    Json,
}

/// Writes rows, and for people how many there are.
///
/// # Errors
/// Those of `output`.
pub fn write(form: Form, batches: &[RecordBatch], output: &mut dyn Write) -> Result<()> {
    match form {
        Form::Json => json(batches, output),
        Form::Csv => csv(batches, output),
        Form::Text => text(batches, output),
    }
}

fn json(batches: &[RecordBatch], output: &mut dyn Write) -> Result<()> {
    let mut writer = ArrayWriter::new(&mut *output);
    writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    Ok(writeln!(output)?)
}

fn csv(batches: &[RecordBatch], output: &mut dyn Write) -> Result<()> {
    let (names, rows) = cells(batches)?;
    for row in std::iter::once(&names).chain(&rows) {
        let fields: Vec<_> = row.iter().map(|cell| quoted(cell)).collect();
        writeln!(output, "{}", fields.join(","))?;
    }
    Ok(())
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

fn text(batches: &[RecordBatch], output: &mut dyn Write) -> Result<()> {
    let (names, rows) = cells(batches)?;
    let mut widths = vec![0; names.len()];
    for row in std::iter::once(&names).chain(&rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let numbers = are_numbers(batches);
    let mut line = |row: &[String]| -> Result<()> {
        let cells = row.iter().zip(&widths).zip(&numbers).map(|((cell, width), is_number)| {
            let cell = lifetrace_human::printable(cell);
            match is_number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            }
        });
        Ok(writeln!(output, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?)
    };
    line(&names)?;
    rows.iter().try_for_each(|row| line(row))?;
    let rows = rows.len();
    Ok(writeln!(output, "({rows} {})", if rows == 1 { "row" } else { "rows" })?)
}

fn are_numbers(batches: &[RecordBatch]) -> Vec<bool> {
    let Some(first) = batches.first() else { return Vec::new() };
    first.schema().fields().iter().map(|field| field.data_type().is_numeric()).collect()
}

/// The names of columns, and the text of each value; nothing for none.
fn cells(batches: &[RecordBatch]) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let options = FormatOptions::default();
    let Some(first) = batches.first() else { return Ok(Default::default()) };
    let names = first.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(|it| ArrayFormatter::try_new(it, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cell = |(at, column): (usize, &ArrayFormatter<'_>)| {
                if batch.column(at).is_null(row) {
                    String::new()
                } else {
                    column.value(row).to_string()
                }
            };
            rows.push(columns.iter().enumerate().map(cell).collect());
        }
    }
    Ok((names, rows))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn written(form: Form) -> String {
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a,\"b\""), None]));
        let number: ArrayRef = Arc::new(Int64Array::from(vec![7, -12]));
        let rows = RecordBatch::try_from_iter([("name", text), ("n", number)]).unwrap();
        let mut output = Vec::new();
        write(form, &[rows], &mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn rows_for_all() {
        assert_eq!(written(Form::Csv), "name,n\n\"a,\"\"b\"\"\",7\n,-12\n");
        assert_eq!(written(Form::Text), "name     n\na,\"b\"    7\n       -12\n(2 rows)\n");
        assert_eq!(written(Form::Json), "[{\"name\":\"a,\\\"b\\\"\",\"n\":7},{\"n\":-12}]\n");
    }
}
