//! What is freed soon: candidates for the stack, an arena, or a buffer that is used again.

use anyhow::bail;
use lifetrace_analysis::callsites::share;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::filter::Micros;
use lifetrace_analysis::lifetimes::{Found, Lifetime, Lifetimes};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::temporary::Temporary as Observed;
use lifetrace_analysis::{Amount, Callsite, Callsites, Estimate, Metric, Shaped, Sites, Summary};
use lifetrace_human as human;
use lifetrace_study::Study;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value};

use super::callsites::{Backtrace, INDENT, hottest, place};
use super::lifetimes::{LifetimeFields, in_collections, median};
use super::{View, fields};
use crate::Options;
use crate::amounts::{Number, Quantity, measured, objects};
use crate::json::PlaceFields;
use crate::page::Page;
use crate::style::{PLAIN, SHARE, STRONG};

/// What lives shorter than a threshold.
pub struct Temporary<'a> {
    summary: Summary,
    below: Micros,
    metric: Metric,
    /// Of temporary blocks only.
    callsites: Callsites<'a>,
    total: Amount,
    /// All that a callsite allocated.
    allocated: FxHashMap<SiteId, Amount>,
    lifetimes: Found,
    top: usize,
}

impl<'a> Temporary<'a> {
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
        let allocated = allocated.map(|(site, tally)| (site, tally.amount())).collect();
        let balances = observed.balances();
        let mut total = Tally::default();
        let counted = balances.iter().filter(|(node, _)| sites.of(*node).is_some());
        counted.for_each(|(_, balance)| total += &balance.allocated);
        Ok(Self {
            summary: profile.summary(),
            below: options.below,
            metric: options.metric,
            callsites: Callsites::new(sites, balances.into_iter(), options.metric),
            total: total.amount(),
            allocated,
            lifetimes,
            top: options.top,
        })
    }

    /// What of all that a callsite allocated is temporary: of its objects, or of what it added to some.
    fn part(&self, callsite: &Callsite<'_>) -> f64 {
        part(&callsite.allocated, &self.allocated(callsite))
    }

    fn allocated(&self, callsite: &Callsite<'_>) -> Amount {
        self.allocated.get(&callsite.site).copied().unwrap_or_default()
    }

    /// So much for each second.
    fn per_second(&self, estimate: &Estimate) -> Estimate {
        let seconds = self.summary.duration.as_secs_f64().max(1e-6);
        Estimate {
            value: estimate.value / seconds,
            variance: estimate.variance / (seconds * seconds),
            uncertain: estimate.uncertain / seconds,
        }
    }

    fn lifetime(&self, callsite: &Callsite<'_>) -> Option<&Lifetime> {
        self.lifetimes.sites.get(&callsite.site)
    }

    fn heading(&self) -> String {
        let all = &self.summary.allocated;
        format!(
            "{} of all objects and {} of all bytes live shorter than {}: {} in {}, {} a second",
            human::percent(share(self.total.objects.value, all.objects.value)),
            human::percent(share(self.total.bytes.value, all.bytes.value)),
            self.below,
            human::amount(&self.total, &self.summary.sampling),
            objects(&self.total.objects),
            human::objects(&self.per_second(&self.total.objects)),
        )
    }

    fn entry(&self, page: &mut Page, rank: usize, callsite: &Callsite<'_>) {
        let head = format!("{rank:>3}. {:>7}", human::percent(callsite.share));
        let amount = match self.metric {
            Metric::Allocated | Metric::Objects => format!(
                "{} in {}",
                human::estimate(&callsite.allocated.bytes),
                objects(&callsite.allocated.objects)
            ),
            _ => measured(self.metric, &callsite.value),
        };
        page.entry(SHARE, &head, INDENT, &amount);
        place(page, &callsite.place);
        page.prose(INDENT, PLAIN, &self.saved(callsite));
        page.prose(INDENT, PLAIN, &self.habit(callsite));
        hottest(page, &self.callsites, callsite);
    }

    /// What one buffer that is used again would save, and how large it would be.
    fn saved(&self, callsite: &Callsite<'_>) -> String {
        let at_once = self.per_second(&callsite.byte_seconds);
        let at_once = match at_once.value < 1.0 {
            true => "less than a byte".to_owned(),
            false => human::estimate(&at_once),
        };
        let rate = self.per_second(&callsite.allocated.objects);
        match callsite.allocated.objects.value > 0.0 {
            true => format!(
                "reuse would save {} allocations a second; on average {at_once} of them are alive at once",
                human::objects(&rate)
            ),
            false => format!(
                "room from the start would save reallocations that add {} a second; on average {at_once} of that is alive at once",
                human::estimate(&self.per_second(&callsite.allocated.bytes))
            ),
        }
    }

    fn habit(&self, callsite: &Callsite<'_>) -> String {
        let what = match callsite.allocated.objects.value > 0.0 {
            true => "objects",
            false => "bytes",
        };
        let share = human::percent(self.part(callsite));
        let lifetime = self.lifetime(callsite);
        let median = lifetime.and_then(median).map(|it| human::quantile(&it));
        let median = median.map(|it| format!("; median lifetime {it}"));
        let collections = lifetime.and_then(|it| in_collections(it, &self.lifetimes));
        let collections = collections.map(|it| format!("; {it}")).unwrap_or_default();
        format!("{share} of its {what} are temporary{}{collections}", median.unwrap_or_default())
    }
}

