//! Lifetimes as a page: for the whole program a table, for each callsite a chart of one line.

use lifetrace_analysis::lifetimes::Lifetime;
use lifetrace_analysis::statistics::{Survival, Unit};
use lifetrace_analysis::{Amount, Metric};
use lifetrace_human as human;

use super::super::callsites::{INDENT, place};
use super::super::measure;
use super::spread::{Class, Spread, counts, times};
use super::{Entry, LifetimeFields, Lifetimes};
use crate::amounts::{self, measured};
use crate::chart::sparkline;
use crate::page::Page;
use crate::style::{FAINT, PLAIN, SHARE, STRONG, styled};
use crate::table::{Cell, Column, Table, Tail};

/// Cells of a chart for each power of ten, where there is room for so many.
const CELLS: u32 = 5;
/// Columns of the times at both ends of a chart.
const TIMES: usize = 20;
/// No chart goes further: 30 years, in microseconds.
const MOST: u64 = 1_000_000_000_000_000;

pub fn write(lifetimes: &Lifetimes<'_>, page: &mut Page) {
    let all = &lifetimes.lifetimes.lifetime;
    let Some(spread) = Spread::of(&all.time, &times()) else {
        page.prose("", STRONG, "No block was sampled: there are no lifetimes.");
        return;
    };
    page.prose("", STRONG, &sentence(all, "Lifetimes of all"));
    page.line("");
    table(page, "lifetime", &spread, time_class, human::lifetime(spread.watched as f64));
    for (survival, count, heap) in [
        (&all.minor, lifetimes.collections.minor, "young heap"),
        (&all.major, lifetimes.collections.major, "whole heap"),
    ] {
        collections(page, survival, count, heap);
    }
    callsites(lifetimes, page);
}

/// Quantiles in one sentence. Where many live on, the median may not be known.
fn sentence(lifetime: &Lifetime, what: &str) -> String {
    let unit = lifetime.unit();
    let curve = lifetime.time.curve(unit);
    let known = |(q, name): (f64, &'static str)| Some((name, curve.quantile(q)?));
    let known = [(0.1, "10 %"), (0.5, "median"), (0.9, "90 %"), (0.99, "99 %")].map(known);
    // The shortest are of interest only where nothing else is known.
    let others = usize::from(known.iter().flatten().count() > 1);
    let quantiles = known.into_iter().flatten().skip(others).map(|(name, quantile)| {
        let within = if name == "median" { "" } else { "within " };
        format!("{name} {within}{}", human::quantile(&quantile))
    });
    let alive = lifetime.time.surviving(unit).filter(|share| share.value > 0.0);
    let alive = alive.map(|share| format!("{} live at the end", human::proportion(&share)));
    let parts: Vec<_> = quantiles.chain(alive).collect();
    format!("{what} {}: {}", name(unit), parts.join(", "))
}

fn name(unit: Unit) -> &'static str {
    match unit {
        Unit::Objects => "objects",
        Unit::Bytes => "bytes",
    }
}

fn table(
    page: &mut Page,
    what: &'static str,
    spread: &Spread,
    label: impl Fn(&Class) -> String,
    watched: String,
) {
    let mut table = Table::new([
        Column::right(what).label(),
        Column::right("objects"),
        Column::bar(),
        Column::right("bytes"),
        Column::bar(),
    ]);
    let mut row = |label: String, [objects, bytes]: [f64; 2]| {
        let [of_objects, of_bytes] = [objects, bytes].map(|it| Cell::from(human::percent(it)));
        let cells = [label.into(), of_objects, Cell::Bar(objects), of_bytes, Cell::Bar(bytes)];
        table.row(cells, Tail::None);
    };
    spread.classes.iter().for_each(|class| row(label(class), class.shares));
    if spread.longer.iter().any(|&share| share > 0.0) {
        row(format!("> {watched} (live at end)"), spread.longer);
    }
    page.table(&table);
}

fn time_class(class: &Class) -> String {
    match class.least {
        0 => "< 1 µs".to_owned(),
        least => {
            format!("{} - {}", edge(least), edge(class.most.saturating_add(1)))
        }
    }
}

/// A round time: 30 ms.
fn edge(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{} s", human::count(micros as f64 / 1e6)),
    }
}

fn collections(page: &mut Page, survival: &Survival, count: u64, heap: &str) {
    let Some(spread) = Spread::of(survival, &counts()).filter(|_| count > 0) else { return };
    let label = |class: &Class| match (class.least, class.most) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} - {most}"),
    };
    page.line("");
    let heading =
        format!("In collections of the {heap}, of which there were {}", human::count(count as f64));
    page.prose("", STRONG, &heading);
    table(page, "collections", &spread, label, human::count(spread.watched as f64));
}

