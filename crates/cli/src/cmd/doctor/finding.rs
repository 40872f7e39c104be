//! What a check has found.

use lifetrace_report::Page;
use lifetrace_report::style::{self, styled};
use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it should be.
    Works,
    /// Something is missing that one may do without.
    Limited,
    /// It cannot be done here.
    Fails,
    /// Neither good nor bad.
    Note,
}

/// One answer.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub subject: &'static str,
    pub state: State,
    /// What was found.
    pub told: String,
    /// What can be done.
    pub remedy: Option<String>,
    /// Whether Lifetrace is of no use without it.
    #[serde(skip)]
    pub is_needed: bool,
}

/// All answers, as JSON has them.
#[derive(Serialize)]
pub struct Document<'a> {
    pub findings: &'a [Finding],
}

impl Finding {
    pub fn new(subject: &'static str, state: State, told: impl Into<String>) -> Self {
        Self { subject, state, told: told.into(), remedy: None, is_needed: false }
    }

    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// One without which Lifetrace is of no use.
    pub fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }

    /// Puts it on a page.
    pub fn show(&self, page: &mut Page) {
        let (mark, style) = match self.state {
            State::Works => ("works", style::NAME),
            State::Limited => ("limited", style::SHARE),
            State::Fails => ("fails", style::STRONG),
            State::Note => ("", style::PLAIN),
        };
        page.line(format_args!("{}  {}", styled(style, format_args!("{mark:<7}")), self.subject));
        page.prose("         ", style::PLAIN, &self.told);
        if let Some(remedy) = &self.remedy {
            page.prose("         > ", style::PLAIN, remedy);
        }
    }
}
