//! What was alive when the program had most.

use lifetrace_analysis::Metric;
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_study::Study;
use serde::Serialize;

use super::Render;
use super::callsites::Ranking;
use crate::Options;
use crate::heap;
use crate::page::Page;
use crate::style::PLAIN;
use crate::young;

/// The peak, and whose it is: the document of the view.
#[derive(Debug, Serialize)]
pub struct Peak<'a> {
    #[serde(skip)]
    sentence: String,
    #[serde(skip)]
    young: Option<String>,
    #[serde(flatten)]
    ranking: Ranking<'a>,
}

impl<'a> Peak<'a> {
    /// Finds the answer in a trace.
    pub fn new(study: &'a Study, options: &Options) -> Self {
        let summary = study.reading.profile.summary();
        let peak = &summary.peak;
        let bytes = human::amount(&peak.amount, &summary.sampling);
        let when = match study.reading.origin().lacks(Lack::Times) {
            true => String::new(),
            false => format!(" {} after the start", human::duration(peak.time)),
        };
        let objects = match study.reading.origin().lacks(Lack::Objects) {
            true => String::new(),
            false => {
                format!(" in {} objects", human::number_of_all(&peak.amount, &summary.sampling))
            }
        };
        let sentence = format!(
            "Most was alive{when}: {bytes}{objects}.{}",
            if summary.sampling.is_exact() {
                ""
            } else {
                " The highest of many estimates is more likely too high than too low."
            },
        );
        Self {
            sentence,
            young: young::at_peak(&summary, heap::young(study)),
            ranking: Ranking::new(study, options, Metric::Peak),
        }
    }
}

impl Render for Peak<'_> {
    fn render(&self, page: &mut Page) {
        page.prose("", PLAIN, &self.sentence);
        self.young.iter().for_each(|text| page.prose("", PLAIN, text));
        page.line("");
        self.ranking.render(page);
    }
}
