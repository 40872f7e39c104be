//! Names for conjunctions of ordinary terms.

use super::moment::{Anchor, Moment};
use super::quantity::{Micros, Share, Span};
use super::term::{Claim, Term};
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
}

const SECOND: u64 = 1_000_000;
const CHURN: Micros = Micros(SECOND);
const LONG: Share = Share::percent(25);

impl Preset {
    /// All that there are.
    pub const ALL: [Self; 6] =
        [Self::Leaks, Self::Temporary, Self::LongLived, Self::Churn, Self::Premature, Self::Peak];

    /// As filters write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaks => "leaks",
            Self::Temporary => "temporary",
            Self::LongLived => "long-lived",
            Self::Churn => "churn",
            Self::Premature => "premature",
            Self::Peak => "peak",
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
        }
    }

    /// The one that is called so, in any case.
    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name().eq_ignore_ascii_case(word))
    }
}
