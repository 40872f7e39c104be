//! Amounts as text, and as the fields of `--json`.

use lifetrace_analysis::{Amount, Estimate, Interval, Metric, Sampling, metric::Unit};
use lifetrace_human as human;
use serde::{Serialize, Serializer};

use crate::fields::{number, number_or_none};

/// How much lies between two samples on average.
pub fn interval(sampling: &Sampling) -> String {
    match sampling.interval_bytes() {
        0.0 => format!("{} objects", human::count(sampling.interval_objects())),
        bytes => human::bytes(bytes),
    }
}

/// How objects are sampled as such, where that is beside what is sampled by bytes; else nothing.
pub fn objects_beside(sampling: &Sampling) -> String {
    match (sampling.interval_bytes(), sampling.interval_objects()) {
        (0.0, _) | (_, 0.0 | 1.0) => String::new(),
        (_, objects) => format!(", and one of {} objects", human::count(objects)),
    }
}

/// An amount of memory: in documents its bytes and objects, each with its interval.
#[derive(Clone, Copy, Debug)]
pub struct Quantity(pub Amount);

/// An estimated number: in documents with its interval.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub Estimate);

/// An amount that has all blocks in it, of whatever sizes: its intervals have room for those that might have been missed.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    amount: Amount,
    bytes: Interval,
    objects: Interval,
}

impl Total {
    /// Of what was sampled so.
    pub fn new(amount: Amount, sampling: &Sampling) -> Self {
        let (bytes, objects) = (amount.heard_bytes(sampling), amount.heard_objects(sampling));
        Self { amount, bytes, objects }
    }
}

#[derive(Serialize)]
struct QuantityFields {
    samples: u64,
    #[serde(serialize_with = "number")]
    bytes: f64,
    #[serde(serialize_with = "number")]
    bytes_interval95: f64,
    #[serde(serialize_with = "number_or_none")]
    bytes_low95: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    bytes_high95: Option<f64>,
    #[serde(serialize_with = "number")]
    objects: f64,
    #[serde(serialize_with = "number")]
    objects_interval95: f64,
    #[serde(serialize_with = "number_or_none")]
    objects_low95: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    objects_high95: Option<f64>,
}

#[derive(Serialize)]
struct NumberFields {
    #[serde(serialize_with = "number")]
    value: f64,
    #[serde(serialize_with = "number")]
    interval95: f64,
    #[serde(serialize_with = "number")]
    low95: f64,
    #[serde(serialize_with = "number")]
    high95: f64,
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let interval = |estimate: &Estimate| (self.0.samples > 0).then(|| estimate.interval());
        QuantityFields::new(&self.0, [interval(&self.0.bytes), interval(&self.0.objects)])
            .serialize(serializer)
    }
}

impl Serialize for Total {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = |interval| Some(interval).filter(|_| self.amount.samples > 0);
        let intervals = [self.bytes, self.objects].map(known);
        QuantityFields::new(&self.amount, intervals).serialize(serializer)
    }
}

impl QuantityFields {
    fn new(amount: &Amount, [bytes, objects]: [Option<Interval>; 2]) -> Self {
        Self {
            samples: amount.samples,
            bytes: amount.bytes.value,
            bytes_interval95: amount.bytes.interval95(),
            bytes_low95: bytes.map(|interval| interval.low),
            bytes_high95: bytes.map(|interval| interval.high),
            objects: amount.objects.value,
            objects_interval95: amount.objects.interval95(),
            objects_low95: objects.map(|interval| interval.low),
            objects_high95: objects.map(|interval| interval.high),
        }
    }
}

impl From<Estimate> for Number {
    fn from(estimate: Estimate) -> Self {
        Self(estimate)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Interval { low, high } = self.0.interval();
        let (value, interval95) = (self.0.value, self.0.interval95());
        NumberFields { value, interval95, low95: low, high95: high }.serialize(serializer)
    }
}

/// Bytes of a set of blocks, if any of them was sampled.
pub fn bytes_or_none(amount: &Amount, sampling: &Sampling) -> String {
    match amount.samples {
        0 if !sampling.hears_all() => "none heard".to_owned(),
        0 if !sampling.is_exact() => "none sampled".to_owned(),
        _ => human::estimate(&amount.bytes),
    }
}

/// The number of objects, likewise: what `realloc` added is of no object.
pub fn objects_or_none(amount: &Amount, sampling: &Sampling) -> String {
    match amount.objects.value > 0.0 || sampling.is_exact() {
        true => human::objects(&amount.objects),
        false => "none sampled".to_owned(),
    }
}

/// `1 object`, `12,300 ± 400 objects`.
pub fn objects(estimate: &Estimate) -> String {
    match human::objects(estimate).as_str() {
        "0" => "no new objects".to_owned(),
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
