//! Changes as a page of text.

use lifetrace_analysis::diff::{Change, TreeChange};
use lifetrace_analysis::statistics::Difference;
use lifetrace_analysis::{Estimate, Metric};
use lifetrace_human as human;
use lifetrace_import::Lack;

use super::{By, Diff, Rows, Side};
use crate::style::{FAINT, NAME, PLAIN, SHARE, STRONG, Width};
use crate::{Branching, Cell, Column, Page, Table, Tail, measure, measured};

/// So many runs of a side tell how much they differ by themselves.
const ENOUGH_RUNS: usize = 3;

/// Sides are alike whose samples lie at most so many times as far apart as the other's.
const ALIKE: f64 = 4.0;

/// Before what belongs to a callsite.
const INDENT: &str = "      ";

impl Diff {
    /// The page, for lines of so many columns.
    pub fn text(&self, width: Width) -> String {
        let mut page = Page::new(width);
        self.side(&mut page, "before", &self.before);
        self.side(&mut page, "after", &self.after);
        for sentence in self.options.choice.sentences() {
            page.prose("", STRONG, &sentence);
        }
        page.line("");
        self.totals(&mut page);
        page.line("");
        match &self.rows {
            Rows::Places(changes) => self.places(&mut page, changes),
            Rows::Tree(changes) => self.tree(&mut page, changes),
        }
        self.foot(&mut page);
        page.text
    }

    fn side(&self, page: &mut Page, name: &str, side: &Side) {
        for ((path, summary), origin) in side.paths.iter().zip(&side.summaries).zip(&side.origins) {
            let samples = human::count(summary.samples as f64);
            let duration = human::duration(summary.duration);
            let counted = match origin.lacks(Lack::Times) {
                true => format!("{samples} blocks made of sums"),
                false => format!("{samples} samples in {duration}"),
            };
            let text = format!("{name:<6}  {}, {counted}", path.display());
            page.prose("", PLAIN, &text);
            origin.note().iter().for_each(|note| page.prose("        ", PLAIN, note));
        }
    }

    fn totals(&self, page: &mut Page) {
        let mut table = Table::new([
            Column::left("").label(),
            Column::right("before").goes(2),
            Column::right("after").goes(1),
            Column::left("change"),
            Column::share("change").continues(),
            Column::left("change").continues(),
        ]);
        for (metric, difference) in &self.totals {
            let cells = [
                short_name(*metric).to_owned(),
                value(*metric, difference.before),
                value(*metric, difference.after),
                change(*metric, difference),
                relative(difference),
                self.judgement(difference, difference.p_value()).to_owned(),
            ];
            table.row(cells.map(Cell::from), Tail::None);
        }
        page.table(&table);
    }

    fn places(&self, page: &mut Page, changes: &[Change]) {
        let changed: Vec<_> = changes.iter().filter(|it| it.difference.change() != 0.0).collect();
        let relevant: Vec<_> = changed
            .iter()
            .filter(|it| self.options.all || self.is_significant(it.p_value))
            .collect();
        let what = if self.options.by == By::Function { "functions" } else { "callsites" };
        let shown = self.options.top.min(relevant.len());
        let which = if self.options.all { "changed" } else { "changed significantly" };
        let heading = format!(
            "{} of {} {what} {which} by {}{}",
            relevant.len(),
            changes.len(),
            measure(self.options.metric),
            if shown < relevant.len() { format!("; the first {shown}:") } else { String::new() },
        );
        page.prose("", STRONG, &heading);
        for change in relevant.iter().take(shown) {
            page.line("");
            self.change_of_place(page, change);
        }
        let hidden = changed.len() - relevant.len();
        if hidden > 0 {
            page.line("");
            let text = format!("{hidden} other changes may be noise; --all shows them");
            page.prose("", FAINT, &text);
        }
    }

    fn change_of_place(&self, page: &mut Page, it: &Change) {
        let metric = self.options.metric;
        let difference = &it.difference;
        let parts = [
            relative(difference),
            if self.is_significant(it.p_value) {
                String::new()
            } else {
                "(may be noise)".to_owned()
            },
        ];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let head = format!("  {}", change(metric, difference));
        page.entry(SHARE, &head, INDENT, &parts.join("  "));
        page.wrapped(INDENT, NAME, &it.function);
        let source = match (it.file.as_str(), it.line) {
            ("", _) => None,
            (file, 0) => Some(file.to_owned()),
            (file, line) => Some(format!("{file}:{line}")),
        };
        if let Some(source) = source {
            page.wrapped(INDENT, FAINT, &source);
        }
        let text = format!(
            "{} before, {} after",
            value(metric, difference.before),
            value(metric, difference.after)
        );
        page.prose(INDENT, PLAIN, &text);
    }

