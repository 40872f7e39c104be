//! Several traces as a page of text.

use std::collections::BTreeSet;
use std::time::Duration;

use lifetrace_analysis::gate::Measure;
use lifetrace_analysis::{Metric, Summary};
use lifetrace_human as human;
use lifetrace_human::calendar;
use lifetrace_import::Lack;
use lifetrace_study::question::ViewName;
use lifetrace_trace::ids::Timestamp;

use super::super::amounts::{bytes_or_none, interval, objects_beside};
use super::super::page::Page;
use super::super::table::{Cell, Column, Table, Tail};
use super::super::views::measure;
use super::{Process, Several, Sum, memory};
use crate::gates::Beside;
use crate::style::{FAINT, PLAIN, STRONG, Width};

/// So many programs are named, and so many notes told; others are counted.
const PROGRAMS: usize = 6;
const NOTES: usize = 5;
const DEEPEST: usize = 12;

impl Sum<'_> {
    /// The page, for lines of so many columns.
    pub fn text(&self, width: Width) -> String {
        let mut page = Page::new(width);
        let several = self.several;
        page.prose("", STRONG, &several.headline());
        several.about().iter().for_each(|line| page.prose("", PLAIN, line));
        several.notes().iter().for_each(|note| page.prose("", PLAIN, note));
        self.unexplained().iter().for_each(|note| page.prose("", PLAIN, &format!("Note: {note}")));
        several.chosen().iter().for_each(|line| page.prose("", STRONG, line));
        page.line("");
        if self.is_per_process {
            self.processes(&mut page);
            page.line("");
        }
        self.view.text(&mut page);
        if !several.summary.sampling.is_exact() {
            page.line("");
            page.prose("", FAINT, "±, (from–to) and < give 95 % confidence intervals");
        }
        page.text
    }

    /// How little of the memory a page about what lives explains.
    fn unexplained(&self) -> Option<String> {
        let is_about_it = self.options.view == ViewName::Summary
            || matches!(self.options.metric, Metric::Live | Metric::Peak);
        let sentence = is_about_it.then(|| self.several.unexplained()).flatten()?;
        Some(human::uncapitalized(&sentence))
    }

    /// Those that have most, and their ancestors.
    fn processes(&self, page: &mut Page) {
        let several = self.several;
        let shown = several.shown(self.options.top);
        let count = shown.iter().filter(|&&is_shown| is_shown).count();
        let all = several.processes.len();
        let what = measure(self.options.metric);
        let heading = match count == all {
            true => format!("All {all} processes, with their shares of {what}"),
            false => {
                format!("{count} of {all} processes: those with most {what}, and their parents")
            }
        };
        page.prose("", STRONG, &heading);
        page.line("");
        let family = several.family.iter().filter(|relative| shown[relative.index]);
        let family: Vec<_> =
            family.map(|relative| (&several.processes[relative.index], relative.depth)).collect();
        // Of processes that run the same program also how long after the first of all each was started.
        let first = several.start().filter(|_| are_alike(&family));
        let metric = self.options.metric;
        let goes = |of: Metric, goes: u8| if of == metric { 0 } else { goes };
        let mut columns = vec![
            Column::share("share"),
            Column::left("allocated").goes(goes(Metric::Allocated, 1)),
            Column::left("its peak").goes(goes(Metric::Peak, 3)),
            Column::left("live at end").goes(goes(Metric::Live, 2)),
            Column::right("pid"),
        ];
        columns.extend(first.map(|_| Column::right("after")));
        let mut table = Table::new(columns).with_tails("process");
        for (process, depth) in family {
            let after = first.map(|first| Cell::from(after(first, process.member.start)));
            table.row(several.row(process).into_iter().chain(after), process.tail(depth));
        }
        page.table(&table);
    }
}

impl Several {
    /// Where little of the memory is explained by what lives, or it grows beside.
    fn unexplained(&self) -> Option<String> {
        let hears_all = self.summary.sampling.hears_all();
        hears_all.then(|| memory::unexplained(&self.processes)).flatten()
    }

    /// The memory that a condition on what lives is silent about.
    pub fn beside(&self, measure: Measure) -> Option<Beside> {
        let is_about_it = matches!(measure, Measure::Live | Measure::Leaked);
        let sentence = is_about_it.then(|| self.unexplained()).flatten()?;
        let value = memory::total(&self.processes).resident as f64;
        Some(Beside { value, sentence })
    }

