//! The latest rows of a record: those of the date, commit and machine of its last row.

use anyhow::{Context, Result};

/// The latest rows, in the order in which they were added.
pub struct Latest<'a> {
    columns: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

/// A row of them.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    columns: &'a [&'a str],
    cells: &'a [&'a str],
}

impl<'a> Latest<'a> {
    /// Reads a whole record.
    ///
    /// # Errors
    /// If it has no row.
    pub fn read(record: &'a str) -> Result<Latest<'a>> {
        let mut lines = record.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let columns = lines.next().context("the record is empty")?;
        let mut rows: Vec<_> = lines.collect();
        let stamp = rows.last().and_then(|row| stamp(row)).context("the record has no row")?;
        let stamp = stamp.to_vec();
        rows.retain(|row| row.starts_with(&stamp));
        Ok(Latest { columns, rows })
    }

    /// The row of a workload in a variant; the last, if it was measured more than once.
    pub fn find(&self, workload: &str, variant: &str) -> Option<Measured<'_>> {
        self.all().rfind(|row| row.cell("workload") == workload && row.cell("variant") == variant)
    }

    /// Some row of a variant.
    pub fn find_any(&self, variant: &str) -> Option<Measured<'_>> {
        self.all().rfind(|row| row.cell("variant") == variant)
    }

    /// What all rows have in `column`, such as the date.
    pub fn shared(&self, column: &str) -> &str {
        self.all().next_back().map_or("", |row| row.cell(column))
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = Measured<'_>> {
        self.rows.iter().map(|cells| Measured { columns: &self.columns, cells })
    }
}

/// Date, commit and processor.
fn stamp<'a, 'b>(row: &'b [&'a str]) -> Option<&'b [&'a str]> {
    row.get(..3)
}

impl<'a> Measured<'a> {
    /// What stands in `column`; nothing if there is no such column.
    pub fn cell(&self, column: &str) -> &'a str {
        let place = self.columns.iter().position(|name| *name == column);
        place.and_then(|place| self.cells.get(place)).copied().unwrap_or_default()
    }

    /// The number in `column`, or not-a-number.
    pub fn number(&self, column: &str) -> f64 {
        self.cell(column).parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "date,commit,processor,workload,variant,cpu\n\
                          1,a,p,perl,bare,1\n2,a,p,perl,bare,2\n2,a,p,perl,exact,3\n2,a,p,perl,bare,4\n";

    #[test]
    fn what_was_measured_before_is_left_out() {
        let latest = Latest::read(RECORD).unwrap();
        assert_eq!(latest.all().count(), 3);
        assert_eq!(latest.shared("date"), "2");
    }

    #[test]
    fn the_last_of_several_rows_counts() {
        let latest = Latest::read(RECORD).unwrap();
        assert_eq!(latest.find("perl", "bare").unwrap().cell("cpu"), "4");
        assert_eq!(latest.find_any("exact").unwrap().number("cpu"), 3.0);
        assert!(latest.find("perl", "heaptrack").is_none());
        assert_eq!(latest.find("perl", "bare").unwrap().cell("no such"), "");
    }

    #[test]
    fn an_empty_record_is_refused() {
        assert!(Latest::read("").is_err());
        assert!(Latest::read("date,commit,processor\n").is_err());
    }
}
