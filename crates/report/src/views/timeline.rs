//! Live bytes over time, and who had them.

use std::time::Duration;

use lifetrace_analysis::timeline::{Bin, Series, Timeline as Observed};
use lifetrace_analysis::{Estimate, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;

use super::Render;
use crate::Options;
use crate::amounts::Number;
use crate::chart;
use crate::columns::columns;
use crate::fields::PlaceFields;
use crate::heap::exact_totals;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::shorten;
use crate::style::{FAINT, NAME, PLAIN, STRONG, Width, styled};

/// Bins, which are the columns of charts: so many where there is no end of lines, and at least and at
/// most so many elsewhere.
const BINS: usize = 72;
const LEAST_BINS: usize = 16;
const MOST_BINS: usize = 360;
/// Before charts: room for `1,023 MiB ┤`, or for `heap, up to 1,023 MiB`.
const MARGIN: usize = 12;
const WIDE_MARGIN: usize = 24;
const HEIGHT: usize = 10;
/// A callsite is listed if it ever had this part of the most that was live.
const LEAST_SHARE: f64 = 0.005;

/// Bins beside a margin of so many columns.
pub fn bins(width: Width, margin: usize) -> usize {
    let fitting = |columns: usize| columns.saturating_sub(margin).clamp(LEAST_BINS, MOST_BINS);
    width.lines.map_or(BINS, fitting)
}

/// A time line: the document of the view.
#[derive(Debug, Serialize)]
pub struct Timeline<'a> {
    timeline: Vec<Point>,
    callsites_total: usize,
    /// The first of them.
    callsites: Vec<Contributor<'a>>,
    #[serde(skip)]
    exact_totals: Option<String>,
}

/// A part of the time.
#[derive(Debug, Serialize)]
struct Point {
    /// Since the start.
    begin_us: u64,
    end_us: u64,
    most_bytes: Number,
    bytes_at_end: Number,
    resident_bytes: Option<u64>,
    /// What the collected heap has from the system.
    heap_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Contributor<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    /// At the end of each part of the time.
    bytes_at_end: Vec<Number>,
}

impl<'a> Timeline<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options, width: Width) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let replay = reading.profile.replay();
        let shaped = Shaped::new(reading.profile.tree(), &reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let has_figures = reading.resident.last().is_some() || reading.facts.collector.is_some();
        let bins = bins(width, if has_figures { WIDE_MARGIN } else { MARGIN });
        let mut observed = Observed::new(&sites, replay.start(), replay.end(), bins);
        study.replay(&mut observed)?;
        let series = observed.contributors(LEAST_SHARE);
        let word_bytes = u64::from(reading.trace.info().word_bits) / 8;
        let point = |(at, bin): (usize, &Bin)| Point {
            begin_us: observed.begin(at),
            end_us: observed.begin(at + 1),
            most_bytes: Number(bin.most),
            bytes_at_end: Number(bin.at_end),
            resident_bytes: bin.resident.map(|bytes| bytes.0),
            heap_bytes: bin.heap_words.map(|words| words.saturating_mul(word_bytes)),
        };
        let contributor = |series: &Series| Contributor {
            place: PlaceFields(sites.place(series.site)),
            bytes_at_end: series.at_end.iter().copied().map(Number).collect(),
        };
        Ok(Self {
            timeline: observed.bins().iter().enumerate().map(point).collect(),
            callsites_total: series.len(),
            callsites: series.iter().take(options.top).map(contributor).collect(),
            exact_totals: exact_totals(study),
        })
    }

    fn most(&self) -> f64 {
        self.timeline.iter().map(|point| point.most_bytes.0.value).fold(0.0, f64::max)
    }

    fn chart(&self, page: &mut Page) {
        let most = self.most().max(1.0);
        let points = self.timeline.iter();
        let shares: Vec<_> = points.map(|point| point.most_bytes.0.value / most).collect();
        let figures = [
            self.figure("RSS", |point| point.resident_bytes),
            self.figure("heap", |point| point.heap_bytes),
        ];
        let figures: Vec<_> = figures.into_iter().flatten().collect();
        let (top, bottom) = (human::bytes(most), "0".to_owned());
        let labels = figures.iter().map(|(label, _)| columns(label));
        let margin = labels.fold(columns(&top), usize::max);
        for (number, line) in chart::columns(&shares, HEIGHT).iter().enumerate() {
            let label = match number {
                0 => &top,
                _ if number + 1 == HEIGHT => &bottom,
                _ => "",
            };
            page.line(format_args!("{} {line}", styled(FAINT, format_args!("{label:>margin$} ┤"))));
        }
        for (label, line) in figures {
            page.line(format_args!("{}   {line}", styled(FAINT, format_args!("{label:>margin$}"))));
        }
        let end = self.timeline.last().map_or(0, |point| point.end_us);
        let end = human::duration(Duration::from_micros(end));
        let width = self.timeline.len().saturating_sub(1);
        let axis = format!("{:>margin$}   0{end:>width$}", "");
        page.line(styled(FAINT, axis));
    }

    /// A line of an exact figure, in bytes, and what is before it, if the trace has it.
    fn figure(&self, name: &str, of: impl Fn(&Point) -> Option<u64>) -> Option<(String, String)> {
        let most = self.timeline.iter().filter_map(&of).max().filter(|&most| most > 0)? as f64;
        // Counters come from time to time; between them the last ones hold.
        let mut last = 0;
        let mut share = |point: &Point| {
            last = of(point).unwrap_or(last);
            last as f64 / most
        };
        let shares: Vec<_> = self.timeline.iter().map(&mut share).collect();
        Some((format!("{name}, up to {}", human::bytes(most)), chart::sparkline(&shares)))
    }

    fn contributor(&self, page: &mut Page, callsite: &Contributor<'_>) {
        let (place, series) = (&callsite.place.0, &callsite.bytes_at_end);
        let highest = series.iter().enumerate().max_by(|a, b| a.1.0.value.total_cmp(&b.1.0.value));
        let (at, greatest) = highest.map_or((0, Estimate::default()), |(at, it)| (at, it.0));
        let when = human::duration(Duration::from_micros(self.timeline[at].end_us));
        let shares: Vec<_> = series.iter().map(|it| it.0.value / greatest.value.max(1.0)).collect();
        let source = brief_source(place).unwrap_or_default();
        let (name, source) = shorten::place(&function(place), &source, page.room(0));
        page.line(format_args!("{}  {}", styled(NAME, name), styled(FAINT, source)));
        page.line(format_args!("  {}", chart::sparkline(&shares)));
        let last = series.last().map(|it| it.0).unwrap_or_default();
        let end = if last.value > 0.0 { human::estimate(&last) } else { "nothing".to_owned() };
        let text = format!("up to {} (at {when}), {end} at the end", human::estimate(&greatest));
        page.prose("  ", PLAIN, &text);
    }
}

impl Render for Timeline<'_> {
    fn render(&self, page: &mut Page) {
        page.prose("", STRONG, "Live bytes over time");
        page.line("");
        self.chart(page);
        self.exact_totals.iter().for_each(|text| page.prose("", PLAIN, text));
        page.line("");
        let (shown, all) = (self.callsites.len(), self.callsites_total);
        let heading = format!(
            "{shown} of {all} callsites that ever had at least {} of the most that was live",
            human::percent(LEAST_SHARE)
        );
        page.prose("", STRONG, &heading);
        for callsite in &self.callsites {
            page.line("");
            self.contributor(page, callsite);
        }
    }
}
