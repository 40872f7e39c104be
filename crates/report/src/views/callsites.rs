//! The callsites that have most: how much, where, and by which way.

use lifetrace_analysis::{Callsite, Callsites, Frame, Metric, Place, Sampling, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::origin::Origin;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::amounts::{Quantity, bytes_or_none, objects};
use super::super::backtrace;
use super::super::json::{self, PlaceFields};
use super::super::numbers::number;
use super::super::page::Page;
use super::super::place::{brief_source, function, source};
use super::super::shorten;
use super::{View, fields, measure};
use crate::Options;
use crate::style::{FAINT, NAME, PLAIN, SHARE, STRONG, styled};

/// Before the lines of a callsite, and before those of its backtrace.
pub const INDENT: &str = "      ";
const DEEPER: &str = "        ";

/// Callsites in the order of a metric.
pub struct Ranking<'a> {
    sampling: Sampling,
    callsites: Callsites<'a>,
    top: usize,
    metric: Metric,
    origin: Origin,
}

impl<'a> Ranking<'a> {
    pub fn new(of: &'a impl Accounts, options: &Options, metric: Metric) -> Self {
        let sites = Sites::new(Shaped::new(of.tree(), of.names(), of.view()));
        Self {
            sampling: of.summary().sampling,
            callsites: Callsites::new(sites, of.balances(), metric),
            top: options.top,
            metric,
            origin: of.origin(),
        }
    }
}

impl View for Ranking<'_> {
    fn text(&self, page: &mut Page) {
        let (all, what) = (&self.callsites.callsites, measure(self.metric));
        let shown = &all[..self.top.min(all.len())];
        if shown.is_empty() {
            page.line(format_args!("{} callsites have {what}", all.len()));
            return;
        }
        let share = human::percent(shown.iter().map(|callsite| callsite.share).sum());
        page.prose("", STRONG, &heading(shown.len(), all.len(), what, &share));
        for (rank, callsite) in (1..).zip(shown) {
            page.line("");
            self.callsite(page, rank, callsite);
        }
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let callsites = &self.callsites.callsites;
        fields(&Document {
            callsites_total: callsites.len(),
            callsites: callsites.iter().take(self.top).map(|site| self.site(site)).collect(),
        })
    }
}

impl Ranking<'_> {
    fn callsite(&self, page: &mut Page, rank: usize, callsite: &Callsite<'_>) {
        let (first, others) = self.amounts(callsite);
        let head = format!("{rank:>3}. {:>7}", human::percent(callsite.share));
        page.entry(SHARE, &head, INDENT, &first);
        place(page, &callsite.place);
        if !others.is_empty() {
            page.prose(INDENT, PLAIN, &others);
        }
        hottest(page, &self.callsites, callsite);
    }

    /// What was allocated, lived at the peak, and lives, as far as it is known: what callsites are
    /// ordered by, and the others.
    fn amounts(&self, callsite: &Callsite<'_>) -> (String, String) {
        let Callsite { allocated, peak, live, .. } = callsite;
        let bytes = human::estimate(&allocated.bytes);
        let objects = objects(&allocated.objects);
        let allocated = match self.metric {
            Metric::Objects => format!("{objects} of {bytes}"),
            _ if self.origin.lacks(Lack::Objects) => bytes,
            _ => format!("{bytes} in {objects}"),
        };
        let peak = format!("{} at the peak", bytes_or_none(peak, &self.sampling));
        let live = format!("{} live at end", bytes_or_none(live, &self.sampling));
        let beside = format!("{allocated} allocated");
        let (first, others) = match self.metric {
            Metric::Allocated | Metric::Objects => {
                (allocated, [(Metric::Peak, peak), (Metric::Live, live)])
            }
            Metric::Peak => (peak, [(Metric::Live, live), (Metric::Allocated, beside)]),
            Metric::Live => (live, [(Metric::Peak, peak), (Metric::Allocated, beside)]),
            Metric::ByteSeconds => (
                human::byte_seconds(&callsite.byte_seconds),
                [(Metric::Allocated, beside), (Metric::Live, live)],
            ),
        };
        let others = others.into_iter().filter(|(metric, _)| self.origin.tells(*metric));
        (first, others.map(|(_, amount)| amount).collect::<Vec<_>>().join("; "))
    }

    fn site<'s>(&'s self, callsite: &Callsite<'s>) -> Site<'s> {
        Site {
            place: PlaceFields::new(callsite.place),
            share: callsite.share,
            allocated: Quantity::new(&callsite.allocated),
            peak: Quantity::new(&callsite.peak),
            live_at_end: Quantity::new(&callsite.live),
            byte_seconds: callsite.byte_seconds.value,
            byte_seconds_interval95: callsite.byte_seconds.interval95(),
            backtraces: callsite.hottest.of,
            hottest_backtrace: Backtrace::new(&self.callsites, callsite),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    callsites_total: usize,
    callsites: Vec<Site<'a>>,
}

#[derive(Serialize)]
struct Site<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    allocated: Quantity,
    peak: Quantity,
    live_at_end: Quantity,
    #[serde(serialize_with = "number")]
    byte_seconds: f64,
    #[serde(serialize_with = "number")]
    byte_seconds_interval95: f64,
    backtraces: usize,
    hottest_backtrace: Backtrace<'a>,
}

/// The backtrace that has most of a callsite.
#[derive(Serialize)]
pub struct Backtrace<'a> {
    share: f64,
    frames: Vec<json::Line<'a>>,
}

impl<'a> Backtrace<'a> {
    pub fn new(callsites: &Callsites<'a>, callsite: &Callsite<'a>) -> Self {
        let frames = callsites.frames(callsite.hottest.backtrace).map(json::Line::new);
        Self { share: callsite.hottest.share, frames: frames.collect() }
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

/// The backtrace that has most of a callsite.
pub fn hottest(page: &mut Page, callsites: &Callsites<'_>, callsite: &Callsite<'_>) {
    page.prose(INDENT, FAINT, &provenance(callsite));
    let frames: Vec<_> = callsites.frames(callsite.hottest.backtrace).collect();
    backtrace::shorten(&frames).iter().for_each(|line| backtrace_line(page, line));
}

fn provenance(callsite: &Callsite<'_>) -> String {
    match callsite.hottest.of {
        1 => "by its only backtrace:".to_owned(),
        all => {
            let share = human::percent(callsite.hottest.share);
            format!("{share} of this by the hottest of {all} backtraces:")
        }
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

pub fn frame_line(page: &mut Page, frame: &Frame<'_>) {
    let inlined = if frame.inlined { " (inlined)" } else { "" };
    let room = page.room(DEEPER.len() + inlined.len());
    let source = brief_source(&frame.place).unwrap_or_default();
    let (name, source) = shorten::place(&function(&frame.place), &source, room);
    let separator = if source.is_empty() { "" } else { "  " };
    let name_style = if frame.is_machinery { FAINT } else { PLAIN };
    let rest = styled(FAINT, format_args!("{separator}{source}{inlined}"));
    page.line(format_args!("{DEEPER}{}{rest}", styled(name_style, name)));
}
