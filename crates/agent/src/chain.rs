//! A stack that is walked again and again: each walk costs a look at every frame, but more than that only
//! for those that have changed.
//!
//! The last walk's outermost frame has the last place of its array. So frames that stay stay where they are,
//! and a walk writes no more than what has changed.
//!
//! A walk goes from the innermost frame outwards, through *states*: a stack pointer and an address of code.
//! What a state leads to is found in the runtime's tables, which is dear; but it depends on the state and
//! on the one word of the stack where the next address is. So as soon as a walk comes to a state that was
//! in the walk before, it follows that one as long as those words are the same, and reads no word that
//! it would not have read otherwise. What is new is found by what was on stacks before ([`Layouts`]).
//!
//! ```text
//! last walk     leaf ─ parse ─ eval ─ eval ─ run ─ main
//! this walk     alloc ─ call ┘ eval ─ eval ─ run ─ main      one word compared for each of these
//! ```
//!
//! Frames in a row that are of the same code are kept, compared and told as one ([`Run`]): a function that recurses
//! a thousand times costs a look at a thousand words, and little else.
//!
//! Of a runtime that walks its stacks itself, the frames that it gives take the place of the states: they are
//! compared with the last ones from the outermost inwards.

use core::ops::Range;

use lifetrace_transport::message::Run;

use crate::ahead::Ahead;
use crate::last::{IS_APART, Kept, Last, outermost};
use crate::layouts::Layouts;
use crate::search::{Found, Fresh, Search, is_over, look_up};
use crate::stack::caller;
pub use crate::stack::{Frame, Frames, State};
use crate::tail::Tail;

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    /// Of [runs](crate::last), innermost first, or as the runtime gave them.
    states: Tail,
    are_given: bool,
    /// How many frames each of them has, and the number by which the recorder knows these.
    runs: Tail<u32>,
    /// All frames.
    frames: usize,
    fresh: Fresh,
    agreed: Outer,
    /// To what the outermost frame returns, if it is the stack's.
    bottom: Option<State>,
}

/// So many outermost frames, which are so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outer {
    pub(crate) runs: usize,
    pub(crate) frames: usize,
}

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Where the stack does.
    Whole,
    /// With as many frames as were wanted; or there are none, as there is no memory.
    CutOff,
    /// The recorder could not be told of a frame. The last walk is the one before.
    Lost,
}

/// How frames have been found.
struct End {
    /// What stays where it is.
    kept: Outer,
    is_whole: bool,
}

const CUT_OFF: End = End { kept: Outer { runs: 0, frames: 0 }, is_whole: false };

impl Chain {
    /// Walks from `state`, at most so many frames.
    #[inline(always)]
    pub fn walk(
        &mut self,
        stack: &mut impl Frames,
        layouts: &mut Layouts,
        state: State,
        most: usize,
    ) -> Walk {
        if core::mem::take(&mut self.are_given) {
            self.clear();
        }
        let Some(End { kept, is_whole }) = self.go(stack, layouts, state, most) else {
            return Walk::Lost;
        };
        self.bottom = self.bottom.filter(|_| is_whole);
        let Chain { states, runs, fresh, .. } = self;
        let length = fresh.length + kept.runs;
        if !states.reserve(2 * length) || !runs.reserve(length) {
            self.clear();
            return Walk::CutOff;
        }
        states.replace_front(&fresh.states.words()[..2 * fresh.length], 2 * kept.runs);
        runs.replace_front(&fresh.runs.words()[..fresh.length], kept.runs);
        self.frames = fresh.frames + kept.frames;
        self.agreed = self.agreed.min(kept);
        if is_whole { Walk::Whole } else { Walk::CutOff }
    }

