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

use core::ops::Range;

use crate::layouts::Layouts;
use crate::search::{Found, Fresh, IS_RETURNED_TO, Search, pairs, state_of};
use crate::stack::caller;
pub use crate::stack::{Frames, State};
use crate::tail::Tail;

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    /// Innermost frame first, as [pairs](crate::search).
    states: Tail,
    /// What the frames are called.
    names: Tail,
    fresh: Fresh,
    layouts: Layouts,
    agreed: usize,
}

/// How a walk ends.
struct End {
    /// So many outermost frames stay where they are.
    kept: usize,
    is_whole: bool,
}

const CUT_OFF: End = End { kept: 0, is_whole: false };

impl Chain {
    /// Walks from `state`, at most so many frames; whether that was to the end. Without memory there are
    /// no frames.
    pub fn walk(&mut self, stack: &impl Frames, state: State, most: usize) -> bool {
        let End { kept, is_whole } = self.go(stack, state, most);
        let Chain { states, names, fresh, agreed, .. } = self;
        let length = fresh.length + kept;
        if !states.reserve(2 * length) || !names.reserve(length) {
            self.clear();
            return false;
        }
        states.replace_front(&fresh.states.words()[..2 * fresh.length], 2 * kept);
        names.replace_front(&fresh.names.words()[..fresh.length], kept);
        *agreed = kept.min(*agreed);
        is_whole
    }

    /// The names of the frames of the last walk, innermost first.
    pub fn frames(&self) -> &[u64] {
        self.names.words()
    }

    /// Likewise, to be changed for a moment: what is there at the next walk is what frames are called.
    pub fn innermost_mut(&mut self) -> Option<&mut u64> {
        self.names.words_mut().first_mut()
    }

    /// So many outermost frames of the last walk are those of what [`agree`](Self::agree) was said of.
    pub fn agreed(&self) -> usize {
        self.agreed
    }

    /// So many outermost frames of the last walk are those of another backtrace, which the caller has.
    pub fn agree(&mut self, frames: usize) {
        self.agreed = frames;
    }

    /// Forgets the last walk: it was of another thread.
    pub fn clear(&mut self) {
        self.states.clear();
        self.names.clear();
        self.agreed = 0;
    }

    /// Finds the frames of a stack. Those of the last walk that are met are not looked up, and stay if all
    /// that is outside of them does, too.
    fn go(&mut self, stack: &impl Frames, mut state: State, most: usize) -> End {
        self.fresh.length = 0;
        let mut met = 0;
        loop {
            let start = match self.look_up(stack, &mut state, met, most) {
                Found::Met(index) => index,
                Found::End => return End { kept: 0, is_whole: true },
                Found::CutOff => return CUT_OFF,
            };
            let mut kept = start..self.end_of_run(start, stack);
            loop {
                let last = kept.end - 1;
                state = caller(stack, self.frames()[last], self.state(last));
                let arrived = state;
                let Some(frame) = stack.frame(&mut state) else { return self.end(kept, most) };
                if state == arrived || !self.is_next(kept.end, state, frame) {
                    met = kept.end;
                    let fits = self.freshen(kept, most);
                    if !fits || !self.fresh.add(state, frame, state == arrived, most) {
                        return CUT_OFF;
                    }
                    state = caller(stack, frame, state);
                    break;
                }
                // What was passed over before was passed over again.
                kept.end = self.end_of_run(kept.end, stack);
            }
        }
    }

    /// Looks up frames until the last walk is met, at the index `met` or further out.
    fn look_up(
        &mut self,
        stack: &impl Frames,
        state: &mut State,
        met: usize,
        most: usize,
    ) -> Found {
        let Chain { states, fresh, layouts, .. } = self;
        let mut search = Search::new(stack, pairs(states), met, layouts);
        loop {
            let (count, found) = search.fill(state, fresh.room(most));
            fresh.length += count;
            if let Some(found) = found {
                return found;
            }
            if fresh.length >= most {
                return stack.frame(state).map_or(Found::End, |_| Found::CutOff);
            }
            if !fresh.reserve(fresh.length + 1) {
                return Found::CutOff;
            }
        }
    }

    /// Whether the last walk has this frame at that index.
    fn is_next(&self, index: usize, state: State, frame: u64) -> bool {
        let pair = pairs(&self.states).get(index);
        pair.is_some_and(|pair| state_of(pair) == state) && self.frames()[index] == frame
    }

    /// Ends where the stack does.
    fn end(&mut self, kept: Range<usize>, most: usize) -> End {
        let count = kept.len();
        if kept.end < self.frames().len() || count > most - self.fresh.length {
            return End { kept: 0, is_whole: self.freshen(kept, most) };
        }
        self.states.words_mut()[2 * kept.start] |= IS_RETURNED_TO;
        End { kept: count, is_whole: true }
    }

