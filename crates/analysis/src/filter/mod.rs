//! Filters: which blocks, and which frames of their backtraces, a question is about.
//!
//! ```text
//!   text ─→ Filter ─┬─ resolve(Bounds) ─→ LifeFilter    when, how large, how long, who
//!                   ├─ frames() ────────→ FrameFilter   where
//!                   └─ matches_labels()                 which traces
//! ```
//!
//! A filter is a conjunction of [`Term`]s. `docs/filters.md` is the grammar; the same text is typed on
//! the command line and stands in the viewer's address. What a filter is written as ([`Display`])
//! is read as the same filter.
//!
//! Times are half-open: a block lives from its birth on, up to and without its death, and a moment
//! belongs to what comes after it. A trace goes from its start to just after its last event, so that
//! every event is between `start` and `end`.
//!
//! [`View`] says what is done to the frames of the blocks that were chosen.
//!
//! [`Display`]: std::fmt::Display

mod date;
mod frames;
mod life;
mod moment;
mod near;
mod parse;
mod parse_names;
mod parse_ranges;
mod presets;
mod term;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod window;

use std::fmt;
use std::str::FromStr;

use crate::grammar::{error, quantity, scan, suggest};
use crate::machinery::Machinery;

pub use date::Date;
pub use error::{Mistake, ParseError};
pub use frames::{FrameFilter, FrameState, Line};
pub use life::{Life, LifeFilter};
pub use moment::{Anchor, Bounds, ClockReading, Moment, Offset, Unknown};
pub use presets::Preset;
pub use quantity::{ByteSize, Micros, Share, Span};
pub use term::{
    Claim, FrameClaim, FramePattern, KnownSource, LabelClaim, SourceClaim, Term, ThreadClaim,
};
pub use text::{Pattern, Text};
pub(crate) use view::Function;
pub use view::{Focus, View};
pub use window::{Limits, When};

/// The most terms that a filter may have.
pub const MAX_TERMS: usize = 64;

/// A conjunction of terms; without any, all that there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    terms: Vec<Term>,
    machinery: Machinery,
}

/// What must be known before a filter can be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether and when a block dies.
    pub death: bool,
    /// Whether and when a block is promoted.
    pub promotion: bool,
    /// When the trace ends.
    pub end: bool,
    /// When most bytes live.
    pub peak: bool,
    /// What the wall clock was set to.
    pub clock: bool,
    /// The frames of a block's backtrace.
    pub frames: bool,
    /// What the block's thread is called.
    pub thread_name: bool,
    /// The trace's labels.
    pub labels: bool,
}

impl Filter {
    /// Reads several texts, all of which must hold.
    ///
    /// # Errors
    /// At the first text that is none, or that has the first term too many.
    pub fn parse_all<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self, ParseError> {
        let mut terms = Vec::new();
        texts.into_iter().try_for_each(|text| parse::terms(text.as_ref(), &mut terms))?;
        Ok(Self { terms, machinery: Machinery::default() })
    }

    /// This filter, where other frames are no callsites.
    #[must_use]
    pub fn with_machinery(self, machinery: Machinery) -> Self {
        Self { machinery, ..self }
    }

    /// Which frames are no callsites.
    pub fn machinery(&self) -> &Machinery {
        &self.machinery
    }

    /// The terms, in the order in which they were written.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether it is about blocks in an old heap: then their lives begin when they come to be there.
    pub fn is_in_old_heap(&self) -> bool {
        life::are_in_old_heap(&self.terms)
    }

    /// The frames that it names, wanted or not.
    pub fn frame_patterns(&self) -> impl Iterator<Item = &FramePattern> {
        self.terms.iter().filter_map(|term| match &term.claim {
            Claim::Frame(claim) => Some(&claim.pattern),
            _ => None,
        })
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// What must be known before it can be judged.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        self.terms.iter().for_each(|term| needs.add(&term.claim));
        needs
    }

    /// Whether a block can only be judged when more of the trace is known than its birth.
    pub fn looks_ahead(&self) -> bool {
        let Needs { death, promotion, end, peak, clock, .. } = self.needs();
        death || promotion || end || peak || clock
    }

    /// What it says of blocks' lives in a trace with these bounds.
    ///
    /// # Errors
    /// If they do not tell what [`needs`](Self::needs) asks for.
    pub fn resolve(&self, bounds: &Bounds<'_>) -> Result<LifeFilter, Unknown> {
        LifeFilter::new(&self.terms, bounds)
    }

    /// What it says of backtraces.
    pub fn frames(&self) -> FrameFilter {
        FrameFilter::new(&self.terms)
    }

    /// Whether all that it says of a trace's labels holds: keys and their values.
    pub fn matches_labels<'a>(
        &self,
        labels: impl IntoIterator<Item = (&'a str, &'a str), IntoIter: Clone>,
    ) -> bool {
        let labels = labels.into_iter();
        self.terms.iter().all(|term| match &term.claim {
            Claim::Label(claim) => labels.clone().any(|label| claim.matches(label)) != term.negated,
            _ => true,
        })
    }
}

impl FromStr for Filter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse_all([text])
    }
}

impl From<Preset> for Filter {
    fn from(preset: Preset) -> Self {
        Self { terms: vec![Claim::Preset(preset).into()], ..Self::default() }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl Needs {
    fn add(&mut self, claim: &Claim) {
        claim.moments().for_each(|moment| self.add_moment(moment));
        match claim {
            Claim::Preset(preset) => preset.terms().iter().for_each(|term| self.add(&term.claim)),
            Claim::Freed(_) | Claim::Alive(_) => self.death = true,
            Claim::Promoted(_) | Claim::InOldHeap => self.promotion = true,
            Claim::Lifetime(limits) => {
                self.death = true;
                self.end |= limits.needs_end();
            }
            Claim::Thread(thread) => self.thread_name |= matches!(thread, ThreadClaim::Name(_)),
            Claim::Frame(_) => self.frames = true,
            Claim::Label(_) => self.labels = true,
            Claim::Allocated(_) | Claim::Size(_) | Claim::Source(_) => {}
        }
    }

    fn add_moment(&mut self, moment: Moment) {
        match moment {
            Moment::From(Anchor::Start, _) => {}
            Moment::From(Anchor::Peak, _) => self.peak = true,
            Moment::From(Anchor::End, _) | Moment::Share(_) => self.end = true,
            Moment::Date(_) => self.clock = true,
        }
    }
}

impl Limits<Span> {
    /// A share is one of the whole; and a block that is never freed lives up to the end, at least.
    fn needs_end(&self) -> bool {
        let is_open = matches!(self, Self::Above(_) | Self::AtLeast(_));
        is_open || self.values().any(|span| matches!(span, Span::Share(_)))
    }
}

impl LabelClaim {
    fn matches(&self, (key, value): (&str, &str)) -> bool {
        self.key == key && self.value.as_ref().is_none_or(|claim| claim.matches(value))
    }
}
