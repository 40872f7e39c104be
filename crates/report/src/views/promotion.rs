//! What moved from the young heap to the old one, and what a larger young heap would have spared.

use lifetrace_analysis::promotion::{Forecast, Promotions, Sums};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::statistics::Proportion;
use lifetrace_analysis::{Sampling, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_study::runtimes::YoungHeap;
use serde::{Serialize, Serializer};

use super::Render;
use super::callsites::{INDENT, place};
use crate::Options;
use crate::amounts::{Quantity, bytes_or_none, objects};
use crate::fields::{PlaceFields, number};
use crate::heap;
use crate::page::Page;
use crate::style::{FAINT, PLAIN, SHARE, STRONG};
use crate::table::{Cell, Column, Table, Tail};

/// Promotions, and those there would have been: the document of the view.
#[derive(Debug, Serialize)]
pub struct Promotion<'a> {
    #[serde(flatten)]
    total: Amounts,
    #[serde(flatten)]
    forecast: Forecasts,
    callsites_total: usize,
    /// The first of those that promote.
    callsites: Vec<Site<'a>>,
    #[serde(skip)]
    sampling: Sampling,
}

#[derive(Debug, Serialize)]
struct Site<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    #[serde(flatten)]
    amounts: Amounts,
}

/// What was promoted; in documents with its part of what was allocated.
#[derive(Debug)]
struct Amounts {
    sums: Sums,
    tells_premature: bool,
}

/// Nothing if blocks were left out, or nothing was promoted.
#[derive(Debug)]
struct Forecasts(Option<Larger>);

/// Larger young heaps.
#[derive(Debug)]
struct Larger {
    bytes: f64,
    /// Where the runtime says it.
    words: Option<u64>,
    /// How it is told another.
    setting: Option<&'static YoungHeap>,
    /// Bytes from one minor collection to the next.
    interval: Option<f64>,
    forecasts: Vec<Forecast>,
}

impl<'a> Promotion<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let (observed, words) = observe(study)?;
        let shaped = Shaped::new(reading.profile.tree(), &reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let mut callsites = sites.group(observed.sums());
        callsites.retain(|(_, sums)| !sums.promoted.is_empty());
        let bytes = |sums: &Sums| sums.promoted.amount().bytes.value;
        callsites.sort_by(|(_, a), (_, b)| bytes(b).total_cmp(&bytes(a)));
        let larger = Larger {
            bytes: observed.nursery(),
            words,
            setting: heap::setting(study),
            interval: observed.measured(),
            forecasts: observed.forecasts(),
        };
        let is_whole = study.choice.filter.is_empty();
        let larger = Some(larger).filter(|it| is_whole && !it.forecasts.is_empty());
        let (total, tells_premature) = (observed.total(), larger.is_some());
        let all = bytes(&total);
        let site = |&(site, sums): &(SiteId, Sums)| Site {
            place: PlaceFields(sites.place(site)),
            share: if all > 0.0 { bytes(&sums) / all } else { 0.0 },
            amounts: Amounts { sums, tells_premature },
        };
        Ok(Self {
            total: Amounts { sums: total, tells_premature },
            forecast: Forecasts(larger),
            callsites_total: callsites.len(),
            callsites: callsites.iter().take(options.top).map(site).collect(),
            sampling: reading.profile.summary().sampling,
        })
    }

    fn totals(&self, page: &mut Page) {
        let Amounts { sums, tells_premature } = &self.total;
        let Sums { young, promoted, .. } = sums;
        let text = format!(
            "{} of {} were promoted: {}",
            bytes_or_none(&promoted.amount(), &self.sampling),
            bytes_or_none(&young.amount(), &self.sampling),
            share(&sums.promoted_share())
        );
        page.prose("", STRONG, &text);
        if *tells_premature {
            let text = format!(
                "Premature: {}, found dead by one of the first two major collections after",
                self.premature(sums)
            );
            page.prose("", PLAIN, &text);
        }
    }

    fn premature(&self, sums: &Sums) -> String {
        let amount = bytes_or_none(&sums.premature.amount(), &self.sampling);
        match sums.premature.is_empty() {
            true => amount,
            false => format!("{amount}, {} of that", share(&sums.premature_share())),
        }
    }

    fn larger(&self, page: &mut Page, larger: &Larger) {
        page.line("");
        page.prose("", STRONG, "With a larger young heap");
        page.line("");
        let promoted = self.total.sums.promoted.amount().bytes;
        let mut table = Table::new([
            Column::right("young heap").label(),
            Column::left("").called("settings").goes(1),
            Column::left("promoted"),
            Column::left("less").goes(2),
        ]);
        let now = [larger.size(1), larger.setting(1), human::estimate(&promoted), "now".to_owned()];
        table.row(now.map(Cell::from), Tail::None);
        for forecast in &larger.forecasts {
            let row = larger.row(forecast, promoted.value);
            table.row(row.map(Cell::from), Tail::None);
        }
        page.table(&table);
        page.line("");
        larger.notes(&self.sampling).iter().for_each(|note| page.prose("", FAINT, note));
    }

    fn callsite(&self, page: &mut Page, rank: usize, site: &Site<'_>) {
        let Amounts { sums, tells_premature } = &site.amounts;
        let amount = sums.promoted.amount();
        let head = format!("{rank:>3}. {:>7}", human::percent(site.share));
        let text = format!("{} in {}", human::estimate(&amount.bytes), objects(&amount.objects));
        page.entry(SHARE, &head, INDENT, &text);
        place(page, &site.place.0);
        let young = human::estimate(&sums.young.amount().bytes);
        let part = share(&sums.promoted_share());
        page.prose(INDENT, PLAIN, &format!("{part} of the {young} allocated here"));
        if *tells_premature {
            page.prose(INDENT, PLAIN, &format!("premature: {}", self.premature(sums)));
        }
    }
}

