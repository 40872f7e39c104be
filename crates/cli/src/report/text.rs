//! The report as a page of text.

use super::page::Page;
use super::{Report, Subject};
use crate::damages::Damages;
use crate::human;
use crate::terminal::{FAINT, PLAIN, STRONG};

impl Report<'_> {
    /// The page.
    pub fn text(&self) -> String {
        let mut page = Page::new(self.width);
        let reading = &self.study.reading;
        let subject = Subject::new(reading.known());
        page.wrapped("", STRONG, subject.command());
        subject.brief().iter().for_each(|line| page.prose("", PLAIN, line));
        for note in notes(&subject, &reading.damages) {
            page.prose("", PLAIN, &format!("Note: {note}"));
        }
        self.chosen().iter().for_each(|line| page.prose("", STRONG, line));
        page.line("");
        self.view.text(&mut page);
        if !reading.profile.summary().sampling.is_exact() {
            page.line("");
            page.prose("", FAINT, "±, (from–to) and < give 95 % confidence intervals");
        }
        page.text
    }

    /// What is left out, if anything is.
    fn chosen(&self) -> Vec<String> {
        let mut sentences = self.study.choice.sentences();
        if !self.study.choice.filter.is_empty() {
            let replay = self.study.reading.profile.replay();
            let [some, all] = [replay.counts().samples, replay.births()];
            let count = |number: u64| human::count(number as f64);
            sentences[0] += &format!(" ({} of {} samples)", count(some), count(all));
        }
        sentences
    }
}

/// What a reader must know of a trace before trusting its numbers.
pub fn notes(subject: &Subject<'_>, damages: &Damages) -> Vec<String> {
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
    let unfinished = unfinished.map(|_| "the trace was not finished: it may end early".to_owned());
    subject.oddities().chain(damage).chain(unfinished).collect()
}
