//! Leaks as a page: the verdict, then what it rests on.

use lifetrace_analysis::Summary;
use lifetrace_analysis::leaks::{Holding, Kind, SHORTEST};
use lifetrace_analysis::statistics::Growth;
use lifetrace_human as human;

use super::super::callsites::{INDENT, place};
use super::{Entry, Leaks, Verdict, micros, sum};
use crate::amounts::bytes_or_none;
use crate::chart;
use crate::lost;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::resident::Resident;
use crate::style::{PLAIN, SHARE, STRONG};
use crate::table::{Cell, Column, Table, Tail};
use crate::young;

/// A peak so late in the time of the trace may be the height of a growth that the exit ended.
const LATE: f64 = 0.5;
/// Callsites that grow by steps and are told in full.
const STEPS: usize = 3;
/// Callsites that are told in a line each, and columns of charts.
const BRIEF: usize = 5;
const CHART_COLUMNS: usize = 60;

pub fn write(leaks: &Leaks<'_>, page: &mut Page) {
    let resident = leaks.resident.as_ref();
    let explained = resident.map(Resident::explained);
    let mut sentences = what_grows(leaks)
        .into_iter()
        .chain(young::at_end(&leaks.summary, leaks.young_heap))
        .chain(explained);
    page.prose("", STRONG, &sentences.next().unwrap_or_default());
    sentences.for_each(|sentence| page.prose("", PLAIN, &sentence));
    if let Some(found) = &leaks.lost {
        let sampling = &leaks.summary.sampling;
        let (is_any, sentence) = lost::verdict(found, sampling);
        page.prose("", if is_any { STRONG } else { PLAIN }, &sentence);
        lost::losers(found, page, sampling);
    }
    growth(leaks, page);
    if let Some(found) = &leaks.lost {
        lost::held(found, page, &leaks.summary.sampling);
    }
}

/// The verdict, and what grows beside what was sampled; what grows faster comes first.
fn what_grows(leaks: &Leaks<'_>) -> Vec<String> {
    let sampled = leaks.together.map_or(0.0, |it| it.per_hour);
    let resident = leaks.resident.as_ref();
    let is_beside_slower = resident.and_then(Resident::per_hour).is_some_and(|it| it < sampled);
    let mut sentences = verdict(leaks);
    let at = if is_beside_slower { sentences.len() } else { 0 };
    sentences.splice(at..at, resident.and_then(Resident::growing));
    sentences
}

/// What grows, and what only lives.
fn growth(leaks: &Leaks<'_>, page: &mut Page) {
    if leaks.verdict == Verdict::TooShort {
        let all: Vec<_> = leaks.callsites.all.iter().collect();
        brief(leaks, page, "What lives at the end", &all, leaks.callsites.top);
        return;
    }
    let most = leaks.callsites.top;
    entries(
        leaks,
        page,
        Kind::Leak,
        most,
        "Leaks: they grow all the time, and keep what they have",
    );
    let heading = "By steps: leaks that come seldom, or tables that double";
    entries(leaks, page, Kind::Steps, most.min(STEPS), heading);
    for (kind, heading) in [
        (Kind::Filling, "No leaks as far as can be told: they grow, but free what is as old"),
        (Kind::Plateau, "No leaks: caches and the like, which hold level"),
        (Kind::StartUp, "No leaks: built up at the start, and kept"),
        (Kind::Unknown, "Cannot be told: too few samples, or up and down"),
    ] {
        brief(leaks, page, heading, &leaks.of(kind).collect::<Vec<_>>(), BRIEF.min(most));
    }
}

