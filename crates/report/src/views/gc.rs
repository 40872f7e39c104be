//! Garbage collections, and what they did to the blocks of each callsite.

use std::time::Duration;

use lifetrace_analysis::pace::{Figure, Pace, Range, Spread, ranges};
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::survivals::{GENERATIONS, Series, Sums, Survivals};
use lifetrace_analysis::{Amount, Estimate, Sampling, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_trace::fact::{Counters, Generation};
use lifetrace_trace::ids::Timestamp;
use serde::{Serialize, Serializer};

use super::Render;
use super::timeline::bins;
use crate::Options;
use crate::amounts::{Number, Quantity, bytes_or_none};
use crate::chart;
use crate::columns::columns;
use crate::heap::{exact_totals, young_heap};
use crate::json::PlaceFields;
use crate::page::Page;
use crate::place::{function, source};
use crate::style::{FAINT, NAME, PLAIN, SHARE, STRONG, Width, styled};
use crate::table::{Cell, Column, Table, Tail};

/// Before a line over time.
const MARGIN: usize = 11;
/// Before the lines of a callsite.
const INDENT: &str = "      ";

/// Collections, and blocks by what became of them: the document of the view.
#[derive(Debug, Serialize)]
pub struct Gc<'a> {
    #[serde(rename = "collections")]
    cycles: Vec<Cycles>,
    /// How often the young heap was filled, where its size is known.
    #[serde(rename = "young_heap_fills")]
    fills: Option<Number>,
    #[serde(serialize_with = "by_name")]
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

    fn collections(&self, page: &mut Page) {
        if self.cycles.is_empty() {
            page.prose("", STRONG, "The trace tells of no garbage collections");
            if let Some(Number(fills)) = self.fills {
                let text = format!(
                    "The young heap was filled {} times, so there were about as many minor \
                     collections. What survived how many cannot be told.",
                    human::objects(&fills)
                );
                page.prose("", FAINT, &text);
            }
            return;
        }
        page.prose("", STRONG, "Collections");
        page.line("");
        let mut table = Table::new([
            Column::left(""),
            Column::right("number"),
            Column::left("from one to the next").goes(3),
            Column::left("longest").called("the longest time from one to the next").goes(5),
            Column::left("each took").goes(2),
            Column::left("longest").called("the longest").goes(4),
            Column::left("in all").goes(1),
        ]);
        for Cycles { generation, pace } in &self.cycles {
            table.row(row(*generation, pace), Tail::None);
        }
        page.table(&table);
        page.line("");
        for Cycles { generation, pace } in &self.cycles {
            let most = pace.over_time.iter().copied().max().unwrap_or(0).max(1) as f64;
            let shares: Vec<_> = pace.over_time.iter().map(|&count| count as f64 / most).collect();
            let line = chart::sparkline(&shares);
            let margin = MARGIN - 1;
            page.line(format_args!("{:<margin$} {line}", name(*generation)));
        }
    }

    fn exact(&self, page: &mut Page) {
        if self.counters.is_empty() {
            return;
        }
        page.line("");
        page.prose("", STRONG, "Exact figures of the whole process, the agent in it included");
        page.line("");
        let mut table = Table::new([
            Column::left("").label(),
            Column::right("first").goes(1),
            Column::right("highest"),
            Column::right("last"),
        ]);
        for figure in &self.counters {
            table.row(figure_row(figure, self.word_bytes), Tail::None);
        }
        page.table(&table);
        self.provisos.iter().for_each(|text| page.prose("", FAINT, text));
    }

    fn blocks(&self, page: &mut Page) {
        page.line("");
        if self.total.sums.allocated.is_empty() {
            page.prose("", STRONG, "No block in this trace lives in a collected heap");
            return;
        }
        page.prose("", STRONG, "All blocks in collected heaps");
        self.amounts(page, "", &self.total);
        self.exact_totals.iter().for_each(|text| page.prose("", PLAIN, text));
        page.line("");
        let (shown, all) = (self.callsites.len(), human::count(self.callsites_total as f64));
        page.prose("", STRONG, &format!("{shown} of {all} callsites by bytes allocated"));
        for (rank, site) in (1..).zip(&self.callsites) {
            page.line("");
            self.callsite(page, rank, site);
        }
    }

    fn callsite(&self, page: &mut Page, rank: usize, site: &Site<'_>) {
        let (place, share) = (&site.place.0, human::percent(site.share));
        let head = format!("{rank:>3}. {share:>7}");
        let name = function(place);
        if page.fits(columns(&head) + 2 + columns(&name)) {
            page.line(format_args!("{}  {}", styled(SHARE, head), styled(NAME, name)));
        } else {
            page.line(styled(SHARE, head));
            page.wrapped(INDENT, NAME, &name);
        }
        if let Some(source) = source(place) {
            page.wrapped(INDENT, FAINT, &source);
        }
        self.amounts(page, INDENT, &site.blocks);
    }

    /// What was told of blocks, in the words of ocp-memprof's counters.
    fn amounts(&self, page: &mut Page, indent: &str, blocks: &Blocks) {
        let sums = &blocks.sums;
        let of = |amount: &Amount| bytes_or_none(amount, &self.sampling);
        let line = |page: &mut Page, text: &str| page.prose(indent, PLAIN, text);
        let allocated = of(&sums.allocated.amount());
        line(
            page,
            &format!("allocated {allocated}, of that at once old {}", of(&sums.born_old.amount())),
        );
        let (promoted, collected) = (sums.promoted.amount(), sums.collected.amount());
        line(page, &format!("promoted {}, collected {}", of(&promoted), of(&collected)));
        let (young, old) = (sums.young.amount(), sums.old.amount());
        line(page, &format!("alive at the end: young {}, old {}", of(&young), of(&old)));
        if let Some(([minor, major], [most_minor, most_major])) = blocks.survived() {
            let text = format!(
                "survived on average {minor:.1} minor (at most {most_minor}) and {major:.1} major \
                 collections (at most {most_major})"
            );
            line(page, &text);
        }
    }
}

