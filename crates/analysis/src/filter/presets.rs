//! Names for conjunctions of ordinary terms.

use lifetrace_trace::event::DESERIALISED_NAME;

use super::moment::{Anchor, Moment};
use super::quantity::{Micros, Share, Span};
use super::term::{Claim, FrameClaim, FramePattern, Term};
use super::text::Text;
use super::window::{Limits, When};

/// A name for a conjunction of ordinary terms. (`promoted` is such a term itself.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// What was never freed.
    Leaks,
    /// What an arena, the stack or a reused buffer could do.
    Temporary,
    /// What stays for much of the run.
    LongLived,
    /// What comes and goes.
    Churn,
    /// What a larger young heap would have spared the old one.
    Premature,
    /// What lived when most did.
    Peak,
    /// What was built from bytes that were read.
    Deserialised,
}

const SECOND: u64 = 1_000_000;
const CHURN: Micros = Micros(SECOND);
const LONG: Share = Share::percent(25);

impl Preset {
    /// All that there are.
    pub const ALL: [Self; 7] = [
        Self::Leaks,
        Self::Temporary,
        Self::LongLived,
        Self::Churn,
        Self::Premature,
        Self::Peak,
        Self::Deserialised,
    ];

    /// As filters write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaks => "leaks",
            Self::Temporary => "temporary",
            Self::LongLived => "long-lived",
            Self::Churn => "churn",
            Self::Premature => "premature",
            Self::Peak => "peak",
            Self::Deserialised => "deserialised",
        }
    }

    /// What it stands for.
    pub fn terms(self) -> Vec<Term> {
        let shorter = |limit| Claim::Lifetime(Limits::Below(Span::Time(limit)));
        match self {
            Self::Leaks => vec![Term { negated: true, claim: Claim::Freed(None) }],
            Self::Temporary => vec![shorter(Micros::TEMPORARY).into()],
            Self::LongLived => {
                vec![Claim::Lifetime(Limits::AtLeast(Span::Share(LONG))).into()]
            }
            Self::Churn => vec![shorter(CHURN).into()],
            Self::Premature => vec![Claim::Promoted(None).into(), shorter(CHURN).into()],
            Self::Peak => vec![Claim::Alive(When::At(Moment::at(Anchor::Peak))).into()],
            Self::Deserialised => {
                self.frame().map(|it| Claim::Frame(it).into()).into_iter().collect()
            }
        }
    }

    /// Of one about backtraces: all that it says.
    pub(super) fn frame(self) -> Option<FrameClaim> {
        let pattern = FramePattern::Function(Text::Exact(DESERIALISED_NAME.into()));
        (self == Self::Deserialised).then_some(FrameClaim { innermost: false, pattern })
    }

    /// The one that is called so, in any case.
    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name().eq_ignore_ascii_case(word))
    }
}
