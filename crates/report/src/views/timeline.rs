//! Live bytes over time, and who had them.

use std::time::Duration;

use lifetrace_analysis::timeline::{Bin, Series, Timeline as Observed};
use lifetrace_analysis::{Estimate, Place, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, fields};
use crate::Options;
use crate::amounts::Number;
use crate::chart;
use crate::columns::columns;
use crate::heap::exact_totals;
use crate::json::PlaceFields;
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

/// A time line.
pub struct Timeline<'a> {
    bins: Vec<Bin>,
    /// In microseconds since the start.
    begins: Vec<u64>,
    word_bytes: u64,
    exact_totals: Option<String>,
    series: Vec<(Place<'a>, Series)>,
    top: usize,
}

impl<'a> Timeline<'a> {
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
        let series = observed.contributors(LEAST_SHARE).into_iter();
        Ok(Self {
            bins: observed.bins().to_vec(),
            begins: (0..=bins).map(|bin| observed.begin(bin)).collect(),
            word_bytes: u64::from(reading.trace.info().word_bits) / 8,
            exact_totals: exact_totals(study),
            series: series.map(|series| (sites.place(series.site), series)).collect(),
            top: options.top,
        })
    }

    fn most(&self) -> f64 {
        self.bins.iter().map(|bin| bin.most.value).fold(0.0, f64::max)
    }

    fn chart(&self, page: &mut Page) {
        let most = self.most().max(1.0);
        let shares: Vec<_> = self.bins.iter().map(|bin| bin.most.value / most).collect();
        let figures = [
            self.figure("RSS", |bin| bin.resident.map(|bytes| bytes.0)),
            self.figure("heap", |bin| self.heap_bytes(bin)),
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
        let end = human::duration(Duration::from_micros(self.begins[self.bins.len()]));
        let axis = format!("{:>margin$}   0{end:>width$}", "", width = self.bins.len() - 1);
        page.line(styled(FAINT, axis));
    }

    fn heap_bytes(&self, bin: &Bin) -> Option<u64> {
        Some(bin.heap_words?.saturating_mul(self.word_bytes))
    }

    /// A line of an exact figure, in bytes, and what is before it, if the trace has it.
    fn figure(&self, name: &str, of: impl Fn(&Bin) -> Option<u64>) -> Option<(String, String)> {
        let most = self.bins.iter().filter_map(&of).max().filter(|&most| most > 0)? as f64;
        // Counters come from time to time; between them the last ones hold.
        let mut last = 0;
        let mut share = |bin: &Bin| {
            last = of(bin).unwrap_or(last);
            last as f64 / most
        };
        let shares: Vec<_> = self.bins.iter().map(&mut share).collect();
        Some((format!("{name}, up to {}", human::bytes(most)), chart::sparkline(&shares)))
    }

    fn contributor(&self, page: &mut Page, place: &Place<'_>, series: &Series) {
        let highest =
            series.at_end.iter().enumerate().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let (bin, greatest) = highest.map_or((0, Estimate::default()), |(bin, it)| (bin, *it));
        let when = human::duration(Duration::from_micros(self.begins[bin + 1]));
        let shares: Vec<_> =
            series.at_end.iter().map(|it| it.value / greatest.value.max(1.0)).collect();
        let source = brief_source(place).unwrap_or_default();
        let (name, source) = shorten::place(&function(place), &source, page.room(0));
        page.line(format_args!("{}  {}", styled(NAME, name), styled(FAINT, source)));
        page.line(format_args!("  {}", chart::sparkline(&shares)));
        let last = series.at_end.last().copied().unwrap_or_default();
        let end = if last.value > 0.0 { human::estimate(&last) } else { "nothing".to_owned() };
        let text = format!("up to {} (at {when}), {end} at the end", human::estimate(&greatest));
        page.prose("  ", PLAIN, &text);
    }
}

impl<'a> View for Timeline<'a> {
    fn text(&self, page: &mut Page) {
        page.prose("", STRONG, "Live bytes over time");
        page.line("");
        self.chart(page);
        self.exact_totals.iter().for_each(|text| page.prose("", PLAIN, text));
        page.line("");
        let shown = self.top.min(self.series.len());
        let heading = format!(
            "{shown} of {} callsites that ever had at least {} of the most that was live",
            self.series.len(),
            human::percent(LEAST_SHARE)
        );
        page.prose("", STRONG, &heading);
        for (place, series) in self.series.iter().take(shown) {
            page.line("");
            self.contributor(page, place, series);
        }
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let bin = |(at, bin): (usize, &Bin)| Point {
            begin_us: self.begins[at],
            end_us: self.begins[at + 1],
            most_bytes: bin.most.into(),
            bytes_at_end: bin.at_end.into(),
            resident_bytes: bin.resident.map(|bytes| bytes.0),
            heap_bytes: self.heap_bytes(bin),
        };
        let series = |(place, series): &(Place<'a>, Series)| Contributor {
            place: PlaceFields(*place),
            bytes_at_end: series.at_end.iter().map(|&at_end| at_end.into()).collect(),
        };
        fields(&Document {
            timeline: self.bins.iter().enumerate().map(bin).collect(),
            callsites_total: self.series.len(),
            callsites: self.series.iter().take(self.top).map(series).collect(),
        })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    timeline: Vec<Point>,
    callsites_total: usize,
    callsites: Vec<Contributor<'a>>,
}

#[derive(Serialize)]
struct Point {
    begin_us: u64,
    end_us: u64,
    most_bytes: Number,
    bytes_at_end: Number,
    resident_bytes: Option<u64>,
    heap_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Contributor<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    bytes_at_end: Vec<Number>,
}
