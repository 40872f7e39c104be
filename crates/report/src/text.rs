//! The report as a page of text.

use lifetrace_analysis::Metric;
use lifetrace_human as human;
use lifetrace_study::damages::Damages;
use lifetrace_study::question::ViewName;

use super::page::Page;
use super::resident::Resident;
use super::{Known, Report, Subject};
use crate::style::{FAINT, PLAIN, STRONG};

impl Report<'_> {
    /// The page.
    pub fn text(&self) -> String {
        let mut page = Page::new(self.width);
        let reading = &self.study.reading;
        let subject = Subject::new(Known::of(reading));
        page.wrapped("", STRONG, subject.command());
        subject.brief().iter().for_each(|line| page.prose("", PLAIN, line));
        for note in notes(&subject, &reading.damages).into_iter().chain(self.unexplained()) {
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

    /// How little of the memory a page about what lives explains, where the view does not say.
    fn unexplained(&self) -> Option<String> {
        let resident = self.resident()?;
        let is_told = !self.study.reading.profile.summary().sampling.hears_all();
        let sentence = resident.unexplained().filter(|_| !is_told)?;
        Some(human::uncapitalized(&sentence))
    }

    /// What lives beside what is resident, of views that are about that and do not say it themselves.
    pub(super) fn resident(&self) -> Option<Resident<'_>> {
        let metric = self.options.metric;
        match self.options.view {
            ViewName::Peak => Resident::at_peak(self.study),
            ViewName::Sizes | ViewName::Threads | ViewName::Timeline => Resident::of(self.study),
            ViewName::Hot
            | ViewName::Tree
            | ViewName::Paths
            | ViewName::Functions
            | ViewName::Classes => match metric {
                Metric::Peak => Resident::at_peak(self.study),
                Metric::Live => Resident::of(self.study),
                _ => None,
            },
            _ => None,
        }
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
