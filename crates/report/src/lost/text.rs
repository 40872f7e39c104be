//! What is lost, as parts of pages.

use lifetrace_analysis::Sampling;
use lifetrace_analysis::lost::{Fate, Holder};
use lifetrace_human as human;

use super::Lost;
use crate::amounts::bytes_or_none;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::style::{PLAIN, SHARE, STRONG};
use crate::table::{Cell, Column, Table, Tail};
use crate::views::callsites::{INDENT, place};

/// Callsites that are told in a line each.
const BRIEF: usize = 5;

/// How much is lost, in a sentence; `true` if it is anything.
pub fn verdict(lost: &Lost<'_>, sampling: &Sampling) -> (bool, String) {
    let read = human::bytes(lost.looked.bytes.0 as f64);
    let stood = human::duration(std::time::Duration::from_micros(lost.looked.micros));
    let look = format!("{read} of memory were looked through, for {stood}");
    if lost.found.lost.samples == 0 {
        return (false, format!("Nothing is lost: something points to each block ({look})."));
    }
    let amount = bytes_or_none(&lost.found.lost, sampling);
    let share = human::proportion(&lost.found.share);
    (
        true,
        format!(
            "{amount} are lost, {share} of what lives: nothing points to it any more ({look})."
        ),
    )
}

/// That something is lost, for those who did not ask; nothing if nothing is.
pub fn of_summary(lost: &Lost<'_>, sampling: &Sampling) -> Option<String> {
    let first = lost.losers().next()?;
    let amount = bytes_or_none(&lost.found.lost, sampling);
    let part = first.lost.bytes.value / lost.found.lost.bytes.value;
    let place = lost.place(first);
    let source = brief_source(&place).map(|source| format!(" ({source})")).unwrap_or_default();
    let share = human::percent(part);
    Some(format!(
        "Lost: {amount}, {share} of it from {}{source}: nothing points to it any more.",
        function(&place)
    ))
}

/// Who has lost blocks, the first ones in full.
pub fn losers(lost: &Lost<'_>, page: &mut Page, sampling: &Sampling) {
    let all = lost.losers().count();
    if all == 0 {
        return;
    }
    let shown = all.min(lost.top);
    let count = if shown < all { format!(" ({shown} of {all})") } else { String::new() };
    page.line("");
    page.prose("", STRONG, &format!("Lost: nothing points to these blocks any more{count}"));
    for (rank, (fate, hottest)) in (1..).zip(lost.losers().zip(&lost.hottest)) {
        page.line("");
        let amount = bytes_or_none(&fate.lost, sampling);
        page.entry(SHARE, &format!("{rank:>3}.  {amount}"), INDENT, &share(fate));
        place(page, &lost.place(fate));
        with_others(fate, page, sampling);
        hottest.iter().for_each(|hottest| hottest.render(page));
    }
}

fn share(fate: &Fate) -> String {
    format!("{} of what lives from here is lost", human::proportion(&fate.share))
}

fn with_others(fate: &Fate, page: &mut Page, sampling: &Sampling) {
    if fate.with_others.samples > 0 {
        let amount = bytes_or_none(&fate.with_others, sampling);
        page.prose(
            INDENT,
            PLAIN,
            &format!("{amount} of it would be found from other blocks that are lost"),
        );
    }
}

/// What points to what is not lost, a line for each callsite.
pub fn held(lost: &Lost<'_>, page: &mut Page, sampling: &Sampling) {
    let holdings = lost.holdings();
    let shown = BRIEF.min(lost.top);
    if holdings.is_empty() || shown == 0 {
        return;
    }
    page.line("");
    page.prose("", STRONG, "Held: what points to the rest");
    let mut table = Table::new([Column::left("held"), Column::left("by").goes(1)])
        .with_tails("callsite")
        .with_more(holdings.len().saturating_sub(shown));
    for (fate, amount, holder) in holdings.iter().take(shown) {
        let place = lost.place(fate);
        let source = brief_source(&place).unwrap_or_default();
        let tail = Tail::Place { name: function(&place), source };
        let cells = [bytes_or_none(amount, sampling), by(lost, fate, holder)];
        table.row(cells.map(Cell::from), tail);
    }
    page.table(&table);
}

fn by(lost: &Lost<'_>, fate: &Fate, holder: &Holder) -> String {
    let name = lost.name(holder);
    match fate.held.len() - 1 {
        0 => name,
        more => format!("{name}, and {more} more"),
    }
}
