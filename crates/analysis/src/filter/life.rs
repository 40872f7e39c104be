//! What a filter says of a block's life, once it is known what its moments mean in a trace.
//!
//! Judging a block takes a few comparisons for each term, and no memory.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{Bytes, ThreadId, Timestamp};

use super::moment::{Bounds, Unknown};
use super::quantity::Span;
use super::term::{Claim, SourceClaim, Term, ThreadClaim};
use super::window::{Limits, Window};

/// A block, as filters see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life<'a> {
    /// When it was allocated.
    pub born: Timestamp,
    /// When it was freed, or found dead; none if it was not, or if that is not known yet.
    pub died: Option<Timestamp>,
    /// When it was promoted; none if it was not, or if that is not known yet.
    pub promoted: Option<Timestamp>,
    /// Its size.
    pub bytes: Bytes,
    /// Where it was born.
    pub source: Source,
    /// What its sampler is called; none where traces do not tell.
    pub sampler: Option<&'a str>,
    /// Who allocated it; none where traces do not tell.
    pub thread: Option<ThreadId>,
    /// What that thread is called, if it is called anything.
    pub thread_name: Option<&'a str>,
}

/// What a filter says of blocks in one trace, but for their backtraces.
#[derive(Clone, Debug)]
pub struct LifeFilter {
    verdicts: Vec<Verdict>,
    /// Lives begin when a block comes to be in an old heap.
    is_in_old_heap: bool,
}

#[derive(Clone, Debug)]
struct Verdict {
    negated: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    All(LifeFilter),
    Born(Window),
    Died(Window),
    Alive(Window),
    Promoted(Window),
    InOldHeap,
    Size(Window),
    Lifetime(LifetimeTest),
    Thread(ThreadClaim),
    Source(SourceClaim),
}

/// Of a block that was never freed it is only known that it lives at least up to the end.
#[derive(Clone, Copy, Debug)]
struct LifetimeTest {
    window: Window,
    /// Of the trace. Beyond all time if it does not matter.
    end: i128,
}

impl LifeFilter {
    pub(super) fn new(terms: &[Term], bounds: &Bounds<'_>) -> Result<Self, Unknown> {
        let is_in_old_heap = are_in_old_heap(terms);
        let mut filter = Self { verdicts: Vec::new(), is_in_old_heap };
        terms.iter().try_for_each(|term| filter.add(term, bounds))?;
        Ok(filter)
    }

    fn add(&mut self, term: &Term, bounds: &Bounds<'_>) -> Result<(), Unknown> {
        match &term.claim {
            Claim::Preset(preset) if !term.negated => {
                preset.terms().iter().try_for_each(|term| self.add(term, bounds))?;
            }
            claim => self.verdicts.extend(
                Test::new(claim, bounds)?.map(|test| Verdict { negated: term.negated, test }),
            ),
        }
        Ok(())
    }

    /// Whether it says nothing of blocks' lives.
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
    }

    /// Whether all that it says holds for this block.
    pub fn matches(&self, life: &Life<'_>) -> bool {
        let life = if self.is_in_old_heap { &life.since_promotion() } else { life };
        self.verdicts.iter().all(|verdict| verdict.test.holds(life) != verdict.negated)
    }
}

/// Whether they say that blocks are in an old heap.
pub(super) fn are_in_old_heap(terms: &[Term]) -> bool {
    terms.iter().any(|term| !term.negated && term.claim == Claim::InOldHeap)
}

impl Life<'_> {
    /// As if it had begun with the promotion, if there is one, unless it is born in an old heap.
    fn since_promotion(&self) -> Self {
        let promoted = self.promoted.filter(|_| self.source != Source::Major);
        Self { born: promoted.unwrap_or(self.born), ..*self }
    }
}

impl Test {
    /// None if the claim is about something else.
    fn new(claim: &Claim, bounds: &Bounds<'_>) -> Result<Option<Self>, Unknown> {
        let any_time = |when: &Option<super::When>| {
            when.as_ref().map_or(Ok(Window::ALL), |when| when.window(bounds))
        };
        Ok(Some(match claim {
            Claim::Preset(preset) if preset.frame().is_some() => return Ok(None),
            Claim::Preset(preset) => Self::All(LifeFilter::new(&preset.terms(), bounds)?),
            Claim::Allocated(when) => Self::Born(when.window(bounds)?),
            Claim::Freed(when) => Self::Died(any_time(when)?),
            Claim::Alive(when) => Self::Alive(when.window(bounds)?),
            Claim::Promoted(when) => Self::Promoted(any_time(when)?),
            Claim::InOldHeap => Self::InOldHeap,
            Claim::Size(limits) => Self::Size(limits.window(|size| size.0.0.into())),
            Claim::Lifetime(limits) => Self::Lifetime(LifetimeTest::new(limits, bounds)?),
            Claim::Thread(thread) => Self::Thread(thread.clone()),
            Claim::Source(source) => Self::Source(source.clone()),
            Claim::Frame(_) | Claim::Label(_) => return Ok(None),
        }))
    }

    fn holds(&self, life: &Life<'_>) -> bool {
        let happened = |window: Window, at: Option<Timestamp>| {
            at.is_some_and(|Timestamp(at)| window.contains(at))
        };
        match self {
            Self::All(filter) => filter.matches(life),
            Self::Born(window) => window.contains(life.born.0),
            Self::Died(window) => happened(*window, life.died),
            Self::Alive(window) => is_alive(*window, life),
            Self::Promoted(window) => happened(*window, life.promoted),
            Self::InOldHeap => life.promoted.is_some() || life.source == Source::Major,
            Self::Size(window) => window.contains(life.bytes.0),
            Self::Lifetime(test) => test.holds(life),
            Self::Thread(thread) => thread.matches(life),
            Self::Source(SourceClaim::Known(source)) => source.matches(life.source, life.sampler),
            Self::Source(SourceClaim::Sampler(name)) => {
                life.sampler.is_some_and(|sampler| name.matches(sampler))
            }
        }
    }
}

/// Whether the block lives at some moment of the window. It lives from its birth on, up to and
/// without its death: one that dies in the microsecond of its birth never does.
fn is_alive(window: Window, life: &Life<'_>) -> bool {
    let from = window.low.max(life.born.0.into());
    let until = life.died.map_or(window.high, |died| window.high.min(died.0.into()));
    from < until
}

impl LifetimeTest {
    fn new(limits: &Limits<Span>, bounds: &Bounds<'_>) -> Result<Self, Unknown> {
        let has_shares = limits.values().any(|span| matches!(span, Span::Share(_)));
        let length = if has_shares { bounds.length()? } else { 0 };
        let window = limits.window(|span| span.micros(length));
        let end = if window.is_open() { bounds.end()? } else { i128::MAX };
        Ok(Self { window, end })
    }

    fn holds(&self, life: &Life<'_>) -> bool {
        let born = i128::from(life.born.0);
        match life.died {
            Some(died) => self.window.contains((i128::from(died.0) - born).max(0)),
            None => self.window.is_open() && self.window.contains((self.end - born).max(0)),
        }
    }
}

impl ThreadClaim {
    fn matches(&self, life: &Life<'_>) -> bool {
        match self {
            Self::Number(number) => life.thread == Some(*number),
            Self::Name(name) => life.thread_name.is_some_and(|thread| name.matches(thread)),
        }
    }
}
