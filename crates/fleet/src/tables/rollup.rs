//! Sums of samples, so that questions to many runs need not read each sample.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;
use rustc_hash::FxHashMap;

use super::samples::Sample;
use super::{Partition, Table, column, optional, required};

/// Into so many parts of equal length the time of a run is divided.
pub const PHASES: i64 = 8;

/// What samples have in common that are added up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Their backtrace.
    pub site: i64,
    /// Their run.
    pub run: i64,
    /// In which part of the run's time they were born, from 0.
    pub phase: i8,
    /// How many decimal digits the microseconds of their lifetimes have; nothing of what lives at the end.
    pub lifetime: Option<i8>,
    /// Their sampler.
    pub source: Arc<str>,
}

/// What they amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// How many they are.
    pub samples: i64,
    /// The blocks that they stand for.
    pub objects: f64,
    /// The bytes that they stand for.
    pub bytes: f64,
    /// The variance of that.
    pub bytes_variance: f64,
    /// Bytes times the seconds that they lived.
    pub byte_seconds: f64,
    /// The variance of that.
    pub byte_seconds_variance: f64,
}

/// Rows of the table.
#[derive(Clone, Debug, Default)]
pub struct Rollup {
    sums: FxHashMap<Key, Sums>,
}

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("run", DataType::Int64),
        required("site", DataType::Int64),
        required("source", DataType::Utf8),
        required("phase", DataType::Int8),
        optional("lifetime", DataType::Int8),
        required("samples", DataType::Int64),
        required("objects", DataType::Float64),
        required("bytes", DataType::Float64),
        required("bytes_variance", DataType::Float64),
        required("byte_seconds", DataType::Float64),
        required("byte_seconds_variance", DataType::Float64),
    ]
}

impl Rollup {
    /// Adds a sample of a run that was so long.
    pub fn add(&mut self, sample: &Sample, duration_us: i64) {
        let key = Key {
            site: sample.site,
            run: sample.run,
            phase: phase(sample.birth_us, duration_us),
            lifetime: sample.lifetime_us.map(digits),
            source: sample.source.clone(),
        };
        let lived = sample.lifetime_us.unwrap_or(duration_us - sample.birth_us).max(0) as f64 / 1e6;
        let (bytes, sums) = (sample.bytes as f64, self.sums.entry(key).or_default());
        sums.samples += 1;
        sums.objects += sample.objects();
        sums.bytes += sample.weight * bytes;
        sums.bytes_variance += sample.variance() * bytes * bytes;
        sums.byte_seconds += sample.weight * bytes * lived;
        sums.byte_seconds_variance += sample.variance() * (bytes * lived).powi(2);
    }

    /// As Arrow has them.
    ///
    /// # Errors
    /// Never, unless columns and schema differ.
    pub fn batch(self, of: &Partition) -> Result<RecordBatch> {
        let mut rows: Vec<(Key, Sums)> = self.sums.into_iter().collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let floats =
            |of: fn(&Sums) -> f64| column::float(rows.iter().map(|it| of(&it.1)).collect());
        let columns = vec![
            column::int64(rows.iter().map(|it| it.0.run).collect()),
            column::int64(rows.iter().map(|it| it.0.site).collect()),
            column::text(&rows.iter().map(|it| &*it.0.source).collect::<Vec<_>>()),
            column::int8(rows.iter().map(|it| it.0.phase).collect()),
            column::maybe_int8(rows.iter().map(|it| it.0.lifetime).collect()),
            column::int64(rows.iter().map(|it| it.1.samples).collect()),
            floats(|it| it.objects),
            floats(|it| it.bytes),
            floats(|it| it.bytes_variance),
            floats(|it| it.byte_seconds),
            floats(|it| it.byte_seconds_variance),
        ];
        Ok(Table::Rollup.batch(of, rows.len(), columns)?)
    }
}

fn phase(birth_us: i64, duration_us: i64) -> i8 {
    let phase = i128::from(birth_us) * i128::from(PHASES) / i128::from(duration_us.max(1));
    phase.clamp(0, i128::from(PHASES - 1)) as i8
}

fn digits(lifetime_us: i64) -> i8 {
    lifetime_us.max(0).checked_ilog10().map_or(0, |log| log as i8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_places() {
        assert_eq!([0, 99, 100, 799, 800, 5000].map(|time| phase(time, 800)), [0, 0, 1, 7, 7, 7]);
        assert_eq!([phase(0, 0), phase(i64::MAX, i64::MAX)], [0, 7]);
        assert_eq!([0, 1, 9, 10, 999_999, i64::MAX].map(digits), [0, 1, 1, 2, 6, 19]);
    }
}