/// Hears the trace, with the size of the young heap: what the runtime says of it if there is one such
/// heap only, else what the trace shows.
fn observe(study: &Study) -> anyhow::Result<(Promotions, Option<u64>)> {
    let words = heap::young_heap_words(study);
    let bytes = heap::young_heap(study).map_or(f64::MAX, |bytes| bytes as f64);
    let mut observed = Promotions::new(bytes);
    study.replay(&mut observed)?;
    if words.is_some() && observed.domains() <= 1 {
        return Ok((observed, words));
    }
    let Some(measured) = observed.measured() else { return Ok((observed, None)) };
    let mut observed = Promotions::new(measured);
    study.replay(&mut observed)?;
    Ok((observed, None))
}

impl Larger {
    fn size(&self, times: u32) -> String {
        let about = if self.words.is_none() { "about " } else { "" };
        format!("{about}{}", human::bytes(f64::from(times) * self.bytes))
    }

    fn setting(&self, times: u32) -> String {
        let words = self.words.map(|words| words.saturating_mul(u64::from(times)));
        match (words.zip(self.setting), times) {
            (Some((words, setting)), 1) => (setting.now)(words),
            (Some((words, setting)), _) => (setting.then)(words),
            (None, _) => format!("{times} x"),
        }
    }

    fn row(&self, forecast: &Forecast, now: f64) -> [String; 4] {
        let Forecast { times, bytes, low, high } = *forecast;
        let less = |bytes: f64| 100.0 * (1.0 - bytes / now).max(0.0);
        [
            self.size(times),
            self.setting(times),
            format!("about {} ({})", human::bytes(bytes), range(low, high)),
            format!("{:.0} % ({:.0}–{:.0})", less(bytes), less(high), less(low)),
        ]
    }

