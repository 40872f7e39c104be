//! The callsites that have most: how much, where, and by which way.

use lifetrace_analysis::{
    Callsite, Callsites, Estimate, Metric, NamedFrame, Place, Sampling, Shaped, Sites,
};
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::origin::Origin;
use serde::{Serialize, Serializer};

use super::super::amounts::{Quantity, bytes_or_none, objects};
use super::super::backtrace;
use super::super::page::Page;
use super::super::place::{brief_source, function, source};
use super::super::shorten;
use super::advice::{self, Weighed};
use super::{Render, measure};
use crate::Options;
use crate::fields::{Line, PlaceFields, number};
use crate::style::{FAINT, NAME, PLAIN, SHARE, STRONG, styled};

/// Before the lines of a callsite, and before those of its backtrace.
pub const INDENT: &str = "      ";
const DEEPER: &str = "        ";

/// Callsites in the order of a metric: the document of the view.
#[derive(Debug, Serialize)]
pub struct Ranking<'a> {
    callsites_total: usize,
    /// The first of them.
    callsites: Vec<Site<'a>>,
    #[serde(skip)]
    sampling: Sampling,
    #[serde(skip)]
    metric: Metric,
    #[serde(skip)]
    origin: Origin,
}

#[derive(Debug, Serialize)]
struct Site<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    allocated: Quantity,
    peak: Quantity,
    live_at_end: Quantity,
    #[serde(flatten)]
    byte_seconds: ByteSeconds,
    #[serde(flatten)]
    hottest: Hottest<'a>,
}

/// In documents with half of its interval.
#[derive(Debug)]
struct ByteSeconds(Estimate);

/// The backtrace that has most of a callsite, and among how many.
#[derive(Debug, Serialize)]
pub struct Hottest<'a> {
    backtraces: usize,
    hottest_backtrace: Backtrace<'a>,
}

#[derive(Debug, Serialize)]
struct Backtrace<'a> {
    share: f64,
    frames: Vec<Line<'a>>,
}

impl<'a> Ranking<'a> {
    /// Finds the answer in one trace, or in several.
    pub fn new(of: &'a impl Accounts, options: &Options, metric: Metric) -> Self {
        let sites = Sites::new(Shaped::new(of.tree(), of.names(), of.view()));
        let all = Callsites::new(sites, of.balances(), metric);
        let shown = all.callsites.iter().take(options.top);
        Self {
            callsites_total: all.callsites.len(),
            callsites: shown.map(|callsite| Site::new(&all, callsite)).collect(),
            sampling: of.summary().sampling,
            metric,
            origin: of.origin(),
        }
    }
}

impl<'a> Render for Ranking<'a> {
    fn render(&self, page: &mut Page) {
        let (all, what) = (self.callsites_total, measure(self.metric));
        if self.callsites.is_empty() {
            page.line(format_args!("No callsite has {what}"));
            return;
        }
        let share = human::percent(self.callsites.iter().map(|site| site.share).sum());
        page.prose("", STRONG, &heading(self.callsites.len(), all, what, &share));
        for (rank, site) in (1..).zip(&self.callsites) {
            page.line("");
            self.site(page, rank, site);
        }
        let weighed = |site: &Site<'a>| Weighed {
            place: site.place.0,
            share: site.share,
            backtraces: site.hottest.backtraces,
        };
        advice::render(page, &self.callsites.iter().map(weighed).collect::<Vec<_>>());
    }
}

impl Ranking<'_> {
    fn site(&self, page: &mut Page, rank: usize, site: &Site<'_>) {
        let (first, others) = self.amounts(site);
        let head = format!("{rank:>3}. {:>7}", human::percent(site.share));
        page.entry(SHARE, &head, INDENT, &first);
        place(page, &site.place.0);
        if !others.is_empty() {
            page.prose(INDENT, PLAIN, &others);
        }
        site.hottest.render(page);
    }

    /// What was allocated, lived at the peak, and lives, as far as it is known: what callsites are
    /// ordered by, and the others.
    fn amounts(&self, site: &Site<'_>) -> (String, String) {
        let [allocated, peak, live] = [site.allocated.0, site.peak.0, site.live_at_end.0];
        let bytes = human::estimate(&allocated.bytes);
        let objects = objects(&allocated.objects);
        let allocated = match self.metric {
            Metric::Objects => format!("{objects} of {bytes}"),
            _ if self.origin.lacks(Lack::Objects) => bytes,
            _ => format!("{bytes} in {objects}"),
        };
        let peak = format!("{} at the peak", bytes_or_none(&peak, &self.sampling));
        let live = format!("{} live at end", bytes_or_none(&live, &self.sampling));
        let beside = format!("{allocated} allocated");
        let (first, others) = match self.metric {
            Metric::Allocated | Metric::Objects => {
                (allocated, [(Metric::Peak, peak), (Metric::Live, live)])
            }
            Metric::Peak => (peak, [(Metric::Live, live), (Metric::Allocated, beside)]),
            Metric::Live => (live, [(Metric::Peak, peak), (Metric::Allocated, beside)]),
            Metric::ByteSeconds => (
                human::byte_seconds(&site.byte_seconds.0),
                [(Metric::Allocated, beside), (Metric::Live, live)],
            ),
        };
        let others = others.into_iter().filter(|(metric, _)| self.origin.tells(*metric));
        (first, others.map(|(_, amount)| amount).collect::<Vec<_>>().join("; "))
    }
}