    /// Takes the frames that the runtime has found, innermost first, in place of a walk; `translate` finds
    /// the numbers of those that are new. False if it could not, or there is no memory: then the last walk is the
    /// one before.
    pub fn take(
        &mut self,
        slots: &[u64],
        translate: impl FnOnce(&[u64], &mut [u32]) -> bool,
    ) -> bool {
        let last = if self.are_given { self.states.words() } else { &[] };
        let kept = common_suffix(slots, last);
        let new = slots.len() - kept;
        let Chain { states, runs, fresh, .. } = self;
        let has_room =
            fresh.runs.reserve(new) && states.reserve(slots.len()) && runs.reserve(slots.len());
        if !has_room || !translate(&slots[..new], &mut fresh.runs.words_mut()[..new]) {
            return false;
        }
        states.replace_front(&slots[..new], kept);
        // A number is a run of one frame.
        runs.replace_front(&fresh.runs.words()[..new], kept);
        self.frames = slots.len();
        self.agreed = self.agreed.min(Outer { runs: kept, frames: kept });
        self.are_given = true;
        true
    }

    /// The frames of the last walk, innermost first, as [`Run`]s.
    #[inline(always)]
    pub fn runs(&self) -> &[u32] {
        self.runs.words()
    }

    /// The number of the innermost one.
    #[inline(always)]
    pub fn innermost(&self) -> Option<u32> {
        self.runs().first().map(|&run| Run(run).number())
    }

    /// How many frames it has.
    #[inline(always)]
    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Its outermost frames, as many as whole runs have that are no more than `most` together.
    pub(crate) fn outer(&self, most: usize) -> Outer {
        let mut outer = Outer::default();
        for &run in self.runs().iter().rev() {
            let frames = outer.frames + Run(run).frames();
            if frames > most {
                break;
            }
            outer = Outer { runs: outer.runs + 1, frames };
        }
        outer
    }