/// `half of all live through 0 collections of the young heap and 0 of the whole`.
pub fn in_collections(fields: &LifetimeFields) -> Option<String> {
    let LifetimeFields { lifetime, collections } = fields;
    let told = [
        (&lifetime.minor, collections.minor, "the young heap"),
        (&lifetime.major, collections.major, "the whole heap"),
    ];
    let told = told.into_iter().filter(|&(_, count, _)| count > 0).map(|(survival, _, heap)| {
        let half = survival.curve(lifetime.unit()).quantile(0.5);
        let half = half.map_or("too many to tell".to_owned(), |it| format!("{}", it.value.round()));
        format!("{half} of {heap}")
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| format!("in collections, half live through {}", told.join(" and ")))
}

fn callsites(lifetimes: &Lifetimes<'_>, page: &mut Page) {
    let (shown, all) = (lifetimes.callsites.len(), human::count(lifetimes.callsites_total as f64));
    if shown == 0 {
        return;
    }
    page.line("");
    let heading = format!("{shown} of {all} callsites by {}", measure(lifetimes.metric));
    page.prose("", STRONG, &heading);
    let axis = Axis::of(&lifetimes.lifetimes.lifetime.time, page.room(INDENT.len() + TIMES));
    for (rank, callsite) in (1..).zip(&lifetimes.callsites) {
        page.line("");
        entry(lifetimes.metric, page, &axis, rank, callsite);
    }
}

fn entry(metric: Metric, page: &mut Page, axis: &Axis, rank: usize, callsite: &Entry<'_>) {
    let head = format!("{rank:>3}. {:>7}", human::percent(callsite.share));
    let amount = match metric {
        Metric::Allocated => {
            let Amount { bytes, objects, .. } = &callsite.allocated.0;
            format!("{} in {}", human::estimate(bytes), amounts::objects(objects))
        }
        metric => measured(metric, &callsite.value),
    };
    page.entry(SHARE, &head, INDENT, &amount);
    place(page, &callsite.place.0);
    let lifetime = &callsite.lifetimes.lifetime;
    axis.chart(page, lifetime);
    let collections = in_collections(&callsite.lifetimes);
    let collections = collections.map(|it| format!("; {it}")).unwrap_or_default();
    page.prose(INDENT, PLAIN, &(sentence(lifetime, "lifetimes of its") + &collections));
}

/// Time from left to right, each power of ten as wide as another.
struct Axis {
    begins: Vec<u64>,
    /// In seconds.
    end: f64,
}

impl Axis {
    /// With room for all of these, and so many columns for them.
    fn of(all: &Survival, room: Option<usize>) -> Self {
        let classes = Spread::of(all, &times()).map(|spread| spread.classes).unwrap_or_default();
        let least = classes.first().map_or(1, |class| class.least).max(1).ilog10();
        let most = classes.last().map_or(1, |class| class.most.min(MOST)).max(1).ilog10() + 1;
        let room = room.map_or(u32::MAX, |room| room as u32);
        let per_power = (room.saturating_sub(1) / (most - least).max(1)).clamp(1, CELLS);
        let cells = per_power * least..per_power * most;
        let begin = |cell: u32| 10_f64.powf(f64::from(cell) / f64::from(per_power)).round() as u64;
        let below = (least == 0).then_some(0);
        let end = 10_f64.powf(f64::from(most)) * 1e-6;
        Self { begins: below.into_iter().chain(cells.map(begin)).collect(), end }
    }

    fn chart(&self, page: &mut Page, lifetime: &Lifetime) {
        let Some(spread) = Spread::of(&lifetime.time, &self.begins) else { return };
        let unit = match lifetime.unit() {
            Unit::Objects => 0,
            Unit::Bytes => 1,
        };
        let mut shares = vec![0.0; self.begins.len()];
        for class in &spread.classes {
            shares[self.begins.partition_point(|&begin| begin < class.least)] = class.shares[unit];
        }
        let most = shares.iter().copied().fold(0.0, f64::max);
        if most == 0.0 {
            return;
        }
        shares.iter_mut().for_each(|share| *share /= most);
        let begin = self.begins.iter().find(|&&begin| begin > 0).copied().unwrap_or(1);
        let [begin, end] = [begin as f64 * 1e-6, self.end].map(human::about);
        let [begin, end] = [format!("{begin} ┤"), format!("├ {end}")].map(|it| styled(FAINT, it));
        page.line(format_args!("{INDENT}{begin}{}{end}", sparkline(&shares)));
    }
}