    /// What a reader must know to trust it.
    fn notes(&self, sampling: &Sampling) -> Vec<String> {
        let ranges = "The ranges hold the truth if collections come when the young heap is full, and \
                      the program does the same again; see docs/reports.md.";
        let sooner =
            self.interval.filter(|&interval| interval < SOONER * self.bytes).map(|interval| {
                format!(
                    "Minor collections come after {} on average, before the young heap is full: \
                 something else asks for them, and a larger one spares less than that.",
                    human::bytes(interval)
                )
            });
        let samples = self.bytes / sampling.interval_bytes();
        let sparse = (samples < FEW).then(|| {
            format!(
                "A young heap has {samples:.1} samples on average, so when blocks died is known \
                 roughly: what is about is a guess, the ranges are not."
            )
        });
        [Some(ranges.to_owned()), sooner, sparse].into_iter().flatten().collect()
    }
}

/// Collections come too soon if less than this part of the young heap was allocated since the last.
const SOONER: f64 = 0.75;

/// In fewer samples a young heap's time is not divided well.
const FEW: f64 = 10.0;

/// `326–473 MiB`
fn range(low: f64, high: f64) -> String {
    let (low, high) = (human::bytes(low), human::bytes(high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// `34.2 % (31.0–37.5)`
fn share(share: &Proportion) -> String {
    let (low, high) = share.interval95();
    let [low, high] = [low, high].map(|end| format!("{:.1}", 100.0 * end));
    let value = human::percent(share.value);
    if low == high { value } else { format!("{value} ({low}–{high})") }
}

impl Render for Promotion<'_> {
    fn render(&self, page: &mut Page) {
        if self.total.sums.young.is_empty() {
            page.prose("", STRONG, "No block in this trace was born in a young heap");
            return;
        }
        self.totals(page);
        match &self.forecast.0 {
            Some(larger) => self.larger(page, larger),
            None if self.total.sums.promoted.is_empty() => return,
            None => {
                let text = "What was premature, and what a larger young heap would spare, is told \
                            of the whole trace, without --filter.";
                page.prose("", FAINT, text);
            }
        }
        page.line("");
        let (shown, all) = (self.callsites.len(), human::count(self.callsites_total as f64));
        page.prose("", STRONG, &format!("{shown} of {all} callsites by bytes promoted"));
        for (rank, site) in (1..).zip(&self.callsites) {
            page.line("");
            self.callsite(page, rank, site);
        }
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            young: Quantity,
            promoted: Quantity,
            promoted_share: f64,
            promoted_share_low95: f64,
            promoted_share_high95: f64,
            premature: Option<Quantity>,
        }
        let Self { sums, tells_premature } = self;
        let share = sums.promoted_share();
        let (promoted_share_low95, promoted_share_high95) = share.interval95();
        let fields = Fields {
            young: Quantity(sums.young.amount()),
            promoted: Quantity(sums.promoted.amount()),
            promoted_share: share.value,
            promoted_share_low95,
            promoted_share_high95,
            premature: tells_premature.then(|| Quantity(sums.premature.amount())),
        };
        fields.serialize(serializer)
    }
}

impl Serialize for Forecasts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            young_heap_bytes: Option<u64>,
            young_heap_words: Option<u64>,
            collection_interval_bytes: Option<u64>,
            larger: Option<Vec<Outcome>>,
        }
        let larger = self.0.as_ref();
        let fields = Fields {
            young_heap_bytes: larger.map(|it| it.bytes.round() as u64),
            young_heap_words: larger.and_then(|it| it.words),
            collection_interval_bytes: larger.and_then(|it| Some(it.interval?.round() as u64)),
            larger: larger.map(|it| it.forecasts.iter().map(Outcome::new).collect()),
        };
        fields.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Outcome {
    times: u32,
    #[serde(serialize_with = "number")]
    promoted_bytes: f64,
    #[serde(serialize_with = "number")]
    promoted_bytes_low95: f64,
    #[serde(serialize_with = "number")]
    promoted_bytes_high95: f64,
}

impl Outcome {
    fn new(forecast: &Forecast) -> Self {
        Self {
            times: forecast.times,
            promoted_bytes: forecast.bytes,
            promoted_bytes_low95: forecast.low,
            promoted_bytes_high95: forecast.high,
        }
    }
}
