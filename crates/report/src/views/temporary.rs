//! What is freed soon: candidates for the stack, an arena, or a buffer that is used again.

use std::time::Duration;

use anyhow::bail;
use lifetrace_analysis::callsites::share;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::filter::Micros;
use lifetrace_analysis::lifetimes::{Found, Lifetimes};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::temporary::Temporary as Observed;
use lifetrace_analysis::{Amount, Callsite, Callsites, Estimate, Metric, Shaped, Sites, Summary};
use lifetrace_human as human;
use lifetrace_study::Study;
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

use super::Render;
use super::callsites::{Hottest, INDENT, place};
use super::lifetimes::{LifetimeFields, in_collections, median};
use crate::Options;
use crate::amounts::{Number, Quantity, bytes_or_none, measured, objects};
use crate::fields::PlaceFields;
use crate::page::Page;
use crate::style::{PLAIN, SHARE, STRONG};

/// What lives shorter than a threshold: the document of the view.
#[derive(Debug, Serialize)]
pub struct Temporary<'a> {
    #[serde(rename = "below_us", serialize_with = "micros")]
    below: Micros,
    #[serde(rename = "temporary")]
    total: Quantity,
    objects_per_second: Number,
    callsites_total: usize,
    /// The first of them.
    callsites: Vec<Entry<'a>>,
    #[serde(skip)]
    summary: Summary,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    temporary: Quantity,
    /// All that the callsite allocated.
    allocated: Quantity,
    objects_per_second: Number,
    bytes_alive_on_average: Number,
    lifetimes: Option<LifetimeFields>,
    #[serde(flatten)]
    hottest: Hottest<'a>,
    /// What it has of the metric.
    #[serde(skip)]
    value: Estimate,
}

impl<'a> Temporary<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more, or the metric is of what lives long.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        if let Metric::Live | Metric::Peak = options.metric {
            bail!(
                "--view temporary: what is freed soon is not live at the end; --metric is allocated, objects or byte-seconds"
            );
        }
        let profile = &study.reading.profile;
        let shaped = Shaped::new(profile.tree(), &study.reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let (mut lifetimes, mut observed) = (Lifetimes::new(&sites), Observed::new(options.below));
        study.replay(&mut (&mut lifetimes, &mut observed))?;
        let lifetimes = lifetimes.finish();
        let balances = profile.balances().map(|(node, balance)| (node, balance.allocated));
        let allocated = sites.group(balances).into_iter();
        let allocated: FxHashMap<_, _> =
            allocated.map(|(site, tally)| (site, tally.amount())).collect();
        let balances = observed.balances();
        let mut total = Tally::default();
        let counted = balances.iter().filter(|(node, _)| sites.of(*node).is_some());
        counted.for_each(|(_, balance)| total += &balance.allocated);
        let total = total.amount();
        let all = Callsites::new(sites, balances.into_iter(), options.metric);
        let summary = profile.summary();
        let entry = |callsite| {
            let hottest = Hottest::new(&all, callsite);
            Entry::new(callsite, hottest, &allocated, &lifetimes, summary.duration)
        };
        Ok(Self {
            below: options.below,
            total: Quantity(total),
            objects_per_second: Number(per_second(&total.objects, summary.duration)),
            callsites_total: all.callsites.len(),
            callsites: all.callsites.iter().take(options.top).map(entry).collect(),
            summary,
            metric: options.metric,
        })
    }

    fn heading(&self) -> String {
        let (all, total) = (&self.summary.allocated, &self.total.0);
        format!(
            "{} of all objects and {} of all bytes live shorter than {}: {} in {}, {} a second",
            human::percent(share(total.objects.value, all.objects.value)),
            human::percent(share(total.bytes.value, all.bytes.value)),
            self.below,
            bytes_or_none(total, &self.summary.sampling),
            objects(&total.objects),
            human::objects(&self.objects_per_second.0),
        )
    }

    fn entry(&self, page: &mut Page, rank: usize, entry: &Entry<'_>) {
        let head = format!("{rank:>3}. {:>7}", human::percent(entry.share));
        let Amount { bytes, objects: number, .. } = &entry.temporary.0;
        let amount = match self.metric {
            Metric::Allocated | Metric::Objects => {
                format!("{} in {}", human::estimate(bytes), objects(number))
            }
            _ => measured(self.metric, &entry.value),
        };
        page.entry(SHARE, &head, INDENT, &amount);
        place(page, &entry.place.0);
        page.prose(INDENT, PLAIN, &self.saved(entry));
        page.prose(INDENT, PLAIN, &entry.habit());
        entry.hottest.render(page);
    }

    /// What one buffer that is used again would save, and how large it would be.
    fn saved(&self, entry: &Entry<'_>) -> String {
        let at_once = match entry.bytes_alive_on_average.0 {
            few if few.value < 1.0 => "less than a byte".to_owned(),
            bytes => human::estimate(&bytes),
        };
        match entry.has_objects() {
            true => format!(
                "reuse would save {} allocations a second; on average {at_once} of them are alive at once",
                human::objects(&entry.objects_per_second.0)
            ),
            false => format!(
                "room from the start would save reallocations that add {} a second; on average {at_once} of that is alive at once",
                human::estimate(&per_second(&entry.temporary.0.bytes, self.summary.duration))
            ),
        }
    }
}

