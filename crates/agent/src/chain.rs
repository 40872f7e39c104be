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
//! Of a runtime that walks its stacks itself, the frames that it gives take the place of the states: they are
//! compared with the last ones from the outermost inwards.

use core::ops::Range;

use crate::layouts::Layouts;
use crate::search::{Found, Fresh, IS_RETURNED_TO, Search, is_over, look_up, pairs, state_of};
use crate::stack::caller;
pub use crate::stack::{Frame, Frames, State};
use crate::tail::Tail;

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    /// Innermost frame first, as [pairs](crate::search), or as the runtime gave them.
    states: Tail,
    are_given: bool,
    /// The numbers by which the recorder knows the frames.
    numbers: Tail<u32>,
    fresh: Fresh,
    agreed: usize,
    /// To what the outermost frame returns, if it is the stack's.
    bottom: Option<State>,
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
    /// So many outermost frames stay where they are.
    kept: usize,
    is_whole: bool,
}

const CUT_OFF: End = End { kept: 0, is_whole: false };

impl Chain {
    /// Walks from `state`, at most so many frames.
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
        let Chain { states, numbers, fresh, agreed, .. } = self;
        let length = fresh.length + kept;
        if !states.reserve(2 * length) || !numbers.reserve(length) {
            self.clear();
            return Walk::CutOff;
        }
        states.replace_front(&fresh.states.words()[..2 * fresh.length], 2 * kept);
        numbers.replace_front(&fresh.numbers.words()[..fresh.length], kept);
        *agreed = kept.min(*agreed);
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
        let Chain { states, numbers, fresh, agreed, .. } = self;
        let has_room = fresh.numbers.reserve(new)
            && states.reserve(slots.len())
            && numbers.reserve(slots.len());
        if !has_room || !translate(&slots[..new], &mut fresh.numbers.words_mut()[..new]) {
            return false;
        }
        states.replace_front(&slots[..new], kept);
        numbers.replace_front(&fresh.numbers.words()[..new], kept);
        *agreed = kept.min(*agreed);
        self.are_given = true;
        true
    }

    /// The numbers of the frames of the last walk, innermost first.
    pub fn numbers(&self) -> &[u32] {
        self.numbers.words()
    }

    /// So many outermost frames of the last walk are those of what [`agree`](Self::agree) was said of.
    pub(crate) fn agreed(&self) -> usize {
        self.agreed
    }

    /// So many outermost frames of the last walk are those of another backtrace, which the caller has.
    pub(crate) fn agree(&mut self, frames: usize) {
        self.agreed = frames;
    }

    /// Forgets the last walk: it was of another thread, or the numbers are another recorder's.
    pub fn clear(&mut self) {
        self.states.clear();
        self.numbers.clear();
        (self.agreed, self.bottom) = (0, None);
    }

    /// Finds the frames of a stack. Those of the last walk that are met are not looked up, and stay if all
    /// that is outside of them does, too. `None`: the recorder could not be told of one.
    fn go(
        &mut self,
        stack: &mut impl Frames,
        layouts: &mut Layouts,
        mut state: State,
        most: usize,
    ) -> Option<End> {
        self.fresh.length = 0;
        let bottom = self.bottom.take();
        let mut met = 0;
        loop {
            let start = match self.search(stack, layouts, &mut state, met, most) {
                Found::Met(index) => index,
                Found::End => {
                    self.bottom = Some(state);
                    return Some(End { kept: 0, is_whole: true });
                }
                Found::CutOff => return Some(CUT_OFF),
                Found::Lost => return None,
            };
            let mut kept = start..self.end_of_run(start, stack);
            if kept.end == self.numbers().len() && bottom.is_some_and(|it| is_bottom(stack, it)) {
                self.bottom = bottom;
                return Some(self.end(kept, most));
            }
            loop {
                let last = self.state(kept.end - 1);
                let Ok((_, layout)) = look_up(stack, layouts, last) else { return Some(CUT_OFF) };
                let arrived = caller(stack, last, layout.size);
                let layout;
                (state, layout) = match look_up(stack, layouts, arrived) {
                    Ok(found) => found,
                    Err(Found::Lost) => return None,
                    Err(_) => {
                        self.bottom = Some(arrived);
                        return Some(self.end(kept, most));
                    }
                };
                if state == arrived || !self.is_next(kept.end, state) {
                    met = kept.end;
                    let fits = self.freshen(kept, most);
                    if !fits || !self.fresh.add(state, layout.number, state == arrived, most) {
                        return Some(CUT_OFF);
                    }
                    state = caller(stack, state, layout.size);
                    break;
                }
                // What was passed over before was passed over again.
                kept.end = self.end_of_run(kept.end, stack);
            }
        }
    }

    /// Looks up frames until the last walk is met, at the index `met` or further out.
    fn search(
        &mut self,
        stack: &mut impl Frames,
        layouts: &mut Layouts,
        state: &mut State,
        met: usize,
        most: usize,
    ) -> Found {
        let Chain { states, fresh, .. } = self;
        let mut search = Search::new(stack, pairs(states), met, layouts);
        loop {
            let (count, found) = search.fill(state, fresh.room(most));
            fresh.length += count;
            if let Some(found) = found {
                return found;
            }
            if fresh.length >= most {
                return if is_over(stack, *state) { Found::End } else { Found::CutOff };
            }
            if !fresh.reserve(fresh.length + 1) {
                return Found::CutOff;
            }
        }
    }

    /// Whether the last walk has this frame at that index.
    fn is_next(&self, index: usize, state: State) -> bool {
        pairs(&self.states).get(index).is_some_and(|pair| state_of(pair) == state)
    }

    /// Ends where the stack does.
    fn end(&mut self, kept: Range<usize>, most: usize) -> End {
        let count = kept.len();
        if kept.end < self.numbers().len() || count > most - self.fresh.length {
            return End { kept: 0, is_whole: self.freshen(kept, most) };
        }
        self.states.words_mut()[2 * kept.start] |= IS_RETURNED_TO;
        End { kept: count, is_whole: true }
    }

    /// One past the last frame of the last walk that is this stack's too, if that at `from` is.
    #[inline(never)]
    fn end_of_run(&self, from: usize, stack: &impl Frames) -> usize {
        let callers = &pairs(&self.states)[from + 1..];
        let is_same = |&[stack_and_flag, code]: &[u64; 2]| {
            stack_and_flag & IS_RETURNED_TO != 0
                && stack.return_address(stack_and_flag - IS_RETURNED_TO) == code
        };
        let same = callers.iter().position(|pair| !is_same(pair));
        from + 1 + same.unwrap_or(callers.len())
    }

    /// Has frames of the last walk, to the first of which this one has returned, among those that are fresh;
    /// false if there are enough then, or there is no memory.
    fn freshen(&mut self, run: Range<usize>, most: usize) -> bool {
        let Chain { states, numbers, fresh, .. } = self;
        let end = run.start + run.len().min(most - fresh.length);
        let states = &states.words()[2 * run.start..2 * end];
        fresh.add_all(states, &numbers.words()[run.start..end]) && end == run.end
    }

    fn state(&self, index: usize) -> State {
        state_of(&pairs(&self.states)[index])
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
mod tests {
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::vec::Vec;

    use super::*;
    use crate::fake::{CROSSING, Fake};
    use crate::random::Random;

    #[test]
    fn a_walk_finds_what_is_there_and_looks_up_what_has_changed() {
        let mut random = Random::new(3, 9);
        let (mut fake, mut chain) = (Fake::default(), Chain::default());
        let mut before: Vec<State> = Vec::new();
        let (mut saved, mut was_whole) = (0, false);
        let mut layouts = Layouts::new();
        for round in 0..3_000 {
            let gone = (random.word() % 20).min(fake.frames.len() as u64) as usize;
            fake.frames.drain(..gone);
            for _ in 0..random.word() % 20 {
                fake.push(random.word() % 50 + 1);
            }
            if fake.frames.len() > 200 {
                fake.frames.drain(..150);
            }
            let Some(&first) = fake.frames.first() else { continue };
            if round % 40 == 0 {
                // A new session.
                layouts.clear();
                fake.told.clear();
                chain.clear();
                before.clear();
            }
            (fake.looked_up, fake.read) = (Cell::new(0), Cell::new(0));
            let most = if round % 10 == 0 { 5 } else { usize::MAX };
            let agreed = chain.agreed();
            let is_whole = chain.walk(&mut fake, &mut layouts, first, most) == Walk::Whole;
            let walked = fake.frames.iter().take(most);
            let expected: Vec<u32> = walked.map(|it| fake.number(it.code)).collect();
            assert_eq!(chain.numbers(), expected);
            assert_eq!(is_whole, fake.frames.len() <= most);
            let callers = fake.frames.iter().rev().zip(before.iter().rev());
            let same = callers.take_while(|(one, other)| one == other).count();
            // A walk that was cut off has other outermost frames.
            let kept = if is_whole && was_whole { same } else { 0 };
            // Of those that stay the innermost may be taken for new if something was passed over to come to
            // them.
            let (found, expected) = (chain.agreed(), kept.min(agreed));
            assert!(found <= expected);
            let outermost_first = fake.frames.iter().rev();
            let missed = outermost_first.take(expected).skip(found);
            assert!(missed.clone().all(|it| it.code % CROSSING == 0), "{found} {expected}");
            if round % 3 == 0 {
                chain.agree(chain.numbers().len());
            }
            was_whole = is_whole;
            if is_whole {
                let known: HashSet<(u64, u64)> =
                    before.iter().map(|it| (it.stack, it.code)).collect();
                let new = fake.frames.iter().filter(|it| !known.contains(&(it.stack, it.code)));
                let crossings = fake.frames.iter().filter(|it| it.code % CROSSING == 0).count();
                // Of each part that stays the last frame may have to be looked up again.
                let bound = new.count() + 3 * crossings + 3;
                assert!(fake.looked_up.get() <= bound, "{} {bound}", fake.looked_up.get());
                saved += fake.frames.len().saturating_sub(fake.looked_up.get());
            }
            before = fake.frames[..chain.numbers().len()].to_vec();
        }
        assert!(saved > 50_000, "{saved}");
    }

    fn walk(chain: &mut Chain, fake: &mut Fake, layouts: &mut Layouts) -> Walk {
        let first = fake.frames[0];
        chain.walk(fake, layouts, first, 100)
    }

    #[test]
    fn what_the_recorder_could_not_be_told_of_is_no_walk() {
        let (mut fake, mut chain) = (Fake::default(), Chain::default());
        let mut layouts = Layouts::new();
        (1..6).for_each(|code| fake.push(code));
        assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
        chain.agree(5);
        fake.is_deaf = true;
        fake.push(2);
        assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
        let numbers = fake.numbers();
        fake.push(9);
        assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Lost);
        assert_eq!(chain.numbers(), numbers);
        fake.is_deaf = false;
        assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
        assert_eq!((chain.numbers(), chain.agreed()), (&fake.numbers()[..], 5));
    }

    /// By which the recorder knows a slot.
    fn number(slot: u64) -> u32 {
        slot as u32 + 1_000
    }

    #[test]
    fn of_frames_that_are_given_the_new_ones_are_translated() {
        let mut random = Random::new(2, 8);
        let mut chain = Chain::default();
        let mut slots: Vec<u64> = Vec::new();
        for round in 0..5_000u64 {
            let last = slots.clone();
            slots.drain(..random.word() as usize % (slots.len() + 1).min(30));
            slots.splice(..0, (0..random.word() % 30).map(|_| random.word() % 8));
            let kept = common_suffix(&slots, &last);
            let agreed = chain.agreed();
            let is_translated = round % 7 > 0;
            let is_taken = chain.take(&slots, |new, numbers| {
                assert_eq!(new, &slots[..slots.len() - kept]);
                new.iter().zip(numbers).for_each(|(&slot, to)| *to = number(slot));
                is_translated
            });
            assert_eq!(is_taken, is_translated);
            if !is_taken {
                slots = last;
                continue;
            }
            let numbers: Vec<u32> = slots.iter().map(|&slot| number(slot)).collect();
            assert_eq!(chain.numbers(), numbers);
            assert_eq!(chain.agreed(), kept.min(agreed));
            if round % 3 == 0 {
                chain.agree(slots.len());
            }
        }
    }

    #[test]
    fn walks_and_given_frames_have_nothing_in_common() {
        let (mut fake, mut chain) = (Fake::default(), Chain::default());
        let mut layouts = Layouts::new();
        (1..6).for_each(|code| fake.push(code));
        for _ in 0..3 {
            assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
            assert_eq!((chain.numbers(), chain.agreed()), (&fake.numbers()[..], 0));
            chain.agree(5);
            let is_taken = chain.take(&[6, 5], |_, numbers| {
                numbers.copy_from_slice(&[6, 5]);
                true
            });
            assert!(is_taken);
            assert_eq!((chain.numbers(), chain.agreed()), (&[6, 5][..], 0));
            chain.agree(2);
        }
    }
}
