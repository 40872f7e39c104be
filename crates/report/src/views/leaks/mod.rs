//! What was allocated and never freed: leaks first, then what only looks like them.

mod json;
mod text;

use std::time::Duration;

use lifetrace_analysis::filter::ByteSize;
use lifetrace_analysis::leaks::{Holding, Judgement, Kind, Leaks as Observed};
use lifetrace_analysis::statistics::growth::Fill;
use lifetrace_analysis::{Callsite, Callsites, Estimate, Metric, Shaped, Sites, Summary};
use lifetrace_import::Lack;
use lifetrace_study::Study;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::{View, fields};
use crate::Options;
use crate::heap::young_heap;
use crate::page::Page;
use crate::resident::Resident;
use crate::young;

/// Who holds what at the end, and whether that grows.
pub struct Leaks<'a> {
    summary: Summary,
    judgement: Judgement,
    resident: Option<Resident<'a>>,
    young_heap: young::Room,
    /// Of what lives at the end.
    callsites: Callsites<'a>,
    /// The number in `callsites` of each holding.
    places: Vec<usize>,
    limit: ByteSize,
    top: usize,
    /// An import may not tell what was allocated and freed.
    tells_freed: bool,
}

/// In one word, what the page begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The program has memory of which nothing is known, and what is known of does not leak.
    NotHeard,
    /// What was sampled does not leak, but there is more and more memory beside.
    GrowsBeside,
    NothingLives,
    TooShort,
    NoLeak,
    Leaks,
}

impl<'a> Leaks<'a> {
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let (profile, replay) = (&reading.profile, reading.profile.replay());
        let shaped = Shaped::new(profile.tree(), &reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let holds = profile.balances().filter(|(_, balance)| !balance.live.is_empty());
        let holders = holds.filter_map(|(node, _)| sites.of(node));
        let mut observed = Observed::new(&sites, replay.start(), holders);
        study.replay(&mut observed)?;
        let judgement = observed.judge(replay.end());
        let callsites = Callsites::new(sites, profile.balances(), Metric::Live);
        let numbers = callsites.callsites.iter().enumerate();
        let numbers: FxHashMap<_, _> = numbers.map(|(number, it)| (it.site, number)).collect();
        let places = judgement.holdings.iter().map(|holding| numbers[&holding.site]);
        Ok(Self {
            summary: profile.summary(),
            places: places.collect(),
            judgement,
            resident: Resident::of(study),
            young_heap: young_heap(study),
            callsites,
            limit: options.limit,
            top: options.top,
            tells_freed: !reading.origin().lacks(Lack::Allocated),
        })
    }

    fn verdict(&self) -> Verdict {
        let leaks = self.of(Kind::Leak).next().is_some() && !self.judgement.is_too_short;
        match () {
            () if !self.summary.sampling.hears_all() && !leaks => Verdict::NotHeard,
            () if self.grows_beside() && !leaks => Verdict::GrowsBeside,
            () if self.judgement.holdings.is_empty() => Verdict::NothingLives,
            () if self.judgement.is_too_short => Verdict::TooShort,
            () if self.of(Kind::Leak).next().is_none() => Verdict::NoLeak,
            () => Verdict::Leaks,
        }
    }

    fn grows_beside(&self) -> bool {
        self.resident.as_ref().is_some_and(Resident::grows)
    }

    /// All holdings, and what is known of their callsites.
    fn all(&self) -> impl Iterator<Item = (&Holding, &Callsite<'a>)> {
        let callsites = self.places.iter().map(|&number| &self.callsites.callsites[number]);
        self.judgement.holdings.iter().zip(callsites)
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = (&Holding, &Callsite<'a>)> {
        self.all().filter(move |(holding, _)| holding.kind == kind)
    }

    /// When the leaks have filled what all that lives leaves.
    fn full(&self) -> Option<Fill> {
        let together = self.judgement.together?;
        Some(together.fills(&self.summary.live.bytes, self.limit_bytes()))
    }

    fn limit_bytes(&self) -> f64 {
        self.limit.0.0 as f64
    }
}

/// What several callsites have live.
fn sum<'c>(callsites: impl Iterator<Item = &'c Callsite<'c>>) -> Estimate {
    callsites.fold(Estimate::default(), |mut sum, callsite| {
        sum += callsite.live.bytes;
        sum
    })
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl View for Leaks<'_> {
    fn text(&self, page: &mut Page) {
        text::write(self, page);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        fields(&json::Document::new(self))
    }
}