impl<'a> Entry<'a> {
    fn new(
        callsite: &Callsite<'a>,
        hottest: Hottest<'a>,
        allocated: &FxHashMap<SiteId, Amount>,
        lifetimes: &Found,
        duration: Duration,
    ) -> Self {
        let lifetime = lifetimes.sites.get(&callsite.site).cloned();
        let collections = lifetimes.collections;
        Self {
            place: PlaceFields(callsite.place),
            share: callsite.share,
            temporary: Quantity(callsite.allocated),
            allocated: Quantity(allocated.get(&callsite.site).copied().unwrap_or_default()),
            objects_per_second: Number(per_second(&callsite.allocated.objects, duration)),
            bytes_alive_on_average: Number(per_second(&callsite.byte_seconds, duration)),
            lifetimes: lifetime.map(|lifetime| LifetimeFields { lifetime, collections }),
            hottest,
            value: callsite.value,
        }
    }

    /// Whether what is temporary is objects; otherwise it is only what was added to some.
    fn has_objects(&self) -> bool {
        self.temporary.0.objects.value > 0.0
    }

    /// What of all that the callsite allocated is temporary: of its objects, or of what it added to some.
    fn habit(&self) -> String {
        let what = if self.has_objects() { "objects" } else { "bytes" };
        let share = human::percent(part(&self.temporary.0, &self.allocated.0));
        let lifetimes = self.lifetimes.as_ref();
        let median = lifetimes.and_then(|it| median(&it.lifetime)).map(|it| human::quantile(&it));
        let median = median.map(|it| format!("; median lifetime {it}")).unwrap_or_default();
        let collections = lifetimes.and_then(in_collections);
        let collections = collections.map(|it| format!("; {it}")).unwrap_or_default();
        format!("{share} of its {what} are temporary{median}{collections}")
    }
}

/// So much for each second.
fn per_second(estimate: &Estimate, duration: Duration) -> Estimate {
    let seconds = duration.as_secs_f64().max(1e-6);
    Estimate {
        value: estimate.value / seconds,
        variance: estimate.variance / (seconds * seconds),
        uncertain: estimate.uncertain / seconds,
    }
}

fn micros<S: Serializer>(micros: &Micros, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(micros.get())
}

/// In objects where there are any, else in bytes.
fn part(some: &Amount, all: &Amount) -> f64 {
    match all.objects.value > 0.0 {
        true => share(some.objects.value, all.objects.value),
        false => share(some.bytes.value, all.bytes.value),
    }
}

impl Render for Temporary<'_> {
    fn render(&self, page: &mut Page) {
        if self.callsites_total == 0 {
            let none = human::amount(&self.total.0, &self.summary.sampling);
            page.prose("", STRONG, &format!("Nothing lives shorter than {} ({none})", self.below));
            return;
        }
        page.prose("", STRONG, &self.heading());
        page.line("");
        let covered = human::percent(self.callsites.iter().map(|entry| entry.share).sum());
        let (shown, all) = (self.callsites.len(), self.callsites_total);
        page.prose("", STRONG, &format!("{shown} of {all} callsites, with {covered} of that"));
        for (rank, entry) in (1..).zip(&self.callsites) {
            page.line("");
            self.entry(page, rank, entry);
        }
    }
}