/// In objects where there are any, else in bytes.
fn part(some: &Amount, all: &Amount) -> f64 {
    match all.objects.value > 0.0 {
        true => share(some.objects.value, all.objects.value),
        false => share(some.bytes.value, all.bytes.value),
    }
}

impl View for Temporary<'_> {
    fn text(&self, page: &mut Page) {
        let all = &self.callsites.callsites;
        if all.is_empty() {
            let none = human::amount(&self.total, &self.summary.sampling);
            page.prose("", STRONG, &format!("Nothing lives shorter than {} ({none})", self.below));
            return;
        }
        page.prose("", STRONG, &self.heading());
        page.line("");
        let shown = &all[..self.top.min(all.len())];
        let covered = human::percent(shown.iter().map(|callsite| callsite.share).sum());
        let (shown_count, all_count) = (shown.len(), all.len());
        let heading = format!("{shown_count} of {all_count} callsites, with {covered} of that");
        page.prose("", STRONG, &heading);
        for (rank, callsite) in (1..).zip(shown) {
            page.line("");
            self.entry(page, rank, callsite);
        }
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let callsites = &self.callsites.callsites;
        fields(&Document {
            below_us: self.below.get(),
            temporary: Quantity::new(&self.total),
            objects_per_second: self.per_second(&self.total.objects).into(),
            callsites_total: callsites.len(),
            callsites: callsites.iter().take(self.top).map(|it| self.fields(it)).collect(),
        })
    }
}

impl<'a> Temporary<'a> {
    fn fields(&self, callsite: &Callsite<'a>) -> Entry<'a> {
        let lifetime = self.lifetime(callsite);
        Entry {
            place: PlaceFields::new(callsite.place),
            share: callsite.share,
            temporary: Quantity::new(&callsite.allocated),
            allocated: Quantity::new(&self.allocated(callsite)),
            objects_per_second: self.per_second(&callsite.allocated.objects).into(),
            bytes_alive_on_average: self.per_second(&callsite.byte_seconds).into(),
            lifetimes: lifetime.map(|it| LifetimeFields::new(it, &self.lifetimes)),
            backtraces: callsite.hottest.of,
            hottest_backtrace: Backtrace::new(&self.callsites, callsite),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    below_us: u64,
    temporary: Quantity,
    objects_per_second: Number,
    callsites_total: usize,
    callsites: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    temporary: Quantity,
    allocated: Quantity,
    objects_per_second: Number,
    bytes_alive_on_average: Number,
    lifetimes: Option<LifetimeFields>,
    backtraces: usize,
    hottest_backtrace: Backtrace<'a>,
}
