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
//! The last walk is kept with the thread ([`Chain`]).

mod ahead;
#[cfg(test)]
mod fake;
mod last;
mod layouts;
mod search;
mod stack;

use core::ops::Range;

use lifetrace_agent::chain::{Chain, Outer, State};
use lifetrace_transport::message::Run;

use ahead::Ahead;
use last::{IS_APART, Kept, Last, outermost};
pub(crate) use layouts::Layouts;
pub(crate) use search::Fresh;
use search::{Found, Search, is_over, look_up};
use stack::caller;
pub(crate) use stack::{Frames, OCamlFrame};

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Where the stack does.
    Whole,
    /// With as many frames as were wanted; or there are none, as there is no memory.
    CutOff,
    /// The recorder could not be told of a frame. The last walk is the one before.
    Lost,
}

/// A walk on its way: the last one, and what is new.
struct Walker<'a> {
    chain: &'a mut Chain,
    fresh: &'a mut Fresh,
}

/// How frames have been found.
struct End {
    /// What stays where it is.
    kept: Outer,
    is_whole: bool,
}

const CUT_OFF: End = End { kept: Outer { runs: 0, frames: 0 }, is_whole: false };

/// Walks from `state`, at most so many frames, and keeps them in `chain`; `fresh` is room for what is new.
#[inline(always)]
pub(crate) fn walk(
    chain: &mut Chain,
    fresh: &mut Fresh,
    stack: &mut impl Frames,
    layouts: &mut Layouts,
    state: State,
    most: usize,
) -> Walk {
    chain.begin();
    let Some(End { kept, is_whole }) = Walker { chain, fresh }.go(stack, layouts, state, most)
    else {
        return Walk::Lost;
    };
    chain.bottom = chain.bottom.filter(|_| is_whole);
    let is_kept = chain.end(fresh.parts(), fresh.frames, kept);
    if is_kept && is_whole { Walk::Whole } else { Walk::CutOff }
}

impl Walker<'_> {
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
        let bottom = self.chain.bottom.take();
        let mut met = (0, 0);
        let (kept, bottom) = 'met: loop {
            let start = match self.search(stack, layouts, &mut state, met, most) {
                Found::Met(index) => index,
                Found::End => {
                    self.chain.bottom = Some(state);
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
            if kept.runs.end == self.chain.runs().len()
                && bottom.is_some_and(|it| is_bottom(stack, it))
            {
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
        self.chain.bottom = bottom;
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
        let Walker { chain, fresh } = self;
        let last = Last { states: chain.states(), runs: chain.runs() };
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
        let innermost = Run(self.chain.runs()[start]);
        let are_single = self.chain.frames() == self.chain.runs().len();
        let gone = if are_single { start } else { Run::frames_of(&self.chain.runs()[..start]) };
        let frames = self.chain.frames() - gone - (innermost.frames() - first);
        if end < self.chain.runs().len() || frames > most - self.fresh.frames {
            return End { is_whole: self.freshen(kept, layouts, most), ..CUT_OFF };
        }
        let (states, runs) = self.chain.parts_mut();
        states[start][0] &= !IS_APART;
        runs[start] = Run::new(innermost.number(), first).0;
        End { kept: Outer { runs: end - start, frames }, is_whole: true }
    }

    /// Has what is kept, to the first frame of which this walk has returned, among what is fresh;
    /// false if there is enough then, or there is no memory.
    #[inline(never)]
    fn freshen(&mut self, kept: Kept, layouts: &Layouts, most: usize) -> bool {
        let Walker { chain, fresh } = self;
        let Kept { runs: Range { start, end }, first } = kept;
        let states = chain.states()[start..end].as_flattened();
        fresh.add_all((states, &chain.runs()[start..end]), first, layouts, most)
    }

    #[inline(always)]
    fn last(&self) -> Last<'_> {
        Last { states: self.chain.states(), runs: self.chain.runs() }
    }
}

/// Whether the stack, which ended here before, does so still, if the frame that returned here has stayed.
fn is_bottom(stack: &impl Frames, before: State) -> bool {
    stack.return_address(before.stack) == before.code && is_over(stack, before)
}

#[cfg(test)]
mod sent_tests;
#[cfg(test)]
mod tests;