    /// `7 traces added up: make, sh (3), cc1 (3)`.
    fn headline(&self) -> String {
        let mut programs: Vec<(&str, usize)> = Vec::new();
        for process in &self.processes {
            let name = process.program();
            match programs.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => programs.push((name, 1)),
            }
        }
        let named = programs.iter().take(PROGRAMS).map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} ({count})"),
        });
        let others = programs.len().saturating_sub(PROGRAMS);
        let others = (others > 0).then(|| format!("{others} other programs"));
        let names: Vec<_> = named.chain(others).collect();
        let traces = match self.processes.len() {
            1 => "1 trace".to_owned(),
            count => format!("{} traces added up", human::count(count as f64)),
        };
        format!("{traces}: {}", names.join(", "))
    }

    /// When, how it was sampled, and how much.
    fn about(&self) -> Vec<String> {
        let Summary { sampling, samples, collections, .. } = &self.summary;
        let (interval, objects) = (interval(sampling), objects_beside(sampling));
        let is_even = self
            .processes
            .iter()
            .all(|process| process.summary.sampling.interval_bytes() == sampling.interval_bytes());
        let sampling = match (sampling.is_exact(), is_even) {
            (true, _) if self.origin.lacks(Lack::Sampling) => {
                "how all of them were sampled is not told".to_owned()
            }
            (true, _) if self.origin.caveat().is_some() => {
                "amounts are those of the files, some of which are not exact".to_owned()
            }
            (true, _) if self.origin.lacks(Lack::Sizes) => {
                "every allocation counted: all numbers are exact".to_owned()
            }
            (true, _) => "every allocation recorded: all numbers are exact".to_owned(),
            (false, true) => format!("one sample every {interval} on average{objects}"),
            (false, false) => {
                format!("one sample every {interval} on average{objects}, or more of them")
            }
        };
        let count = |number: u64| human::count(number as f64);
        let made = self.origin.lacks(Lack::Times);
        let samples = match made {
            true => format!("{} blocks, of which some were made of sums", count(*samples)),
            false => {
                let allocations = human::counted(*samples, "allocation", "allocations");
                format!("{allocations} sampled, {} freed", count(*collections))
            }
        };
        self.times().into_iter().chain([sampling, samples]).collect()
    }

    /// From the first start to the last end, if traces tell the time.
    fn times(&self) -> Option<String> {
        let start = self.start()?;
        let end = self.processes.iter().map(|process| process.end).max()?;
        let duration = Duration::from_micros(end.0.saturating_sub(start.0));
        Some(format!("from {}, for {}", calendar::readable(start), human::duration(duration)))
    }

    /// Of the first process, if all traces tell theirs.
    fn start(&self) -> Option<Timestamp> {
        let start = self.processes.iter().map(|process| process.member.start).min()?;
        Some(start).filter(|&start| start > Timestamp(0))
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.processes.iter().flat_map(|process| {
            process.notes.iter().map(|note| format!("Note: {}: {note}", process.file()))
        });
        let mut notes: Vec<_> = notes.collect();
        let more = notes.len().saturating_sub(NOTES);
        notes.truncate(NOTES);
        notes.extend(
            (more > 0)
                .then(|| format!("Note: {more} more such notes; lifetrace info TRACE tells them")),
        );
        notes
    }

    /// What is left out, if anything is.
    fn chosen(&self) -> Vec<String> {
        let mut sentences = self.choice.sentences();
        if !self.choice.filter.is_empty() {
            let all: u64 = self.processes.iter().map(|process| process.births).sum();
            let count = |number: u64| human::count(number as f64);
            sentences[0] += &format!(
                " (of each trace by itself; {} of {} samples)",
                count(self.summary.samples),
                count(all)
            );
        }
        sentences
    }

    /// Whether each process is among the `top` that have most, or an ancestor of one.
    fn shown(&self, top: usize) -> Vec<bool> {
        let value = |index: &usize| self.processes[*index].value.value;
        let mut greatest: Vec<_> = (0..self.processes.len()).collect();
        greatest.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let mut shown = vec![false; self.processes.len()];
        greatest.into_iter().take(top).for_each(|index| shown[index] = true);
        // Children come after their parents.
        for relative in self.family.iter().rev() {
            if let Some(parent) = relative.parent.filter(|_| shown[relative.index]) {
                shown[parent] = true;
            }
        }
        shown
    }

    fn row(&self, process: &Process) -> [Cell; 5] {
        let Summary { sampling, allocated, peak, live, .. } = &process.summary;
        let bytes = |metric, amount| match process.origin.tells(metric) {
            true => bytes_or_none(amount, sampling),
            false => "not told".to_owned(),
        };
        [
            human::percent(self.share(process)),
            bytes(Metric::Allocated, allocated),
            bytes(Metric::Peak, &peak.amount),
            bytes(Metric::Live, live),
            process.member.pid.to_string(),
        ]
        .map(Cell::from)
    }
}

/// From the first start to another one.
fn after(first: Timestamp, start: Timestamp) -> String {
    human::duration(Duration::from_micros(start.0.saturating_sub(first.0)))
}

/// Whether two run the same program.
fn are_alike(family: &[(&Process, usize)]) -> bool {
    let programs: BTreeSet<_> = family.iter().map(|(process, _)| &process.program).collect();
    programs.len() < family.len()
}

impl Process {
    /// Its title or command, to the right of its parents'.
    fn tail(&self, depth: usize) -> Tail {
        let text = self.title.as_deref().unwrap_or_else(|| self.brief());
        Tail::Text { indent: 2 * depth.min(DEEPEST), text: text.to_owned() }
    }

    fn program(&self) -> &str {
        if self.program.is_empty() { "?" } else { &self.program }
    }

    /// The command without the folder of the program.
    fn brief(&self) -> &str {
        let program = self.command.split(' ').next().unwrap_or_default();
        &self.command[program.rfind('/').map_or(0, |slash| slash + 1)..]
    }
}