impl<'a> Site<'a> {
    fn new(all: &Callsites<'a>, callsite: &Callsite<'a>) -> Self {
        Self {
            place: PlaceFields(callsite.place),
            share: callsite.share,
            allocated: Quantity(callsite.allocated),
            peak: Quantity(callsite.peak),
            live_at_end: Quantity(callsite.live),
            byte_seconds: ByteSeconds(callsite.byte_seconds),
            hottest: Hottest::new(all, callsite),
        }
    }
}

impl Serialize for ByteSeconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            #[serde(serialize_with = "number")]
            byte_seconds: f64,
            #[serde(serialize_with = "number")]
            byte_seconds_interval95: f64,
        }
        let byte_seconds_interval95 = self.0.interval95();
        Fields { byte_seconds: self.0.value, byte_seconds_interval95 }.serialize(serializer)
    }
}

impl<'a> Hottest<'a> {
    pub fn new(all: &Callsites<'a>, callsite: &Callsite<'a>) -> Self {
        let frames = all.frames(callsite.hottest.backtrace).map(Line).collect();
        let hottest_backtrace = Backtrace { share: callsite.hottest.share, frames };
        Self { backtraces: callsite.hottest.of, hottest_backtrace }
    }

    /// Writes the backtrace.
    pub fn render(&self, page: &mut Page) {
        page.prose(INDENT, FAINT, &self.provenance());
        let frames: Vec<_> = self.hottest_backtrace.frames.iter().map(|line| line.0).collect();
        backtrace::shorten(&frames).iter().for_each(|line| backtrace_line(page, line));
    }

    fn provenance(&self) -> String {
        match self.backtraces {
            1 => "by its only backtrace:".to_owned(),
            all => {
                let share = human::percent(self.hottest_backtrace.share);
                format!("{share} of this by the hottest of {all} backtraces:")
            }
        }
    }
}

fn heading(shown: usize, all: usize, what: &str, share: &str) -> String {
    match (shown, all) {
        (1, 1) => format!("The only callsite with {what}"),
        _ if shown == all => format!("All {all} callsites with {what}"),
        _ => format!("Top {shown} of {all} callsites by {what}: {share} of the total"),
    }
}

/// Where a callsite is, in full.
pub fn place(page: &mut Page, place: &Place<'_>) {
    page.wrapped(INDENT, NAME, &function(place));
    if let Some(source) = source(place) {
        page.wrapped(INDENT, FAINT, &source);
    }
}

pub fn backtrace_line(page: &mut Page, line: &backtrace::Line<'_>) {
    let note = match *line {
        backtrace::Line::Frame(frame) => return frame_line(page, &frame),
        backtrace::Line::Again { frames: 1, times } => {
            format!("(recursion: the frame above {times} more times)")
        }
        backtrace::Line::Again { frames, times } => {
            format!("(recursion: the {frames} frames above {times} more times)")
        }
        backtrace::Line::Gap { frames } => format!("(… {frames} frames left out …)"),
    };
    page.prose(DEEPER, FAINT, &note);
}

pub fn frame_line(page: &mut Page, frame: &NamedFrame<'_>) {
    let inlined = if frame.inlined { " (inlined)" } else { "" };
    let room = page.room(DEEPER.len() + inlined.len());
    let source = brief_source(&frame.place).unwrap_or_default();
    let (name, source) = shorten::place(&function(&frame.place), &source, room);
    let separator = if source.is_empty() { "" } else { "  " };
    let name_style = if frame.is_machinery { FAINT } else { PLAIN };
    let rest = styled(FAINT, format_args!("{separator}{source}{inlined}"));
    page.line(format_args!("{DEEPER}{}{rest}", styled(name_style, name)));
}