impl Blocks {
    /// Minor and major collections: on average, and at most.
    fn survived(&self) -> Option<([f64; 2], [u64; 2])> {
        let mean = self.sums.mean_survived().filter(|_| self.tells_collections)?;
        Some((mean, self.sums.most_survived))
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            allocated: Quantity,
            allocated_old: Quantity,
            promoted: Quantity,
            collected: Quantity,
            live_young: Quantity,
            live_old: Quantity,
            survived_minor_mean: Option<f64>,
            survived_major_mean: Option<f64>,
            survived_minor_most: Option<u64>,
            survived_major_most: Option<u64>,
        }
        let (sums, survived) = (&self.sums, self.survived());
        let (mean, most) = (survived.map(|it| it.0), survived.map(|it| it.1));
        let fields = Fields {
            allocated: Quantity(sums.allocated.amount()),
            allocated_old: Quantity(sums.born_old.amount()),
            promoted: Quantity(sums.promoted.amount()),
            collected: Quantity(sums.collected.amount()),
            live_young: Quantity(sums.young.amount()),
            live_old: Quantity(sums.old.amount()),
            survived_minor_mean: mean.map(|mean| mean[0]),
            survived_major_mean: mean.map(|mean| mean[1]),
            survived_minor_most: most.map(|most| most[0]),
            survived_major_most: most.map(|most| most[1]),
        };
        fields.serialize(serializer)
    }
}

impl Serialize for Cycles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'p> {
            generation: &'static str,
            count: u64,
            first_number: Option<u64>,
            last_number: Option<u64>,
            gaps: Option<Times>,
            durations: Option<Times>,
            over_time: &'p [u64],
        }
        let Self { generation, pace } = self;
        let fields = Fields {
            generation: match generation {
                Generation::Compaction => "compaction",
                other => name(*other),
            },
            count: pace.count,
            first_number: pace.numbers.map(|it| it.0),
            last_number: pace.numbers.map(|it| it.1),
            gaps: pace.gaps.map(Times::from),
            durations: pace.durations.map(Times::from),
            over_time: &pace.over_time,
        };
        fields.serialize(serializer)
    }
}

