//! Leaks as fields of `--json`.

use lifetrace_analysis::leaks::{Kind, Past};
use lifetrace_analysis::statistics::growth::{Evidence, Fill};
use serde::{Serialize, Serializer};

use super::super::callsites::Hottest;
use super::held::HeldBy;
use super::{Entry, Listed, Verdict};
use crate::amounts::Quantity;
use crate::fields::{PlaceFields, Share, number, number_or_none};

/// Growth, with its interval.
#[derive(Debug, Serialize)]
pub struct Rate {
    #[serde(serialize_with = "number")]
    bytes_per_hour: f64,
    #[serde(serialize_with = "number")]
    bytes_per_hour_low95: f64,
    #[serde(serialize_with = "number")]
    bytes_per_hour_high95: f64,
}

/// When a limit is reached.
#[derive(Debug, Serialize)]
pub struct Hours {
    #[serde(serialize_with = "number_or_none")]
    hours: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    hours_low95: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    hours_high95: Option<f64>,
}

#[derive(Serialize)]
struct Fields<'e, 'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    kind: &'static str,
    shape: Option<&'static str>,
    live_at_end: Quantity,
    allocated: Quantity,
    growth: Option<Rate>,
    limit_reached: Option<Hours>,
    evidence: Option<EvidenceFields>,
    oldest_us: u64,
    never_freed: Share,
    freed: Option<Freed>,
    live_over_time_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<&'e HeldBy>,
    #[serde(flatten)]
    hottest: Option<&'e Hottest<'a>>,
}

#[derive(Serialize)]
struct EvidenceFields {
    #[serde(serialize_with = "number")]
    from_start: f64,
    #[serde(serialize_with = "number")]
    largest_step: f64,
    #[serde(serialize_with = "number")]
    largest_three_steps: f64,
    #[serde(serialize_with = "number")]
    largest_fall: f64,
    #[serde(serialize_with = "number_or_none")]
    persistence: Option<f64>,
}

#[derive(Serialize)]
struct Freed {
    #[serde(serialize_with = "number")]
    lifetime99_us: f64,
    alive_and_older: Share,
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::NotHeard => "not-heard",
            Self::GrowsBeside => "grows-beside",
            Self::NothingLives => "nothing-lives",
            Self::TooShort => "too-short",
            Self::NoLeak => "no-leak",
            Self::Leaks => "leaks",
        })
    }
}

/// The first ones.
impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all.iter().take(self.top))
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::new(self).serialize(serializer)
    }
}

impl<'e, 'a> Fields<'e, 'a> {
    fn new(entry: &'e Entry<'a>) -> Self {
        let holding = &entry.holding;
        let growth = holding.growth.as_ref();
        Self {
            place: PlaceFields(entry.place),
            kind: kind_name(holding.kind),
            shape: growth.map(|growth| growth.shape.name()),
            live_at_end: Quantity(entry.live),
            allocated: Quantity(entry.allocated),
            growth: growth.map(|it| Rate::new(it.rate.per_hour, it.rate.low, it.rate.high)),
            limit_reached: growth.map(|growth| Hours::new(growth.fills(entry.limit))),
            evidence: growth.map(|growth| EvidenceFields::new(&growth.evidence)),
            oldest_us: holding.oldest,
            never_freed: Share::new(&holding.never_freed),
            freed: holding.past.as_ref().map(Freed::new),
            live_over_time_bytes: holding.heights.iter().map(|it| it.round() as u64).collect(),
            held_by: entry.held.as_ref(),
            hottest: entry.hottest.as_ref(),
        }
    }
}

impl Rate {
    pub fn new(per_hour: f64, low: f64, high: f64) -> Self {
        Self { bytes_per_hour: per_hour, bytes_per_hour_low95: low, bytes_per_hour_high95: high }
    }
}

impl Hours {
    pub fn new(fill: Fill) -> Self {
        Self { hours: fill.hours, hours_low95: fill.earliest, hours_high95: fill.latest }
    }
}

impl EvidenceFields {
    fn new(evidence: &Evidence) -> Self {
        let Evidence { from_start, largest_step, largest_three, largest_fall, persistence } =
            *evidence;
        let largest_three_steps = largest_three;
        Self { from_start, largest_step, largest_three_steps, largest_fall, persistence }
    }
}

impl Freed {
    fn new(past: &Past) -> Self {
        Self { lifetime99_us: past.most_lived, alive_and_older: Share::new(&past.outliving) }
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Leak => "leak",
        Kind::Steps => "steps",
        Kind::Filling => "filling",
        Kind::Plateau => "plateau",
        Kind::StartUp => "start-up",
        Kind::Unknown => "unknown",
    }
}