/// What it comes to; the first sentence is enough for those in a hurry.
fn verdict(leaks: &Leaks<'_>) -> Vec<String> {
    let first = match leaks.verdict {
        Verdict::GrowsBeside => "None of the callsites that were sampled grows like a leak.".to_owned(),
        Verdict::NotHeard => {
            "Whether the program leaks cannot be told: it has memory that was not heard (see the note above).".to_owned()
        }
        Verdict::NothingLives => {
            let live = human::amount(&leaks.summary.live, &leaks.summary.sampling);
            format!("No leak can be seen: nothing is alive at the end ({live}).")
        }
        Verdict::TooShort => format!(
            "Too short to tell: in {}, what leaks looks like what a program builds up as it begins. Record {} or more.",
            human::duration(leaks.summary.duration),
            human::about(SHORTEST.as_secs_f64()),
        ),
        Verdict::NoLeak => format!("No callsite grows like a leak.{}", steps(leaks)),
        Verdict::Leaks => return growing(leaks),
    };
    [Some(first), before_the_exit(leaks)].into_iter().flatten().collect()
}

/// Many programs free all that they have as they exit.
fn before_the_exit(leaks: &Leaks<'_>) -> Option<String> {
    let Summary { peak, live, duration, .. } = &leaks.summary;
    let is_late =
        peak.time >= duration.mul_f64(LATE) && live.bytes.value < peak.amount.bytes.value / 2.0;
    is_late.then(|| {
        format!(
            "Most of the {} that lived {} after the start was freed by the end. If that was because the program exits, look at the time before: lifetrace slice --time 0s-{:.3}s",
            human::estimate(&peak.amount.bytes),
            human::duration(peak.time),
            peak.time.as_secs_f64(),
        )
    })
}

fn growing(leaks: &Leaks<'_>) -> Vec<String> {
    let count = leaks.leaking_callsites;
    let who = match count {
        1 => "1 callsite grows like a leak:".to_owned(),
        _ => format!("{count} callsites grow like leaks; together"),
    };
    let rate = leaks.together.map(|it| human::per_hour(it.per_hour, it.low, it.high));
    let first = format!("{who} {}.", rate.unwrap_or_default());
    let live = human::amount(&leaks.summary.live, &leaks.summary.sampling);
    let limit = leaks.limit();
    let full = leaks.full().and_then(|full| match full.hours {
        Some(0.0) => Some(format!("What lives at the end, {live}, is more than {limit}.")),
        _ => Some(format!(
            "With the {live} that live at the end, that would fill {limit} {}.",
            human::fill(&full)?
        )),
    });
    [Some(first), full].into_iter().flatten().collect()
}

fn steps(leaks: &Leaks<'_>) -> String {
    match leaks.of(Kind::Steps).count() {
        0 => String::new(),
        1 => " 1 callsite grows by steps.".to_owned(),
        count => format!(" {count} callsites grow by steps."),
    }
}

/// Callsites of one kind, in full.
fn entries(leaks: &Leaks<'_>, page: &mut Page, kind: Kind, most: usize, heading: &str) {
    let all = leaks.of(kind).count();
    if all == 0 {
        return;
    }
    page.line("");
    let shown = most.min(all);
    let count = if shown < all { format!(" ({shown} of {all})") } else { String::new() };
    page.prose("", STRONG, &format!("{heading}{count}"));
    for (rank, callsite) in (1..).zip(leaks.of(kind).take(shown)) {
        page.line("");
        entry(leaks, page, rank, callsite);
    }
}

fn entry(leaks: &Leaks<'_>, page: &mut Page, rank: usize, it: &Entry<'_>) {
    let holding = &it.holding;
    let Some(growth) = &holding.growth else { return };
    let head = format!("{rank:>3}.  {}", rate(growth));
    let live = bytes_or_none(&it.live, &leaks.summary.sampling);
    page.entry(SHARE, &head, INDENT, &format!("{live} live at end"));
    place(page, &it.place);
    let most = page.room(INDENT.len()).map_or(CHART_COLUMNS, |room| room.min(CHART_COLUMNS));
    page.line(format_args!("{INDENT}{}", chart::sparkline(&shares(&holding.heights, most))));
    let age = human::duration(micros(holding.oldest));
    let alone = alone(growth, leaks).unwrap_or_default();
    page.prose(INDENT, PLAIN, &format!("the oldest for {age}{alone}"));
    page.prose(INDENT, PLAIN, &past(holding, leaks.tells_freed));
    it.held.iter().for_each(|held| page.prose(INDENT, PLAIN, &held.text()));
    it.hottest.iter().for_each(|hottest| hottest.render(page));
}

