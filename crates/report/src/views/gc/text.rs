//! Garbage collections as a page.

use std::time::Duration;

use lifetrace_analysis::Amount;
use lifetrace_analysis::pace::{Figure, Pace, Range, Spread};
use lifetrace_human as human;
use lifetrace_trace::fact::Generation;

use super::{Blocks, Cycles, Gc, MARGIN, Site, name};
use crate::amounts::{Number, bytes_or_none};
use crate::chart;
use crate::columns::columns;
use crate::page::Page;
use crate::place::{function, source};
use crate::style::{FAINT, NAME, PLAIN, SHARE, STRONG, styled};
use crate::table::{Cell, Column, Table, Tail};

/// Before the lines of a callsite.
const INDENT: &str = "      ";

pub fn write(gc: &Gc<'_>, page: &mut Page) {
    gc.collections(page);
    gc.exact(page);
    gc.blocks(page);
}

impl Gc<'_> {
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
