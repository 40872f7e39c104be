//! What the runs of a service allocated, hour by hour: so long as days are, few rows.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;
use rustc_hash::FxHashMap;

use super::runs::Run;
use super::samples::Sample;
use super::sums::{self, Sums};
use super::{Partition, Table, column, moment, optional, required};

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// What samples have in common that are added up, whichever runs they are of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Their backtrace.
    pub site: i64,
    /// The hour in which they were born: its beginning, in microseconds since 1970.
    pub hour: i64,
    /// How many decimal digits the microseconds of their lifetimes have; nothing of what lives at the end.
    pub lifetime: Option<i8>,
    /// Their sampler.
    pub source: Arc<str>,
    /// The version of their runs.
    pub version: Option<Arc<str>>,
}

/// Rows of the table.
#[derive(Clone, Debug, Default)]
pub struct Rollup {
    sums: FxHashMap<Key, Sums>,
}

pub(super) fn columns() -> Vec<Field> {
    let mut columns = vec![
        required("site", DataType::Int64),
        required("hour", moment()),
        optional("lifetime", DataType::Int8),
        required("source", DataType::Utf8),
        optional("version", DataType::Utf8),
    ];
    columns.extend(sums::columns());
    columns
}

impl Rollup {
    /// Of the samples of a run.
    pub fn of(run: &Run, samples: &[Sample]) -> Rollup {
        let version: Option<Arc<str>> = run.version.as_deref().map(Arc::from);
        let mut rollup = Rollup::default();
        for sample in samples {
            let key = Key {
                site: sample.site,
                hour: hour(run.start.saturating_add(sample.birth_us)),
                lifetime: sample.lifetime_us.map(digits),
                source: sample.source.clone(),
                version: version.clone(),
            };
            rollup.sums.entry(key).or_default().add(sample, run.duration_us);
        }
        rollup
    }

    /// Adds that of other runs.
    pub fn join(&mut self, other: Rollup) {
        for (key, sums) in other.sums {
            self.sums.entry(key).or_default().join(&sums);
        }
    }

    /// As Arrow has them.
    ///
    /// # Errors
    /// Never, unless columns and schema differ.
    pub fn batch(self, of: &Partition) -> Result<RecordBatch> {
        let mut rows: Vec<(Key, Sums)> = self.sums.into_iter().collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let keys = || rows.iter().map(|it| &it.0);
        let mut columns = vec![
            column::int64(keys().map(|it| it.site).collect()),
            column::moment(keys().map(|it| it.hour).collect()),
            column::maybe_int8(keys().map(|it| it.lifetime).collect()),
            column::text(&keys().map(|it| &*it.source).collect::<Vec<_>>()),
            column::maybe_text(&keys().map(|it| it.version.as_deref()).collect::<Vec<_>>()),
        ];
        columns.extend(sums::arrays(rows.iter().map(|it| &it.1)));
        Ok(Table::Rollup.batch(of, rows.len(), columns)?)
    }
}

fn hour(time_us: i64) -> i64 {
    time_us - time_us.rem_euclid(MICROS_PER_HOUR)
}

fn digits(lifetime_us: i64) -> i8 {
    lifetime_us.max(0).checked_ilog10().map_or(0, |log| log as i8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_places() {
        assert_eq!([0, 1, 9, 10, 999_999, i64::MAX].map(digits), [0, 1, 1, 2, 6, 19]);
        let hours = [0, 1, MICROS_PER_HOUR - 1, MICROS_PER_HOUR, -1].map(hour);
        assert_eq!(hours, [0, 0, 0, MICROS_PER_HOUR, -MICROS_PER_HOUR]);
    }
}
