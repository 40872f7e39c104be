//! Leaks as fields of `--json`.

use lifetrace_analysis::leaks::{Holding, Kind, Past};
use lifetrace_analysis::statistics::Proportion;
use lifetrace_analysis::statistics::growth::{Evidence, Fill};
use lifetrace_analysis::{Callsite, Callsites};
use serde::Serialize;

use super::super::callsites::Backtrace;
use super::{Leaks, Verdict};
use crate::amounts::Quantity;
use crate::json::PlaceFields;
use crate::numbers::{number, number_or_none};
use crate::resident::{self, Resident};
use crate::shapes::shape_name;

#[derive(Serialize)]
pub struct Document<'a> {
    verdict: &'static str,
    leaking_callsites: usize,
    growth_together: Option<Rate>,
    limit_bytes: u64,
    limit_reached: Option<Hours>,
    resident: Option<resident::Fields>,
    callsites_total: usize,
    callsites: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Rate {
    #[serde(serialize_with = "number")]
    bytes_per_hour: f64,
    #[serde(serialize_with = "number")]
    bytes_per_hour_low95: f64,
    #[serde(serialize_with = "number")]
    bytes_per_hour_high95: f64,
}

#[derive(Serialize)]
struct Hours {
    #[serde(serialize_with = "number_or_none")]
    hours: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    hours_low95: Option<f64>,
    #[serde(serialize_with = "number_or_none")]
    hours_high95: Option<f64>,
}

#[derive(Serialize)]
struct Share {
    share: f64,
    #[serde(serialize_with = "number")]
    share_low95: f64,
    #[serde(serialize_with = "number")]
    share_high95: f64,
}

#[derive(Serialize)]
struct Entry<'a> {
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
    backtraces: usize,
    hottest_backtrace: Backtrace<'a>,
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

impl<'a> Document<'a> {
    pub fn new(leaks: &Leaks<'a>) -> Self {
        let limit = leaks.limit_bytes();
        let entry = |(holding, callsite): (&Holding, &Callsite<'a>)| {
            Entry::new(holding, callsite, &leaks.callsites, limit)
        };
        let together = leaks.judgement.together;
        Self {
            verdict: match leaks.verdict() {
                Verdict::NotHeard => "not-heard",
                Verdict::GrowsBeside => "grows-beside",
                Verdict::NothingLives => "nothing-lives",
                Verdict::TooShort => "too-short",
                Verdict::NoLeak => "no-leak",
                Verdict::Leaks => "leaks",
            },
            leaking_callsites: leaks.of(Kind::Leak).count(),
            growth_together: together.map(|it| Rate::new(it.per_hour, it.low, it.high)),
            limit_bytes: leaks.limit.0.0,
            limit_reached: leaks.full().map(Hours::new),
            resident: leaks.resident.as_ref().map(Resident::fields),
            callsites_total: leaks.judgement.holdings.len(),
            callsites: leaks.all().take(leaks.top).map(entry).collect(),
        }
    }
}

impl<'a> Entry<'a> {
    fn new(
        holding: &Holding,
        callsite: &Callsite<'a>,
        callsites: &Callsites<'a>,
        limit: f64,
    ) -> Self {
        let growth = holding.growth.as_ref();
        Self {
            place: PlaceFields::new(callsite.place),
            kind: kind_name(holding.kind),
            shape: growth.map(|growth| shape_name(growth.shape)),
            live_at_end: Quantity::new(&callsite.live),
            allocated: Quantity::new(&callsite.allocated),
            growth: growth.map(|it| Rate::new(it.rate.per_hour, it.rate.low, it.rate.high)),
            limit_reached: growth.map(|growth| Hours::new(growth.fills(limit))),
            evidence: growth.map(|growth| EvidenceFields::new(&growth.evidence)),
            oldest_us: holding.oldest,
            never_freed: Share::new(&holding.never_freed),
            freed: holding.past.as_ref().map(Freed::new),
            live_over_time_bytes: holding
                .heights
                .iter()
                .map(|height| height.round() as u64)
                .collect(),
            backtraces: callsite.hottest.of,
            hottest_backtrace: Backtrace::new(callsites, callsite),
        }
    }
}

impl Rate {
    fn new(per_hour: f64, low: f64, high: f64) -> Self {
        Self { bytes_per_hour: per_hour, bytes_per_hour_low95: low, bytes_per_hour_high95: high }
    }
}

impl Hours {
    fn new(fill: Fill) -> Self {
        Self { hours: fill.hours, hours_low95: fill.earliest, hours_high95: fill.latest }
    }
}

impl Share {
    fn new(share: &Proportion) -> Self {
        let (low, high) = share.interval95();
        Self { share: share.value, share_low95: low, share_high95: high }
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
