//! What a filter says of backtraces, decided frame by frame.
//!
//! A backtrace is judged from its outermost frame inwards. All that matters of the frames so far is a
//! [`FrameState`], so in a prefix tree of backtraces each node costs one [`FrameFilter::enter`], however
//! deep it is.

use lifetrace_trace::event::{Location, class_of};

use super::term::{Claim, FrameClaim, FramePattern, Term};
use super::text::Text;
use crate::names::{NamedFrame, Place, Reason};
use crate::plain_name::plain_name;

/// One line of a backtrace, as filters see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where.
    pub frame: NamedFrame<'a>,
    /// Path of the object file that it is in; none where the trace does not tell.
    pub module: Option<&'a str>,
}

impl<'a> Line<'a> {
    pub(super) fn location(&self) -> Option<&'a Location> {
        match self.frame.place {
            Place::Known(location) => Some(location),
            Place::Unknown(_) | Place::NoBacktrace => None,
        }
    }
}

impl FramePattern {
    /// Whether a frame is like this.
    pub fn matches(&self, line: &Line<'_>) -> bool {
        match (line.location(), self) {
            (Some(location), _) => self.matches_place(location, line.module),
            (None, Self::Module(path)) => line.module.is_some_and(|it| path.matches_path(it)),
            (None, Self::Function(_) | Self::File(..) | Self::Class(_)) => false,
        }
    }

    /// Whether a place, in the object file with this path, is like this.
    pub(crate) fn matches_place(&self, at: &Location, module: Option<&str>) -> bool {
        match self {
            Self::Function(name) => is_called(&at.defname, name),
            Self::File(path, number) => {
                number.is_none_or(|number| number == at.line) && path.matches_path(&at.filename)
            }
            Self::Module(path) => {
                // Where there is no line, the file is the object file.
                let object = (at.line == 0).then_some(&*at.filename);
                module.or(object).is_some_and(|module| path.matches_path(module))
            }
            Self::Class(name) => class_of(at).is_some_and(|class| name.matches(class)),
        }
    }
}

/// A function goes by its whole name, and by its path without generics and parameters.
fn is_called(function: &str, name: &Text) -> bool {
    name.matches(function) || name.matches(&plain_name(function))
}

/// What a filter says of backtraces. At most [`MAX_TERMS`](super::MAX_TERMS) terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameFilter {
    claims: Vec<FrameClaim>,
    /// A bit for each claim that must not hold.
    negated: u64,
    /// A bit for each claim about the callsite.
    innermost: u64,
}

/// What matters of the outer frames of a backtrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameState {
    /// A bit for each claim that some frame fulfils.
    anywhere: u64,
    /// A bit for each claim that the callsite so far fulfils.
    callsite: u64,
    reason: Reason,
}

impl FrameFilter {
    pub(super) fn new(terms: &[Term]) -> Self {
        let mut filter = Self::default();
        for term in terms {
            let claim = match &term.claim {
                Claim::Frame(claim) => claim.clone(),
                Claim::Preset(preset) => match preset.frame() {
                    Some(claim) => claim,
                    None => continue,
                },
                _ => continue,
            };
            let bit = 1 << filter.claims.len();
            filter.negated |= if term.negated { bit } else { 0 };
            filter.innermost |= if claim.innermost { bit } else { 0 };
            filter.claims.push(claim);
        }
        filter
    }

    /// Whether it says nothing of backtraces.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Goes on by one line inwards. It begins with the default state.
    pub fn enter(&self, outer: FrameState, line: &Line<'_>) -> FrameState {
        let bits = self.fulfilled(line);
        let mut state = FrameState { anywhere: outer.anywhere | bits, ..outer };
        if self.innermost != 0 && state.reason.is_now(&line.frame) {
            state.callsite = bits;
        }
        state
    }

    /// Whether a backtrace is chosen whose frames led to this state.
    pub fn accepts(&self, state: FrameState) -> bool {
        let holds = (state.callsite & self.innermost) | (state.anywhere & !self.innermost);
        holds ^ self.negated == self.all()
    }

    /// Whether a backtrace is chosen, outermost line first.
    pub fn matches<'a>(&self, lines: impl IntoIterator<Item = Line<'a>>) -> bool {
        let begin = FrameState::default();
        self.accepts(lines.into_iter().fold(begin, |state, line| self.enter(state, &line)))
    }

    fn fulfilled(&self, line: &Line<'_>) -> u64 {
        let bit = |(at, claim): (usize, &FrameClaim)| u64::from(claim.pattern.matches(line)) << at;
        self.claims.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
    }

    fn all(&self) -> u64 {
        1_u64.checked_shl(self.claims.len() as u32).map_or(u64::MAX, |next| next - 1)
    }
}
