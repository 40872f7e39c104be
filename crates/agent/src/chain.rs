//! A stack that is walked again and again: each walk costs a look at every frame, but more than that only
//! for those that have changed.
//!
//! A walk goes from the innermost frame outwards, through *states*: a stack pointer and an address of code.
//! What a state leads to is found in the runtime's tables, which is dear; but it depends on the state and
//! on the one word of the stack where the next address is. So as soon as a walk comes to a state that was
//! in the walk before, it follows that one as long as those words are the same, and reads no word that
//! it would not have read otherwise.
//!
//! ```text
//! last walk     leaf ─ parse ─ eval ─ eval ─ run ─ main
//! this walk     alloc ─ call ┘ eval ─ eval ─ run ─ main      one word compared for each of these
//! ```

use crate::buffer::Buffer;

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

    /// Where the stack pointer is in the caller of the frame with that name and state.
    fn caller(&self, frame: u64, state: State) -> u64;

    /// The address to which a frame returns whose caller's stack pointer is `stack`.
    fn return_address(&self, stack: u64) -> u64;
}

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    last: Walk,
    next: Walk,
}

/// Innermost frame first.
#[derive(Debug, Default)]
struct Walk {
    /// Pairs: the stack pointer, and in its lowest bit whether the next state is the caller's with no
    /// frame passed over in between; and the address.
    states: Buffer,
    frames: Buffer,
    length: usize,
}

const IS_CALLED_BY_NEXT: u64 = 1;

impl Chain {
    /// Walks from `state`, at most so many frames; whether that was to the end.
    pub fn walk(&mut self, stack: &impl Frames, state: State, most: usize) -> bool {
        let is_whole = self.next.go(&self.last, stack, state, most);
        core::mem::swap(&mut self.last, &mut self.next);
        is_whole
    }

    /// The names of the frames of the last walk, innermost first.
    pub fn frames(&self) -> &[u64] {
        &self.last.frames.words()[..self.last.length]
    }

    /// Likewise, to be changed for a moment: what is there at the next walk is what frames are called.
    pub fn innermost_mut(&mut self) -> Option<&mut u64> {
        self.last.frames.words_mut()[..self.last.length].first_mut()
    }

    /// Forgets the last walk: it was of another thread.
    pub fn clear(&mut self) {
        self.last.length = 0;
    }
}

impl Walk {
    fn go(&mut self, last: &Walk, stack: &impl Frames, first: State, most: usize) -> bool {
        self.length = 0;
        let (mut state, mut met) = (first, 0);
        loop {
            met = last.first_at(met, state.stack);
            if last.is_at(met, state) {
                let Some(end) = self.follow(last, met, stack, most) else { return false };
                met = end;
            } else {
                let arrived = state;
                let Some(frame) = stack.frame(&mut state) else { return true };
                if !self.add(state, frame, state == arrived, most) {
                    return false;
                }
            }
            state = self.caller_of_outermost(stack);
        }
    }

    /// Adds the frames of the last walk from index `from` on, as long as they are this stack's too; returns
    /// the index of the last one that was. `None` if there are enough, or there is no memory.
    fn follow(
        &mut self,
        last: &Walk,
        from: usize,
        stack: &impl Frames,
        most: usize,
    ) -> Option<usize> {
        let run = from..last.end_of_run(from, stack);
        let (at, count) = (self.length, run.len().min(most - self.length));
        let end = at + count;
        if count < run.len() || !self.states.reserve(2 * end) || !self.frames.reserve(end) {
            self.copy(last, from, count.min(self.room()));
            return None;
        }
        self.copy(last, from, count);
        Some(run.end - 1)
    }

    /// One past the last frame that is this stack's too, if the frame at `from` is.
    #[inline]
    fn end_of_run(&self, from: usize, stack: &impl Frames) -> usize {
        let pairs = self.states.words()[2 * from..2 * self.length].as_chunks::<2>().0;
        let same = |(one, next): &(&[u64; 2], &[u64; 2])| {
            one[0] & IS_CALLED_BY_NEXT != 0
                && stack.return_address(next[0] & !IS_CALLED_BY_NEXT) == next[1]
        };
        from + 1 + pairs.iter().zip(&pairs[1..]).take_while(same).count()
    }

    /// Frames for which there is room.
    fn room(&self) -> usize {
        let room = (self.states.words().len() / 2).min(self.frames.words().len());
        room - self.length
    }

    /// Adds `count` frames of another walk, for which there is room.
    fn copy(&mut self, other: &Walk, from: usize, count: usize) {
        let (at, end) = (self.length, self.length + count);
        let states = self.states.words_mut();
        if at > 0 && count > 0 {
            states[2 * at - 2] |= IS_CALLED_BY_NEXT;
        }
        let theirs = &other.states.words()[2 * from..2 * (from + count)];
        states[2 * at..2 * end].copy_from_slice(theirs);
        if count > 0 {
            states[2 * end - 2] &= !IS_CALLED_BY_NEXT;
        }
        let theirs = &other.frames.words()[from..from + count];
        self.frames.words_mut()[at..end].copy_from_slice(theirs);
        self.length = end;
    }

    /// Adds a frame; false if there are enough, or there is no memory.
    #[inline]
    fn add(&mut self, state: State, frame: u64, calls_last: bool, most: usize) -> bool {
        let at = self.length;
        if at >= most || !self.states.reserve(2 * at + 2) || !self.frames.reserve(at + 1) {
            return false;
        }
        let states = self.states.words_mut();
        if calls_last && at > 0 {
            states[2 * at - 2] |= IS_CALLED_BY_NEXT;
        }
        (states[2 * at], states[2 * at + 1]) = (state.stack, state.code);
        self.frames.words_mut()[at] = frame;
        self.length = at + 1;
        true
    }

    fn caller_of_outermost(&self, stack: &impl Frames) -> State {
        let outermost = self.length - 1;
        let caller = stack.caller(self.frames.words()[outermost], self.state(outermost));
        State { stack: caller, code: stack.return_address(caller) }
    }

    /// The first index, from `from` on, that is not further in than `stack`.
    fn first_at(&self, from: usize, stack: u64) -> usize {
        let rest = from..self.length;
        rest.into_iter().find(|&index| self.state(index).stack >= stack).unwrap_or(self.length)
    }

    fn is_at(&self, index: usize, state: State) -> bool {
        index < self.length && self.state(index) == state
    }

    #[inline]
    fn state(&self, index: usize) -> State {
        let words = &self.states.words()[2 * index..2 * index + 2];
        State { stack: words[0] & !IS_CALLED_BY_NEXT, code: words[1] }
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
        let mut saved = 0;
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
            let is_whole = chain.walk(&fake, first, most);
            let expected: Vec<u64> = fake.frames.iter().map(|it| it.code + 1).take(most).collect();
            assert_eq!(chain.frames(), expected);
            assert_eq!(is_whole, fake.frames.len() <= most);
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
