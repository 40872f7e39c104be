//! What is lost: blocks to which nothing points any more, and what points to the others.

mod json;
mod text;

use lifetrace_analysis::lost::{Fate, Fates, Holder, Lost as Observed};
use lifetrace_analysis::{Amount, Callsites, Metric, Place, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_trace::fact::Looked;
use rustc_hash::FxHashMap;

use crate::place::{brief_source, function};
use crate::views::callsites::Hottest;

pub use text::{held, losers, of_summary, verdict};

/// What a look through the process's memory has found.
pub struct Lost<'a> {
    looked: Looked,
    found: Fates,
    /// Of callsites, by their numbers.
    places: Vec<Place<'a>>,
    /// Backtraces of those that have lost most, in their order.
    hottest: Vec<Option<Hottest<'a>>>,
    top: usize,
}

impl<'a> Lost<'a> {
    /// Nothing if there was no look. Of callsites documents have the first `top`.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn of(study: &Study, sites: &Sites<'a>, top: usize) -> anyhow::Result<Option<Self>> {
        let Some(looked) = study.reading.facts.looked else { return Ok(None) };
        let mut observed = Observed::new(sites);
        study.replay(&mut observed)?;
        let (found, places) = (observed.judge(), sites.places().to_vec());
        Ok(Some(Self { looked, found, places, hottest: Vec::new(), top }))
    }

    /// With the backtraces of those that have lost most.
    #[must_use]
    pub fn with_backtraces(mut self, sites: &Sites<'a>) -> Self {
        let callsites = Callsites::new(sites.clone(), self.found.balances(), Metric::Live);
        let by_site: FxHashMap<_, _> = callsites.callsites.iter().map(|it| (it.site, it)).collect();
        let hottest = |fate: &Fate| {
            by_site.get(&fate.site).map(|callsite| Hottest::new(&callsites, callsite))
        };
        self.hottest = self.losers().take(self.top).map(hottest).collect();
        self
    }

    /// Callsites that have lost something, who has lost most first.
    fn losers(&self) -> impl Iterator<Item = &Fate> {
        self.found.of_sites.iter().filter(|fate| fate.lost.samples > 0)
    }

    fn place(&self, fate: &Fate) -> Place<'a> {
        self.places[fate.site.index()]
    }

    /// Callsites of which something is not lost, what that is, and what points to most of it; who has most first.
    fn holdings(&self) -> Vec<(&Fate, Amount, &Holder)> {
        let of_fate = |fate: &'_ Fate| {
            let mut held = Amount::default();
            fate.held.iter().for_each(|(_, amount)| held += amount);
            held
        };
        let fates = self.found.of_sites.iter();
        let mut holdings: Vec<_> =
            fates.filter_map(|it| Some((it, of_fate(it), &it.held.first()?.0))).collect();
        holdings.sort_by(|one, other| other.1.bytes.value.total_cmp(&one.1.bytes.value));
        holdings
    }

    /// What has a pointer to blocks, in words.
    fn name(&self, holder: &Holder) -> String {
        match holder {
            Holder::Variable(name) => human::printable(name).into_owned(),
            Holder::Site(site) => {
                let place = &self.places[site.index()];
                let source = brief_source(place).map(|source| format!(" ({source})"));
                format!("blocks of {}{}", function(place), source.unwrap_or_default())
            }
            Holder::Kernel => "the kernel (epoll, timers)".to_owned(),
            Holder::Thread(name) => format!("thread {}", human::printable(name)),
            Holder::File(path) => format!("memory of {}", human::printable(path)),
            Holder::Memory => "memory that was not sampled".to_owned(),
        }
    }
}
