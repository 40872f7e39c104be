//! Lifetimes as fields of `--json`.

use lifetrace_analysis::Callsite;
use lifetrace_analysis::lifetimes::{Found, Lifetime};
use lifetrace_analysis::statistics::{Quantile, Survival, Unit};
use serde::{Serialize, Serializer};

use super::spread::{Class, Spread, counts, times};
use super::{Lifetimes, QUANTILES};
use crate::amounts::Quantity;
use crate::json::PlaceFields;
use crate::numbers::number_or_none;

#[derive(Serialize)]
pub struct Document<'a> {
    collections: Collections,
    lifetimes: LifetimeFields,
    callsites_total: usize,
    callsites: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Collections {
    minor: u64,
    major: u64,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    allocated: Quantity,
    live_at_end: Quantity,
    lifetimes: LifetimeFields,
}

/// How long blocks live.
#[derive(Serialize)]
pub struct LifetimeFields {
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

impl<'a> Document<'a> {
    pub fn new(lifetimes: &Lifetimes<'a>) -> Self {
        let found = &lifetimes.found;
        let entry = |(callsite, lifetime): (&Callsite<'a>, &Lifetime)| Entry {
            place: PlaceFields::new(callsite.place),
            share: callsite.share,
            allocated: Quantity::new(&callsite.allocated),
            live_at_end: Quantity::new(&callsite.live),
            lifetimes: LifetimeFields::new(lifetime, found),
        };
        Self {
            collections: Collections {
                minor: found.collections.minor,
                major: found.collections.major,
            },
            lifetimes: LifetimeFields::new(&lifetimes.all, found),
            callsites_total: lifetimes.callsites.callsites.len(),
            callsites: lifetimes.shown().map(entry).collect(),
        }
    }
}

impl LifetimeFields {
    pub fn new(lifetime: &Lifetime, found: &Found) -> Self {
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
            minor_collections: collections(&lifetime.minor, found.collections.minor),
            major_collections: collections(&lifetime.major, found.collections.major),
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