    fn tree(&self, page: &mut Page, changes: &[TreeChange]) {
        let what = measure(self.options.metric);
        page.prose("", STRONG, &format!("Call tree by the change of {what}"));
        page.line("");
        let rows: Vec<_> = changes.iter().map(|it| self.branching(it)).collect();
        page.branches(&rows);
    }

    fn branching(&self, it: &TreeChange) -> Branching {
        let is_sure = self.is_significant(it.p_value);
        Branching {
            amount: change(self.options.metric, &it.difference),
            amount_style: if is_sure { SHARE } else { FAINT },
            level: it.depth,
            name: it.function.clone(),
            source: String::new(),
            style: if is_sure { PLAIN } else { FAINT },
        }
    }

    fn foot(&self, page: &mut Page) {
        let runs = [self.before.paths.len(), self.after.paths.len()];
        let level = human::percent(self.options.level);
        page.line("");
        let text = format!(
            "± is the 95 % confidence interval. Significant: at most {level} of what is called so is noise, on average."
        );
        page.prose("", FAINT, &text);
        let is_estimated = self.totals.iter().any(|(_, it)| it.interval95() > 0.0);
        let of_runs = match runs {
            [1, 1] if is_estimated => {
                "With one run a side, noise is that of sampling only: how much runs differ by themselves is not known. More runs (--before A B C --after D E F) tell it."
            }
            [1, 1] => "",
            [before, after] if before.min(after) >= ENOUGH_RUNS => "",
            _ => {
                "How much runs differ by themselves is known from so few runs but roughly, so that intervals are wide: three of each side or more say more."
            }
        };
        let sentences = [of_runs, self.of_densities()];
        sentences.iter().filter(|it| !it.is_empty()).for_each(|it| page.prose("", FAINT, it));
    }

    /// What holds of times where one side was sampled much more densely.
    fn of_densities(&self) -> &'static str {
        let intervals = |side: &Side| {
            side.summaries.iter().map(|it| it.sampling.interval_bytes()).reduce(f64::max)
        };
        let [before, after] =
            [&self.before, &self.after].map(|side| intervals(side).unwrap_or(0.0));
        let ratio = before.max(after) / before.min(after).max(1.0);
        let tells_times = self.totals.iter().any(|(metric, _)| *metric == Metric::ByteSeconds);
        match tells_times && ratio > ALIKE {
            true => {
                "The sides were sampled at densities that differ much: a program that is recorded more densely takes more time, so that byte-seconds are not to be compared."
            }
            false => "",
        }
    }

    fn judgement(&self, difference: &Difference, p_value: f64) -> &'static str {
        match difference.change() {
            0.0 => "equal",
            _ if self.is_significant(p_value) => "significant",
            _ => "may be noise",
        }
    }

    fn is_significant(&self, p_value: f64) -> bool {
        p_value <= self.options.level
    }
}

fn short_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Allocated => "allocated",
        Metric::Live => "live at end",
        Metric::Peak => "at the peak",
        Metric::Objects => "objects",
        Metric::ByteSeconds => "byte-seconds",
    }
}

/// Three digits of it: the interval is that of the change.
fn value(metric: Metric, value: f64) -> String {
    let step = if value > 0.0 { 10f64.powf(value.log10().floor() - 2.0).max(1.0) } else { 1.0 };
    let value = (value / step).round() * step;
    measured(metric, &Estimate { value, variance: 0.0, uncertain: 0.0 })
}

/// `+38 ± 13 MiB`; without a sign where it may as well be the other one: `< 61 MiB`.
fn change(metric: Metric, difference: &Difference) -> String {
    let change = difference.change();
    let variance = (difference.interval95() / Z95).powi(2);
    let text = measured(metric, &Estimate { value: change.abs(), variance, uncertain: 0.0 });
    match (text.starts_with('<'), change < 0.0) {
        (true, _) => text,
        (false, true) => format!("-{text}"),
        (false, false) => format!("+{text}"),
    }
}

/// 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

fn relative(difference: &Difference) -> String {
    match difference.relative() {
        Some(relative) => format!("{:+.1} %", 100.0 * relative),
        None if difference.after > 0.0 => "new".to_owned(),
        None => String::new(),
    }
}