    /// All of it.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Outer {
        Outer { runs: self.runs().len(), frames: self.frames }
    }

    /// Its outermost frames that are those of what [`agree`](Self::agree) was said of.
    #[inline(always)]
    pub(crate) fn agreed(&self) -> Outer {
        self.agreed
    }

    /// Its outermost frames are those of another backtrace, which the caller has.
    #[inline(always)]
    pub(crate) fn agree(&mut self, outer: Outer) {
        self.agreed = outer;
    }

    /// Forgets the last walk: it was of another thread, or the numbers are another recorder's.
    pub fn clear(&mut self) {
        self.states.clear();
        self.runs.clear();
        (self.frames, self.agreed, self.bottom) = (0, Outer::default(), None);
    }

    /// Finds the frames of a stack. Those of the last walk that are met are not looked up, and stay if all
    /// that is outside of them does, too. `None`: the recorder could not be told of one.
    #[inline(always)]
    fn go(
        &mut self,
        stack: &mut impl Frames,
        layouts: &mut Layouts,
        mut state: State,
        most: usize,
    ) -> Option<End> {
        (self.fresh.length, self.fresh.frames) = (0, 0);
        let bottom = self.bottom.take();
        let mut met = (0, 0);
        let (kept, bottom) = 'met: loop {
            let start = match self.search(stack, layouts, &mut state, met, most) {
                Found::Met(index) => index,
                Found::End => {
                    self.bottom = Some(state);
                    return Some(End { is_whole: true, ..CUT_OFF });
                }
                Found::CutOff => return Some(CUT_OFF),
                Found::Lost => return None,
            };
            let mut kept = match self.last().keep(start, state, stack, layouts) {
                Ok(kept) => kept,
                Err(end) => {
                    met = (start, end);
                    continue;
                }
            };
            if kept.runs.end == self.runs().len() && bottom.is_some_and(|it| is_bottom(stack, it)) {
                break (kept, bottom);
            }
            loop {
                let last = outermost(self.last().pair(kept.runs.end - 1));
                let Ok((_, layout)) = look_up(stack, layouts, last) else { return Some(CUT_OFF) };
                let arrived = caller(stack, last, layout.size);
                let layout;
                (state, layout) = match look_up(stack, layouts, arrived) {
                    Ok(found) => found,
                    Err(Found::Lost) => return None,
                    Err(_) => break 'met (kept, Some(arrived)),
                };
                // What was passed over before may have been passed over again.
                let again = if state == arrived {
                    None
                } else {
                    self.last().keep_next(kept.runs.end, state, stack, layouts)
                };
                if let Some(end) = again {
                    kept.runs.end = end;
                    continue;
                }
                met = (kept.runs.end, 0);
                let fits = self.freshen(kept, layouts, most);
                if !fits || !self.fresh.add(state, layout.number, state != arrived, most) {
                    return Some(CUT_OFF);
                }
                state = caller(stack, state, layout.size);
                break;
            }
        };
        self.bottom = bottom;
        Some(self.end(kept, layouts, most))
    }

    /// Looks up frames until the last walk is met, in the run and from the stack pointer `met` on or further out.
    #[inline(always)]
    fn search(
        &mut self,
        stack: &mut impl Frames,
        layouts: &mut Layouts,
        state: &mut State,
        met: (usize, u64),
        most: usize,
    ) -> Found {
        let Chain { states, runs, fresh, .. } = self;
        let last = Last { states: states.words().as_chunks().0, runs: runs.words() };
        let ahead = Ahead::new(last, met, layouts);
        let mut search = Search::new(stack, ahead, layouts);
        loop {
            if let Some(found) = search.fill(state, fresh.room(most)) {
                return found;
            }
            if fresh.frames >= most {
                return if is_over(stack, *state) { Found::End } else { Found::CutOff };
            }
            search.follow(state, fresh, most);
            if !fresh.reserve(fresh.length + 1) {
                return Found::CutOff;
            }
        }
    }

    /// Ends where the stack does.
    #[inline(always)]
    fn end(&mut self, kept: Kept, layouts: &Layouts, most: usize) -> End {
        let Kept { runs: Range { start, end }, first } = kept;
        let innermost = Run(self.runs()[start]);
        let are_single = self.frames == self.runs().len();
        let gone = if are_single { start } else { Run::frames_of(&self.runs()[..start]) };
        let frames = self.frames - gone - (innermost.frames() - first);
        if end < self.runs().len() || frames > most - self.fresh.frames {
            return End { is_whole: self.freshen(kept, layouts, most), ..CUT_OFF };
        }
        self.states.words_mut()[2 * start] &= !IS_APART;
        self.runs.words_mut()[start] = Run::new(innermost.number(), first).0;
        End { kept: Outer { runs: end - start, frames }, is_whole: true }
    }

    /// Has what is kept, to the first frame of which this walk has returned, among what is fresh;
    /// false if there is enough then, or there is no memory.
    #[inline(never)]
    fn freshen(&mut self, kept: Kept, layouts: &Layouts, most: usize) -> bool {
        let Chain { states, runs, fresh, .. } = self;
        let Kept { runs: Range { start, end }, first } = kept;
        let states = &states.words()[2 * start..2 * end];
        fresh.add_all((states, &runs.words()[start..end]), first, layouts, most)
    }

    #[inline(always)]
    fn last(&self) -> Last<'_> {
        Last { states: self.states.words().as_chunks().0, runs: self.runs.words() }
    }
}

impl Outer {
    /// Of two numbers of outermost frames of the same walk the lesser.
    pub(crate) fn min(self, other: Outer) -> Outer {
        if other.runs <= self.runs { other } else { self }
    }
}

/// Whether the stack, which ended here before, does so still, if the frame that returned here has stayed.
fn is_bottom(stack: &impl Frames, before: State) -> bool {
    stack.return_address(before.stack) == before.code && is_over(stack, before)
}

/// How many frames at the end of both are the same.
#[inline]
pub(crate) fn common_suffix<W: PartialEq>(new: &[W], old: &[W]) -> usize {
    let length = new.len().min(old.len());
    let (new, old) = (&new[new.len() - length..], &old[old.len() - length..]);
    let eights = new.rchunks_exact(8).zip(old.rchunks_exact(8));
    let whole = 8 * eights.take_while(|(new, old)| new == old).count();
    let rest = new[..length - whole].iter().rev().zip(old[..length - whole].iter().rev());
    whole + rest.take_while(|(new, old)| new == old).count()
}

#[cfg(test)]
mod tests;
