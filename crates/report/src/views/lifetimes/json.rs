//! Lifetimes as fields of `--json`.

use lifetrace_analysis::lifetimes::{Collections, Lifetime};
use lifetrace_analysis::statistics::{Quantile, Survival, Unit};
use serde::{Serialize, Serializer};

use super::QUANTILES;
use super::spread::{Class, Spread, counts, times};
use crate::fields::number_or_none;

/// How long blocks live: in documents quantiles and classes.
#[derive(Debug)]
pub struct LifetimeFields {
    pub lifetime: Lifetime,
    /// The collections that the trace tells of.
    pub collections: Collections,
}

#[derive(Serialize)]
struct Fields {
    unit: &'static str,
    time_us: Option<Distribution>,
    minor_collections: Option<Distribution>,
    major_collections: Option<Distribution>,
}

#[derive(Serialize)]
struct Distribution {
    quantiles: Vec<QuantileFields>,
    classes: Vec<ClassFields>,
    longer: Shares,
    watched: u64,
}

#[derive(Serialize)]
struct QuantileFields {
    share: f64,
    #[serde(serialize_with = "number_or_none")]
    value: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    low95: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    high95: Option<f64>,
}

#[derive(Serialize)]
struct ClassFields {
    least: u64,
    most: u64,
    #[serde(flatten)]
    shares: Shares,
}

#[derive(Serialize)]
struct Shares {
    #[serde(serialize_with = "rounded")]
    objects_share: f64,
    #[serde(serialize_with = "rounded")]
    bytes_share: f64,
}

impl Serialize for LifetimeFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::new(self).serialize(serializer)
    }
}

impl Fields {
    fn new(LifetimeFields { lifetime, collections: told }: &LifetimeFields) -> Self {
        let unit = lifetime.unit();
        let distribution = |survival: &Survival, begins: &[u64]| {
            Spread::of(survival, begins).map(|spread| Distribution::new(survival, unit, &spread))
        };
        let collections = |survival: &Survival, all: u64| {
            (all > 0).then(|| distribution(survival, &counts())).flatten()
        };
        Self {
            unit: match unit {
                Unit::Objects => "objects",
                Unit::Bytes => "bytes",
            },
            time_us: distribution(&lifetime.time, &times()),
            minor_collections: collections(&lifetime.minor, told.minor),
            major_collections: collections(&lifetime.major, told.major),
        }
    }
}

impl Distribution {
    fn new(survival: &Survival, unit: Unit, spread: &Spread) -> Self {
        let curve = survival.curve(unit);
        Self {
            quantiles: QUANTILES
                .map(|share| QuantileFields::new(share, curve.quantile(share)))
                .into(),
            classes: spread.classes.iter().map(ClassFields::new).collect(),
            longer: Shares::new(spread.longer),
            watched: spread.watched,
        }
    }
}

impl QuantileFields {
    fn new(share: f64, quantile: Option<Quantile>) -> Self {
        Self {
            share,
            value: quantile.map(|quantile| quantile.value),
            low95: quantile.and_then(|quantile| quantile.low),
            high95: quantile.and_then(|quantile| quantile.high),
        }
    }
}

impl ClassFields {
    fn new(class: &Class) -> Self {
        Self { least: class.least, most: class.most, shares: Shares::new(class.shares) }
    }
}

impl Shares {
    fn new([objects_share, bytes_share]: [f64; 2]) -> Self {
        Self { objects_share, bytes_share }
    }
}

/// A share that was reckoned up, to a millionth.
fn rounded<S: Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((share * 1e6).round() / 1e6)
}
