//! Pages of traces for browsers: what is read for one, and what it shows first.

use std::path::PathBuf;

use lifetrace_analysis::Metric;
use lifetrace_analysis::filter::{Filter, View};
use lifetrace_report::refuse_twins;
use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::damages::Damages;
use lifetrace_study::sought::Sought;
use lifetrace_viewer::{Bundle, Page, Question, Template};

use crate::bar;

/// What is asked of traces.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The traces.
    pub traces: Vec<PathBuf>,
    /// What the page shows first. All else is in it as well.
    pub choice: Choice,
    /// The name of a view of the page.
    pub view: Option<String>,
    /// What it is about.
    pub metric: Option<Metric>,
    /// A page has no more samples of a trace.
    pub most_samples: u64,
}

/// A page, and what was wrong with the traces.
#[derive(Debug)]
pub struct Made {
    /// To be written.
    pub page: Page<'static>,
    /// Of each trace.
    pub damages: Vec<Damages>,
    /// Frames that were asked for.
    pub sought: Sought,
}

impl Wanted {
    /// Reads the traces.
    ///
    /// # Errors
    /// If one is none, or given twice, or its samples mean nothing.
    pub fn read(self) -> anyhow::Result<Made> {
        refuse_twins(&self.traces)?;
        let mut sought = Sought::of(&self.choice);
        let (mut bundles, mut damages) = (Vec::new(), Vec::new());
        for path in &self.traces {
            let view = View { machinery: self.choice.view.machinery.clone(), ..View::default() };
            let choice = Choice { filter: Filter::default(), view };
            let study = Study::of(path, choice, bar::watch)?;
            sought.look(&study.reading);
            bundles.push(Bundle::of(&study, self.most_samples)?);
            damages.push(study.reading.damages);
        }
        let (title, question) = (title(&bundles), self.question());
        let page = Page { title, bundles, question, template: Template::built_in()? };
        Ok(Made { page, damages, sought })
    }

    fn question(&self) -> Question {
        let Choice { filter, view } = &self.choice;
        Question {
            filter: (!filter.is_empty()).then(|| filter.to_string()),
            hide: view.hide.iter().map(ToString::to_string).collect(),
            focus: view.focus.as_ref().map(ToString::to_string),
            collapse_recursion: view.collapse_recursion,
            view: self.view.clone(),
            metric: self.metric.map(|metric| metric.name().to_owned()),
        }
    }
}

/// The programs, or how many processes there are.
fn title(bundles: &[Bundle]) -> String {
    match bundles {
        [] => String::new(),
        [only] => only.program().to_owned(),
        [first, rest @ ..] if rest.iter().all(|it| it.program() == first.program()) => {
            format!("{}, {} processes", first.program(), bundles.len())
        }
        [first, rest @ ..] => format!("{} and {} more", first.program(), rest.len()),
    }
}
