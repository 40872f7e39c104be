//! Garbage collections, and what they did to the blocks of each callsite.

mod json;
mod text;

use std::time::Duration;

use lifetrace_analysis::pace::{Figure, Pace, Range, ranges};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::survivals::{GENERATIONS, Series, Sums, Survivals};
use lifetrace_analysis::{Estimate, Sampling, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_trace::fact::{Counters, Generation};
use lifetrace_trace::ids::Timestamp;
use serde::Serialize;

use super::Render;
use super::timeline::bins;
use crate::Options;
use crate::amounts::Number;
use crate::fields::PlaceFields;
use crate::heap::{exact_totals, young_heap};
use crate::page::Page;
use crate::style::Width;

/// Before a line over time.
const MARGIN: usize = 11;

/// Collections, and blocks by what became of them: the document of the view.
#[derive(Debug, Serialize)]
pub struct Gc<'a> {
    #[serde(rename = "collections")]
    cycles: Vec<Cycles>,
    /// How often the young heap was filled, where its size is known.
    #[serde(rename = "young_heap_fills")]
    fills: Option<Number>,
    #[serde(serialize_with = "json::by_name")]
    counters: Vec<(Figure, Range)>,
    #[serde(flatten)]
    total: Blocks,
    callsites_total: usize,
    /// The first of them.
    callsites: Vec<Site<'a>>,
    #[serde(skip)]
    provisos: Vec<String>,
    #[serde(skip)]
    exact_totals: Option<String>,
    #[serde(skip)]
    word_bytes: u64,
    #[serde(skip)]
    sampling: Sampling,
}

#[derive(Debug, Serialize)]
struct Site<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    #[serde(flatten)]
    blocks: Blocks,
}

/// The collections of a generation.
#[derive(Debug)]
struct Cycles {
    generation: Generation,
    pace: Pace,
}

/// What became of blocks.
#[derive(Debug)]
struct Blocks {
    sums: Sums,
    /// Whether the trace tells of collections that blocks could survive.
    tells_collections: bool,
}

impl<'a> Gc<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options, width: Width) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let mut observed = Survivals::default();
        study.replay(&mut observed)?;
        let shaped = Shaped::new(reading.profile.tree(), &reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let mut callsites = sites.group(observed.found());
        let bytes = |sums: &Sums| sums.allocated.amount().bytes.value;
        callsites.sort_by(|(_, a), (_, b)| bytes(b).total_cmp(&bytes(a)));
        let replay = reading.profile.replay();
        let series = GENERATIONS.into_iter().zip(observed.series());
        let told = series.filter(|(_, series)| !series.times.is_empty());
        let bins = bins(width, MARGIN);
        let pace = |(generation, series): (_, &Series)| {
            let pace = Pace::new(series, replay.start(), replay.end(), bins);
            Cycles { generation, pace }
        };
        let cycles: Vec<_> = told.map(pace).collect();
        let (total, tells_collections) = (observed.total(), !cycles.is_empty());
        let all = bytes(&total);
        let site = |&(site, sums): &(SiteId, Sums)| Site {
            place: PlaceFields(sites.place(site)),
            share: if all > 0.0 { bytes(&sums) / all } else { 0.0 },
            blocks: Blocks { sums, tells_collections },
        };
        let fills = study.choice.filter.is_empty().then(|| fills(study, &total)).flatten();
        Ok(Self {
            cycles,
            fills: fills.map(Number),
            counters: ranges(observed.counters(), observed.collector()),
            total: Blocks { sums: total, tells_collections },
            callsites_total: callsites.len(),
            callsites: callsites.iter().take(options.top).map(site).collect(),
            provisos: provisos(&observed, replay.end()),
            exact_totals: exact_totals(study),
            word_bytes: u64::from(reading.trace.info().word_bits) / 8,
            sampling: reading.profile.summary().sampling,
        })
    }
}

impl Blocks {
    /// Minor and major collections: on average, and at most.
    fn survived(&self) -> Option<([f64; 2], [u64; 2])> {
        let mean = self.sums.mean_survived().filter(|_| self.tells_collections)?;
        Some((mean, self.sums.most_survived))
    }
}

fn name(generation: Generation) -> &'static str {
    match generation {
        Generation::Minor => "minor",
        Generation::Major => "major",
        Generation::Compaction => "compacting",
    }
}

/// How often the young heap was filled, if its size is known.
fn fills(study: &Study, total: &Sums) -> Option<Estimate> {
    let bytes = young_heap(study)? as f64;
    let [all, old] = [&total.allocated, &total.born_old].map(|tally| tally.amount().bytes);
    let young = all.value - old.value;
    // What was born old is a part of all.
    let variance = (all.variance - old.variance).max(0.0);
    (young > 0.0).then(|| Estimate::new(young / bytes, variance / (bytes * bytes)))
}

/// What exact figures are not of the whole process up to its end.
fn provisos(observed: &Survivals, end: Timestamp) -> Vec<String> {
    let is_of_memory = |it: &Counters| it.resident.or(it.most_resident).is_some();
    let look = observed.counters().iter().rfind(|(_, counters)| is_of_memory(counters));
    let memory = look.filter(|(time, _)| *time < end).map(|(time, _)| {
        let before = human::duration(Duration::from_micros(end.0 - time.0));
        format!("Resident memory is what was seen of it until {before} before the end.")
    });
    let last = observed.collector().last().map(|(_, collector)| *collector).unwrap_or_default();
    let behind = "The collector's figures are those of its last minor collection.".to_owned();
    let shared = "They include what the runtime's own sampler has allocated for this recording.";
    memory
        .into_iter()
        .chain(last.is_behind.then_some(behind))
        .chain(last.has_samplers_share.then(|| shared.to_owned()))
        .collect()
}

impl Render for Gc<'_> {
    fn render(&self, page: &mut Page) {
        text::write(self, page);
    }
}
