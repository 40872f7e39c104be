//! The report as JSON; `docs/json.md` describes its fields, which stay as they are.

use lifetrace_analysis::{Metric, Summary};
use lifetrace_human::json_text;
use lifetrace_human::named::Named;
use lifetrace_study::damage::Damage;
use lifetrace_study::damages::Damages;
use lifetrace_study::origin::Origin;
use serde::Serialize;
use serde_json::{Map, Value};

use super::amounts::Total;
use super::{Known, Report, Subject};
use crate::gates::Judged;

#[derive(Serialize)]
struct Document<'a> {
    trace: Subject<'a>,
    view: &'static str,
    metric: Option<&'static str>,
    filter: Option<String>,
    /// Births, those that the filter left out included.
    samples_in_trace: u64,
    totals: Value,
    #[serde(flatten)]
    view_fields: Map<String, Value>,
    /// Those that were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gates: &'a [Judged],
    #[serde(flatten)]
    flaws: Flaws,
}

/// The amounts of the whole program.
#[derive(Serialize)]
pub struct Totals {
    allocated: Total,
    promoted: Total,
    peak: PeakQuantity,
    live_at_end: Total,
}

#[derive(Serialize)]
struct PeakQuantity {
    /// Since the start; several processes' peaks are at different times.
    time_us: Option<u64>,
    #[serde(flatten)]
    quantity: Total,
}

/// What was wrong with a trace: fields of its documents.
#[derive(Serialize)]
pub struct Flaws {
    damage: Option<Flaw>,
    damages: Vec<Flaw>,
    damages_total: u64,
}

#[derive(Clone, Serialize)]
struct Flaw {
    offset: u64,
    /// Nothing if all to the end is lost.
    bytes: Option<u64>,
    allocations_missing: Option<u64>,
    reason: String,
}

impl Report<'_> {
    /// One JSON object.
    pub fn json(&self, gates: &[Judged]) -> serde_json::Result<String> {
        let (reading, filter) = (&self.study.reading, &self.study.choice.filter);
        let origin = reading.origin();
        let mut view_fields = self.view.json()?;
        if let Some(resident) = self.resident() {
            view_fields.insert("resident".to_owned(), serde_json::to_value(&resident)?);
        }
        origin.silence_fields(&mut view_fields);
        json_text::pretty(&Document {
            trace: Subject::new(Known::of(reading)),
            view: self.options.view.name(),
            metric: self.options.view.metric(self.options.metric).map(Metric::name),
            filter: (!filter.is_empty()).then(|| filter.to_string()),
            samples_in_trace: reading.profile.replay().births(),
            totals: Totals::new(&reading.profile.summary()).known_to(&origin)?,
            view_fields,
            gates,
            flaws: Flaws::new(&reading.damages),
        })
    }
}

impl Totals {
    pub fn new(summary: &Summary) -> Self {
        Self::with_peak_at(summary, Some(summary.peak.time.as_micros() as u64))
    }

    /// Those of several traces.
    pub fn of_sum(summary: &Summary) -> Self {
        Self::with_peak_at(summary, None)
    }

    /// What of them is known.
    pub fn known_to(self, origin: &Origin) -> serde_json::Result<Value> {
        let mut totals = serde_json::to_value(self)?;
        origin.silence(&mut totals);
        Ok(totals)
    }

    fn with_peak_at(summary: &Summary, time_us: Option<u64>) -> Self {
        let total = |amount| Total::new(amount, &summary.sampling);
        Self {
            allocated: total(summary.allocated),
            promoted: total(summary.promoted),
            peak: PeakQuantity { time_us, quantity: total(summary.peak.amount) },
            live_at_end: total(summary.live),
        }
    }
}

impl Flaws {
    /// Of a trace whose damages these are.
    pub fn new(damages: &Damages) -> Self {
        let listed: Vec<_> = damages.listed.iter().map(Flaw::new).collect();
        Self { damage: listed.first().cloned(), damages: listed, damages_total: damages.count }
    }
}

impl Flaw {
    fn new(damage: &Damage) -> Self {
        let stretch = damage.stretch();
        Self {
            offset: damage.offset(),
            bytes: stretch.map(|stretch| stretch.bytes),
            allocations_missing: stretch.and_then(|stretch| stretch.births),
            reason: damage.reason(),
        }
    }
}
