//! What samples amount to, added up.

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field};

use super::samples::Sample;
use super::{column, required};

/// What some samples amount to.
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

pub(super) fn columns() -> Vec<Field> {
    vec![
        required("samples", DataType::Int64),
        required("objects", DataType::Float64),
        required("bytes", DataType::Float64),
        required("bytes_variance", DataType::Float64),
        required("byte_seconds", DataType::Float64),
        required("byte_seconds_variance", DataType::Float64),
    ]
}

impl Sums {
    /// Adds a sample of a run that was so long.
    pub fn add(&mut self, sample: &Sample, duration_us: i64) {
        let lived = sample.lifetime_us.unwrap_or(duration_us - sample.birth_us).max(0) as f64 / 1e6;
        let bytes = sample.bytes as f64;
        self.samples += 1;
        self.objects += sample.objects();
        self.bytes += sample.weight * bytes;
        self.bytes_variance += sample.variance() * bytes * bytes;
        self.byte_seconds += sample.weight * bytes * lived;
        self.byte_seconds_variance += sample.variance() * (bytes * lived).powi(2);
    }

    /// Adds what others amount to.
    pub fn join(&mut self, other: &Sums) {
        self.samples += other.samples;
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.bytes_variance += other.bytes_variance;
        self.byte_seconds += other.byte_seconds;
        self.byte_seconds_variance += other.byte_seconds_variance;
    }
}

/// As Arrow has them.
pub(super) fn arrays<'a>(rows: impl Iterator<Item = &'a Sums> + Clone) -> Vec<ArrayRef> {
    let floats = |of: fn(&Sums) -> f64| column::float(rows.clone().map(of).collect());
    vec![
        column::int64(rows.clone().map(|it| it.samples).collect()),
        floats(|it| it.objects),
        floats(|it| it.bytes),
        floats(|it| it.bytes_variance),
        floats(|it| it.byte_seconds),
        floats(|it| it.byte_seconds_variance),
    ]
}