/// When it would have filled the limit if nothing else grew.
fn alone(growth: &Growth, leaks: &Leaks<'_>) -> Option<String> {
    let (full, limit) = (growth.fills(leaks.limit_bytes as f64), leaks.limit());
    match full.hours {
        Some(0.0) => Some(format!("; alone it is more than {limit}")),
        _ => Some(format!("; alone it would fill {limit} {}", human::fill(&full)?)),
    }
}

fn rate(growth: &Growth) -> String {
    let rate = &growth.rate;
    let text = human::per_hour(rate.per_hour, rate.low, rate.high);
    if text.starts_with(|first: char| first.is_ascii_digit()) { format!("+{text}") } else { text }
}

/// What it holds, beside what it once freed.
fn past(holding: &Holding, tells_freed: bool) -> String {
    let never = human::proportion(&holding.never_freed);
    match &holding.past {
        _ if !tells_freed => "how much it allocated and freed is not told".to_owned(),
        None => "nothing of what it allocated was ever freed".to_owned(),
        Some(past) => format!(
            "{never} of the bytes it allocated were never freed; what it freed lived {} at most (99 %), and {} of what lives is older",
            human::lifetime(past.most_lived),
            human::proportion(&past.outliving),
        ),
    }
}

/// Shares of the greatest, so many at most.
fn shares(heights: &[f64], most: usize) -> Vec<f64> {
    let greatest = heights.iter().copied().fold(0.0, f64::max);
    let columns = most.min(heights.len());
    let at = |column: usize| (column * (heights.len() - 1)).div_ceil(columns.max(2) - 1);
    let share = |height: f64| if greatest > 0.0 { height / greatest } else { 0.0 };
    (0..columns).map(|column| share(heights[at(column)])).collect()
}

/// Callsites of one kind, a line each.
fn brief(leaks: &Leaks<'_>, page: &mut Page, heading: &str, all: &[&Entry<'_>], most: usize) {
    if all.is_empty() {
        return;
    }
    page.line("");
    let live = human::estimate(&sum(all));
    let count = human::count(all.len() as f64);
    let callsites = if all.len() == 1 { "callsite" } else { "callsites" };
    page.prose("", STRONG, &format!("{heading}: {live} of {count} {callsites}"));
    let mut table = Table::new([
        Column::left("live at end"),
        Column::left("growth").goes(1),
        Column::left("the oldest").goes(2),
        Column::left("never freed").goes(3),
    ])
    .with_tails("callsite")
    .with_more(all.len().saturating_sub(most));
    for callsite in all.iter().take(most) {
        table.row(row(leaks, callsite), tail(callsite));
    }
    page.table(&table);
}

fn row(leaks: &Leaks<'_>, callsite: &Entry<'_>) -> [Cell; 4] {
    let holding = &callsite.holding;
    [
        bytes_or_none(&callsite.live, &leaks.summary.sampling),
        pace(holding, leaks.is_too_short),
        human::about(holding.oldest as f64 * 1e-6),
        match leaks.tells_freed {
            true => human::percent(holding.never_freed.value),
            false => "?".to_owned(),
        },
    ]
    .map(Cell::from)
}

fn tail(callsite: &Entry<'_>) -> Tail {
    let source = brief_source(&callsite.place).unwrap_or_default();
    Tail::Place { name: function(&callsite.place), source }
}

/// How it goes with time, where there is room for two words.
fn pace(holding: &Holding, is_too_short: bool) -> String {
    match &holding.growth {
        None => "all new".to_owned(),
        Some(_) if is_too_short => "?".to_owned(),
        Some(growth) if holding.kind == Kind::Unknown && growth.rate.low > 0.0 => {
            "up and down".to_owned()
        }
        Some(growth) => rate(growth),
    }
}
