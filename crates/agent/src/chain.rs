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

use crate::buffer::Buffer;
use crate::layouts::{Layouts, Place};
use crate::tail::Tail;

/// Where a walk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Of the frame, a multiple of 8.
    pub stack: u64,
    /// The address in its code to which its callee returns.
    pub code: u64,
}

/// A stack and the tables that explain it.
pub trait Frames {
    /// The frame of a state, by the name that the runtime has for it: any number but 0. Frames that the runtime passes over
    /// are passed over, and `state` becomes that of the frame. `None`: there are no more frames.
    fn frame(&self, state: &mut State) -> Option<u64>;

    /// Where the stack pointer is in the caller of the frame with that name and state: how far from the frame's
    /// own depends on the frame's code alone, as its name does.
    fn caller(&self, frame: u64, state: State) -> u64;

    /// The address to which a frame returns whose caller's stack pointer is `stack`.
    fn return_address(&self, stack: u64) -> u64;
}

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    /// Pairs, innermost frame first: the stack pointer, and in its lowest bit whether the frame before has
    /// returned right to this state, with nothing passed over in between; and the address.
    states: Tail,
    /// What the frames are called.
    names: Tail,
    fresh: Fresh,
    layouts: Layouts,
    agreed: usize,
}

/// What a walk has found so far and does not leave where it is, in the same terms.
#[derive(Debug, Default)]
struct Fresh {
    states: Buffer,
    names: Buffer,
    length: usize,
}

/// How a walk ends.
struct End {
    /// So many outermost frames stay where they are.
    kept: usize,
    is_whole: bool,
}

/// How looking up ends.
enum Found {
    /// At a state of the last walk, the one with this index.
    Met(usize),
    /// With the stack.
    End,
    /// With as many frames as are wanted, or the memory for them.
    CutOff,
}

const CUT_OFF: End = End { kept: 0, is_whole: false };

const IS_RETURNED_TO: u64 = 1;

/// Where a state is looked for among those of the last walk, it is mostly so near.
const NEAR: usize = 8;

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
        let mut search =
            Search { stack, last: pairs(states), met, layouts, place: Place::default() };
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

/// For frames, from the innermost outwards.
struct Search<'a, F> {
    stack: &'a F,
    /// The states of the last walk, and the index to which this one has come.
    last: &'a [[u64; 2]],
    met: usize,
    layouts: &'a mut Layouts,
    /// Of the layout of the frame before.
    place: Place,
}

impl<F: Frames> Search<'_, F> {
    /// Puts frames where there is room for them. How many, and how it ended if not with that.
    #[inline]
    fn fill(&mut self, state: &mut State, room: Room<'_>) -> (usize, Option<Found>) {
        let length = room.states.len().min(room.names.len());
        for (count, (pair, name)) in room.states.iter_mut().zip(room.names).enumerate() {
            self.met = first_at(self.last, self.met, state.stack);
            if self.last.get(self.met).is_some_and(|pair| state_of(pair) == *state) {
                return (count, Some(Found::Met(self.met)));
            }
            let Some((frame, caller, is_returned_to)) = self.next(state) else {
                return (count, Some(Found::End));
            };
            *pair = [state.stack | u64::from(is_returned_to), state.code];
            *name = frame;
            *state = State { stack: caller, code: self.stack.return_address(caller) };
        }
        (length, None)
    }

    /// The frame of a state, its caller's stack pointer, and whether nothing was passed over to come to it.
    #[inline]
    fn next(&mut self, state: &mut State) -> Option<(u64, u64, bool)> {
        let (place, layout) = self.layouts.find(self.place, state.code);
        self.place = place;
        match layout {
            Some(layout) => Some((layout.name, state.stack + u64::from(layout.size), true)),
            None => self.look_up(state),
        }
    }

    #[cold]
    fn look_up(&mut self, state: &mut State) -> Option<(u64, u64, bool)> {
        let arrived = *state;
        let frame = self.stack.frame(state)?;
        let caller = self.stack.caller(frame, *state);
        let is_returned_to = *state == arrived;
        if is_returned_to {
            self.layouts.put(self.place, state.code, frame, caller - state.stack);
        }
        Some((frame, caller, is_returned_to))
    }
}

#[inline]
fn pairs(states: &Tail) -> &[[u64; 2]] {
    states.words().as_chunks().0
}

#[inline]
fn state_of(&[stack, code]: &[u64; 2]) -> State {
    State { stack: stack & !IS_RETURNED_TO, code }
}

/// The first index, from `from` on, that is not further in than `stack`.
#[inline]
fn first_at(last: &[[u64; 2]], from: usize, stack: u64) -> usize {
    let is_further_in = |pair: &[u64; 2]| pair[0] < stack;
    for at in from..from + NEAR {
        if !last.get(at).is_some_and(is_further_in) {
            return at;
        }
    }
    let near = from + NEAR;
    near + last.get(near..).unwrap_or_default().partition_point(is_further_in)
}

/// Where frames can be put, of either as many.
struct Room<'a> {
    states: &'a mut [[u64; 2]],
    names: &'a mut [u64],
}

impl Fresh {
    /// For no more than `most` in all.
    fn room(&mut self, most: usize) -> Room<'_> {
        let states = self.states.words_mut().as_chunks_mut().0;
        let names = self.names.words_mut();
        let end = most.min(states.len()).min(names.len()).max(self.length);
        Room { states: &mut states[self.length..end], names: &mut names[self.length..end] }
    }

    /// Adds a frame; false if there are enough, or there is no memory.
    #[inline]
    fn add(&mut self, state: State, frame: u64, is_returned_to: bool, most: usize) -> bool {
        let at = self.length;
        if at >= most || !self.reserve(at + 1) {
            return false;
        }
        self.states.words_mut()[2 * at..2 * at + 2]
            .copy_from_slice(&[state.stack | u64::from(is_returned_to), state.code]);
        self.names.words_mut()[at] = frame;
        self.length = at + 1;
        true
    }

    /// Adds frames of another walk, to the first of which this one has returned.
    fn add_all(&mut self, states: &[u64], names: &[u64]) -> bool {
        let (at, end) = (self.length, self.length + names.len());
        if !self.reserve(end) {
            return false;
        }
        self.states.words_mut()[2 * at..2 * end].copy_from_slice(states);
        self.names.words_mut()[at..end].copy_from_slice(names);
        if at < end {
            self.states.words_mut()[2 * at] |= IS_RETURNED_TO;
        }
        self.length = end;
        true
    }

    #[inline]
    fn reserve(&mut self, length: usize) -> bool {
        self.states.reserve(2 * length) && self.names.reserve(length)
    }
}

/// The state to which a frame returns.
#[inline]
fn caller(stack: &impl Frames, frame: u64, state: State) -> State {
    let caller = stack.caller(frame, state);
    State { stack: caller, code: stack.return_address(caller) }
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