    /// One past the last frame of the last walk that is this stack's too, if that at `from` is.
    #[inline]
    fn end_of_run(&self, from: usize, stack: &impl Frames) -> usize {
        let is_same = |pair: &&[u64; 2]| {
            pair[0] & IS_RETURNED_TO != 0
                && stack.return_address(pair[0] & !IS_RETURNED_TO) == pair[1]
        };
        from + 1 + pairs(&self.states)[from + 1..].iter().take_while(is_same).count()
    }

    /// Has frames of the last walk, to the first of which this one has returned, among those that are fresh;
    /// false if there are enough then, or there is no memory.
    fn freshen(&mut self, run: Range<usize>, most: usize) -> bool {
        let Chain { states, names, fresh, .. } = self;
        let end = run.start + run.len().min(most - fresh.length);
        let states = &states.words()[2 * run.start..2 * end];
        fresh.add_all(states, &names.words()[run.start..end]) && end == run.end
    }

    fn state(&self, index: usize) -> State {
        state_of(&pairs(&self.states)[index])
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::vec::Vec;

    use super::*;
    use crate::random::Random;

    /// A stack of frames, outermost last. The code of a frame says how large it is; every seventh begins a
    /// part that another kind of code lies below, as where C code has called back.
    #[derive(Default)]
    struct Fake {
        /// Code and stack pointer.
        frames: Vec<State>,
        looked_up: Cell<usize>,
        read: Cell<usize>,
    }

    const TOP: u64 = 1 << 40;
    const CROSSING: u64 = 7;

    fn size(code: u64) -> u64 {
        16 + code % 3 * 8
    }

    impl Fake {
        fn push(&mut self, code: u64) {
            let outer = self.frames.first();
            let below = outer.map_or(TOP, |outer| {
                // Other code lies between.
                outer.stack - if outer.code % CROSSING == 0 { 64 } else { 0 }
            });
            self.frames.insert(0, State { stack: below - size(code), code });
        }

        fn index(&self, state: State) -> Option<usize> {
            self.frames.iter().position(|it| *it == state)
        }
    }

    impl Frames for Fake {
        fn frame(&self, state: &mut State) -> Option<u64> {
            self.looked_up.set(self.looked_up.get() + 1);
            if state.code == 0 {
                // Beyond what was passed over.
                *state = *self.frames.iter().find(|it| it.stack > state.stack)?;
            }
            self.index(*state).map(|_| state.code + 1)
        }

        fn caller(&self, frame: u64, state: State) -> u64 {
            assert_eq!(frame, state.code + 1);
            state.stack + size(state.code)
        }

        fn return_address(&self, stack: u64) -> u64 {
            self.read.set(self.read.get() + 1);
            let starts: HashSet<u64> = self
                .frames
                .iter()
                .map(|it| it.stack + size(it.code))
                .chain(self.frames.first().map(|it| it.stack))
                .collect();
            assert!(starts.contains(&stack), "a word that is no return address");
            self.frames.iter().find(|it| it.stack == stack).map_or(0, |it| it.code)
        }
    }

    #[test]
    fn a_walk_finds_what_is_there_and_looks_up_what_has_changed() {
        let mut random = Random::new(3, 9);
        let (mut fake, mut chain) = (Fake::default(), Chain::default());
        let mut before: Vec<State> = Vec::new();
        let (mut saved, mut was_whole) = (0, false);
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
            (fake.looked_up, fake.read) = (Cell::new(0), Cell::new(0));
            let most = if round % 10 == 0 { 5 } else { usize::MAX };
            let agreed = chain.agreed();
            let is_whole = chain.walk(&fake, first, most);
            let expected: Vec<u64> = fake.frames.iter().map(|it| it.code + 1).take(most).collect();
            assert_eq!(chain.frames(), expected);
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
                chain.agree(chain.frames().len());
            }
            was_whole = is_whole;
            if is_whole {
                let known: HashSet<(u64, u64)> =
                    before.iter().map(|it| (it.stack, it.code)).collect();
                let new = fake.frames.iter().filter(|it| !known.contains(&(it.stack, it.code)));
                let crossings = fake.frames.iter().filter(|it| it.code % CROSSING == 0).count();
                let bound = new.count() + 2 * crossings + 2;
                assert!(fake.looked_up.get() <= bound, "{} {bound}", fake.looked_up.get());
                saved += fake.frames.len().saturating_sub(fake.looked_up.get());
            }
            before = fake.frames[..chain.frames().len()].to_vec();
        }
        assert!(saved > 50_000, "{saved}");
    }

    #[test]
    fn what_was_forgotten_is_looked_up() {
        let (mut fake, mut chain) = (Fake::default(), Chain::default());
        (1..6).for_each(|code| fake.push(code));
        assert!(chain.walk(&fake, fake.frames[0], 100));
        *chain.innermost_mut().unwrap() = 99;
        assert_eq!(chain.frames()[0], 99);
        chain.clear();
        assert!(chain.frames().is_empty());
        assert!(chain.walk(&fake, fake.frames[0], 100));
        assert_eq!(chain.frames(), [6, 5, 4, 3, 2]);
    }
}
