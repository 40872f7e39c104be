//! What was allocated and never freed: leaks first, then what only looks like them.

mod held;
mod json;
mod text;

use held::{HeldBy, held_by};
use json::{Hours, Rate};

use std::time::Duration;

use lifetrace_analysis::filter::ByteSize;
use lifetrace_analysis::leaks::{Holding, Judgement, Kind, Leaks as Observed};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::statistics::Together;
use lifetrace_analysis::statistics::growth::Fill;
use lifetrace_analysis::{Amount, Callsites, Estimate, Metric, Place, Shaped, Sites, Summary};
use lifetrace_import::Lack;
use lifetrace_study::Study;
use lifetrace_trace::ids::Bytes;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Render;
use super::callsites::Hottest;
use crate::Options;
use crate::heap;
use crate::lost::Lost;
use crate::page::Page;
use crate::resident::Resident;
use crate::ways::FindWays;
use crate::young::Young;

/// Who holds what at the end, and whether that grows: the document of the view.
#[derive(Serialize)]
pub struct Leaks<'a> {
    verdict: Verdict,
    leaking_callsites: usize,
    growth_together: Option<Rate>,
    limit_bytes: u64,
    limit_reached: Option<Hours>,
    resident: Option<Resident<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<Lost<'a>>,
    callsites_total: usize,
    callsites: Listed<'a>,
    #[serde(skip)]
    summary: Summary,
    #[serde(skip)]
    young_heap: Young,
    /// How fast all leaks grow together, if there is any.
    #[serde(skip)]
    together: Option<Together>,
    #[serde(skip)]
    is_too_short: bool,
    /// An import may not tell what was allocated and freed.
    #[serde(skip)]
    tells_freed: bool,
}

/// All callsites that hold something, of which documents have the first ones.
struct Listed<'a> {
    all: Vec<Entry<'a>>,
    top: usize,
}

/// What a callsite holds.
struct Entry<'a> {
    place: Place<'a>,
    holding: Holding,
    /// By what most of its blocks are held, if it leaks and a snapshot tells.
    held: Option<HeldBy>,
    live: Amount,
    allocated: Amount,
    /// How much memory there is to fill, in bytes.
    limit: f64,
    /// Of those that may be told in full.
    hottest: Option<Hottest<'a>>,
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
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options, ways: &FindWays<'_>) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let (profile, replay) = (&reading.profile, reading.profile.replay());
        let shaped = Shaped::new(profile.tree(), &reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let holds = profile.balances().filter(|(_, balance)| !balance.live.is_empty());
        let holders = holds.filter_map(|(node, _)| sites.of(node));
        let mut observed = Observed::new(&sites, replay.start(), holders);
        study.replay(&mut observed)?;
        let judgement = observed.judge(replay.end());
        let mut held = Self::held(study, &sites, &judgement, ways)?;
        let lost = Lost::of(study, &sites, options.top)?;
        let lost = lost.map(|lost| lost.with_backtraces(&sites));
        let callsites = Callsites::new(sites, profile.balances(), Metric::Live);
        let numbers = callsites.callsites.iter().enumerate();
        let numbers: FxHashMap<_, _> = numbers.map(|(number, it)| (it.site, number)).collect();
        let (limit, top) = (options.limit.0.0, options.top);
        let mut of_kind = FxHashMap::default();
        let entry = |(number, holding): (usize, Holding)| {
            let rank = of_kind.entry(holding.kind).or_insert(0);
            *rank += 1;
            let is_whole = number < top || *rank <= top && holding.kind == Kind::Steps;
            let callsite = &callsites.callsites[numbers[&holding.site]];
            Entry {
                place: callsite.place,
                held: held.remove(&holding.site),
                holding,
                live: callsite.live,
                allocated: callsite.allocated,
                limit: limit as f64,
                hottest: is_whole.then(|| Hottest::new(&callsites, callsite)),
            }
        };
        let Judgement { holdings, together, is_too_short } = judgement;
        let all: Vec<_> = holdings.into_iter().enumerate().map(entry).collect();
        let (summary, resident) = (profile.summary(), Resident::of(study));
        let full = together.map(|it| it.fills(&summary.live.bytes, limit as f64));
        let leaks = all.iter().filter(|it| it.holding.kind == Kind::Leak).count();
        Ok(Self {
            verdict: verdict(&summary, resident.as_ref(), all.is_empty(), leaks, is_too_short),
            leaking_callsites: leaks,
            growth_together: together.map(|it| Rate::new(it.per_hour, it.low, it.high)),
            limit_bytes: limit,
            limit_reached: full.map(Hours::new),
            resident,
            lost,
            callsites_total: all.len(),
            callsites: Listed { all, top },
            summary,
            young_heap: heap::young(study),
            together,
            is_too_short,
            tells_freed: !reading.origin().lacks(Lack::Allocated),
        })
    }

    /// What holds those that grow; nobody looks for a snapshot if there are none.
    fn held(
        study: &Study,
        sites: &Sites<'_>,
        judgement: &Judgement,
        ways: &FindWays<'_>,
    ) -> anyhow::Result<FxHashMap<SiteId, HeldBy>> {
        let grows = |it: &&Holding| matches!(it.kind, Kind::Leak | Kind::Steps);
        let mut growing = judgement.holdings.iter().filter(grows).map(|it| it.site).peekable();
        match growing.peek().and_then(|_| ways()) {
            Some(ways) => held_by(study, sites, growing, &ways),
            None => Ok(FxHashMap::default()),
        }
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Entry<'a>> {
        self.callsites.all.iter().filter(move |entry| entry.holding.kind == kind)
    }

    /// When the leaks have filled what all that lives leaves.
    fn full(&self) -> Option<Fill> {
        Some(self.together?.fills(&self.summary.live.bytes, self.limit_bytes as f64))
    }

    fn limit(&self) -> ByteSize {
        ByteSize(Bytes(self.limit_bytes))
    }
}

fn verdict(
    summary: &Summary,
    resident: Option<&Resident<'_>>,
    is_empty: bool,
    leaks: usize,
    is_too_short: bool,
) -> Verdict {
    let has_leaks = leaks > 0 && !is_too_short;
    match () {
        () if !summary.sampling.hears_all() && !has_leaks => Verdict::NotHeard,
        () if resident.is_some_and(Resident::grows) && !has_leaks => Verdict::GrowsBeside,
        () if is_empty => Verdict::NothingLives,
        () if is_too_short => Verdict::TooShort,
        () if leaks == 0 => Verdict::NoLeak,
        () => Verdict::Leaks,
    }
}

/// What several callsites have live.
fn sum(callsites: &[&Entry<'_>]) -> Estimate {
    callsites.iter().fold(Estimate::default(), |mut sum, entry| {
        sum += entry.live.bytes;
        sum
    })
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl Render for Leaks<'_> {
    fn render(&self, page: &mut Page) {
        text::write(self, page);
    }
}