fn by_name<S: Serializer>(counters: &[(Figure, Range)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        first: u64,
        highest: u64,
        last: u64,
    }
    let fields = |Range { first, highest, last }| Fields { first, highest, last };
    serializer.collect_map(counters.iter().map(|(it, range)| (figure_name(*it), fields(*range))))
}

fn row(generation: Generation, pace: &Pace) -> [Cell; 7] {
    let time = |micros: u64| human::duration(Duration::from_micros(micros));
    let spread = |spread: Option<Spread>, of: fn(&Spread) -> u64| {
        spread.as_ref().map(|spread| time(of(spread))).unwrap_or_default()
    };
    [
        name(generation).to_owned(),
        human::count(pace.count as f64),
        spread(pace.gaps, |it| it.median),
        spread(pace.gaps, |it| it.longest),
        spread(pace.durations, |it| it.median),
        spread(pace.durations, |it| it.longest),
        spread(pace.durations, |it| it.total),
    ]
    .map(Cell::from)
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

/// As a field of JSON.
fn figure_name(figure: Figure) -> &'static str {
    match figure {
        Figure::Resident => "resident_bytes",
        Figure::Proportional => "proportional_bytes",
        Figure::AllocatorInUse => "allocator_in_use_bytes",
        Figure::AllocatorHeld => "allocator_held_bytes",
        Figure::MinorFaults => "minor_faults",
        Figure::MajorFaults => "major_faults",
        Figure::MinorWords => "minor_words",
        Figure::PromotedWords => "promoted_words",
        Figure::MajorWords => "major_words",
        Figure::MinorCollections => "minor_collections",
        Figure::MajorCollections => "major_collections",
        Figure::Compactions => "compactions",
        Figure::HeapWords => "heap_words",
        Figure::TopHeapWords => "top_heap_words",
        Figure::YoungHeapWords => "young_heap_words",
    }
}

/// For people, with its numbers.
fn figure_row((figure, range): &(Figure, Range), word_bytes: u64) -> [Cell; 4] {
    let (name, number): (_, fn(f64) -> String) = match figure {
        Figure::Resident => ("resident memory", human::bytes),
        Figure::Proportional => ("of it, without what is shared", human::bytes),
        Figure::AllocatorInUse => ("given out by the allocator", human::bytes),
        Figure::AllocatorHeld => ("held by the allocator", human::bytes),
        Figure::MinorFaults => ("page faults without I/O", human::count),
        Figure::MajorFaults => ("page faults with I/O", human::count),
        Figure::MinorWords => ("allocated in the minor heap", human::bytes),
        Figure::PromotedWords => ("promoted", human::bytes),
        Figure::MajorWords => ("allocated in the major heap, promoted included", human::bytes),
        Figure::MinorCollections => ("minor collections", human::count),
        Figure::MajorCollections => ("major collections", human::count),
        Figure::Compactions => ("compactions", human::count),
        Figure::HeapWords => ("major heap", human::bytes),
        Figure::TopHeapWords => ("the most that it was", human::bytes),
        Figure::YoungHeapWords => ("minor heap", human::bytes),
    };
    let scale = if figure.is_in_words() { word_bytes } else { 1 };
    let [first, highest, last] = [range.first, range.highest, range.last]
        .map(|value| Cell::from(number(value.saturating_mul(scale) as f64)));
    [name.to_owned().into(), first, highest, last]
}

impl Render for Gc<'_> {
    fn render(&self, page: &mut Page) {
        self.collections(page);
        self.exact(page);
        self.blocks(page);
    }
}

#[derive(Serialize)]
struct Times {
    median_us: u64,
    longest_us: u64,
    total_us: u64,
}

impl From<Spread> for Times {
    fn from(spread: Spread) -> Self {
        let Spread { median, longest, total } = spread;
        Self { median_us: median, longest_us: longest, total_us: total }
    }
}
