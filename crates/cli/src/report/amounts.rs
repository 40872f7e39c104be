//! Amounts as text, and as the fields of `--json`.

use lifetrace_analysis::{Amount, Estimate, Metric, Sampling, metric::Unit};
use serde::Serialize;

use super::json::number;
use crate::human;

/// An amount of memory.
#[derive(Serialize)]
pub struct Quantity {
    samples: u64,
    #[serde(serialize_with = "number")]
    bytes: f64,
    #[serde(serialize_with = "number")]
    bytes_interval95: f64,
    #[serde(serialize_with = "number")]
    objects: f64,
    #[serde(serialize_with = "number")]
    objects_interval95: f64,
}

impl Quantity {
    pub fn new(amount: &Amount) -> Self {
        Self {
            samples: amount.samples,
            bytes: amount.bytes.value,
            bytes_interval95: amount.bytes.interval95(),
            objects: amount.objects.value,
            objects_interval95: amount.objects.interval95(),
        }
    }
}

/// An estimated number.
#[derive(Serialize)]
pub struct Number {
    #[serde(serialize_with = "number")]
    value: f64,
    #[serde(serialize_with = "number")]
    interval95: f64,
}

impl From<Estimate> for Number {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value, interval95: estimate.interval95() }
    }
}

/// Bytes of a set of blocks, if any of them was sampled.
pub fn bytes_or_none(amount: &Amount, sampling: &Sampling) -> String {
    match amount.samples {
        0 if !sampling.is_exact() => "none sampled".to_owned(),
        _ => human::estimate(&amount.bytes),
    }
}

/// The number of objects, likewise.
pub fn objects_or_none(amount: &Amount, sampling: &Sampling) -> String {
    match amount.samples {
        0 if !sampling.is_exact() => "none sampled".to_owned(),
        _ => human::objects(&amount.objects),
    }
}

/// `1 object`, `12,300 ± 400 objects`.
pub fn objects(estimate: &Estimate) -> String {
    match human::objects(estimate).as_str() {
        "1" => "1 object".to_owned(),
        number => format!("{number} objects"),
    }
}

/// What a metric counts, in its unit.
pub fn measured(metric: Metric, estimate: &Estimate) -> String {
    match metric.unit() {
        Unit::Bytes => human::estimate(estimate),
        Unit::Objects => human::objects(estimate),
        Unit::ByteSeconds => human::byte_seconds(estimate),
    }
}
