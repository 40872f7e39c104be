//! The report as a page of text.

use lifetrace_analysis::Amount;

use super::page::Page;
use super::{Report, Subject};
use crate::human;
use crate::terminal::{FAINT, PLAIN, STRONG, styled};

impl Report<'_> {
    /// The page, for a terminal of so many columns.
    pub fn text(&self, width: usize) -> String {
        let mut page = Page::new(width);
        let subject = Subject::new(self.reading.known());
        page.wrapped("", STRONG, &human::printable(subject.command()));
        subject.brief().iter().for_each(|line| page.prose("", PLAIN, line));
        page.line("");
        self.totals(&mut page);
        self.notes(&subject).iter().for_each(|note| page.prose("", PLAIN, note));
        page.line("");
        self.ranking(&mut page);
        page.text
    }

    fn totals(&self, page: &mut Page) {
        let summary = &self.summary;
        let peak_time = format!("{} after the start", human::duration(summary.peak.time));
        let mut rows = vec![self.row("allocated", &summary.allocated, "")];
        if summary.promotions > 0 {
            rows.push(self.row("promoted", &summary.promoted, ""));
        }
        rows.push(self.row("peak", &summary.peak.amount, &peak_time));
        rows.push(self.row("live at end", &summary.live, ""));
        page.table(["", "bytes", "objects", ""].map(str::to_owned), &rows);
        if !summary.sampling.is_exact() {
            page.line(styled(FAINT, "± is the 95 % confidence interval"));
        }
    }

    fn row(&self, name: &str, amount: &Amount, note: &str) -> [String; 4] {
        let note = if amount.samples > 0 { note } else { "" };
        [name.to_owned(), self.bytes(amount), self.objects(amount), note.to_owned()]
    }

    fn notes(&self, subject: &Subject<'_>) -> Vec<String> {
        let damages = &self.reading.damages;
        let damage = damages.listed.first().map(|first| match (first.stretch(), damages.count) {
            (None, _) => {
                format!("the trace is damaged, this is what came before: {}", first.reason())
            }
            (Some(_), 1) => {
                format!("the trace is damaged, this is what is left: {}", first.reason())
            }
            (Some(_), count) => format!(
                "the trace is damaged, this is what is left; {} stretches are lost, the first: {}",
                human::count(count as f64),
                first.reason()
            ),
        });
        let unfinished = damages.unfinished.as_ref();
        let unfinished =
            unfinished.map(|_| "the trace was not finished: it may end early".to_owned());
        subject
            .oddities()
            .chain(damage)
            .chain(unfinished)
            .map(|note| format!("Note: {note}"))
            .collect()
    }

    fn bytes(&self, amount: &Amount) -> String {
        if self.summary.sampling.is_exact() {
            let (all_digits, short) =
                (human::exact_bytes(amount.bytes.value), human::bytes(amount.bytes.value));
            return if all_digits == short { short } else { format!("{all_digits} ({short})") };
        }
        human::amount(amount, &self.summary.sampling)
    }

    fn objects(&self, amount: &Amount) -> String {
        if amount.samples == 0 && !self.summary.sampling.is_exact() {
            return String::new();
        }
        human::objects(&amount.objects)
    }
}
