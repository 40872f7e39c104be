//! A thread's stack in a managed runtime, as it was when it was last walked or given.
//!
//! The outermost frame has the last place of its array. So frames that stay stay where they are, and what comes anew
//! writes no more than what has changed.
//!
//! Frames in a row that are of the same code are kept, compared and sent as one ([`Run`]): a function that recurses
//! a thousand times costs little.
//!
//! A runtime whose stacks we walk has a walk of its own, which finds out what has stayed; that of a runtime which walks
//! them itself is here ([`Chain::take`]): the frames that it gives are compared with the last ones from the outermost
//! inwards.

use lifetrace_transport::message::Run;

use crate::buffer::Buffer;
use crate::tail::Tail;

/// Where a walk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Of the frame, a multiple of 8.
    pub stack: u64,
    /// The address in its code to which its callee returns, not 0.
    pub code: u64,
}

/// The last walk. All zero is none.
#[derive(Debug, Default)]
pub struct Chain {
    /// Two words of the walk's own for each run, innermost first, or the frames as the runtime gave them.
    states: Tail,
    are_given: bool,
    /// How many frames each of them has, and the number by which the recorder knows these.
    runs: Tail<u32>,
    /// All frames.
    frames: usize,
    /// Room for the numbers of frames that are given.
    numbers: Buffer<u32>,
    agreed: Outer,
    /// To what the outermost frame returns, if a walk has found it to be the stack's.
    pub bottom: Option<State>,
}

/// So many outermost frames, which are so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outer {
    /// Runs.
    pub runs: usize,
    /// Frames of these runs.
    pub frames: usize,
}

impl Chain {
    /// Begins a walk. Frames that were given are none that it can meet.
    #[inline(always)]
    pub fn begin(&mut self) {
        if core::mem::take(&mut self.are_given) {
            self.clear();
        }
    }

    /// Ends a walk: outside these runs, which have so many frames, there are the outermost ones that are `kept`.
    /// False if there is no memory: then there is no last walk.
    #[inline(always)]
    pub fn end(&mut self, (states, fresh): (&[u64], &[u32]), frames: usize, kept: Outer) -> bool {
        let length = fresh.len() + kept.runs;
        if !self.states.reserve(2 * length) || !self.runs.reserve(length) {
            self.clear();
            return false;
        }
        self.states.replace_front(states, 2 * kept.runs);
        self.runs.replace_front(fresh, kept.runs);
        self.frames = frames + kept.frames;
        self.agreed = self.agreed.min(kept);
        true
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
        let Chain { states, runs, numbers, .. } = self;
        let has_room =
            numbers.reserve(new) && states.reserve(slots.len()) && runs.reserve(slots.len());
        if !has_room || !translate(&slots[..new], &mut numbers.words_mut()[..new]) {
            return false;
        }
        states.replace_front(&slots[..new], kept);
        // A number is a run of one frame.
        runs.replace_front(&numbers.words()[..new], kept);
        self.frames = slots.len();
        self.agreed = self.agreed.min(Outer { runs: kept, frames: kept });
        self.are_given = true;
        true
    }

    /// The last walk's own words for each of its runs, innermost first.
    #[inline(always)]
    pub fn states(&self) -> &[[u64; 2]] {
        self.states.words().as_chunks().0
    }

    /// Such words, and its runs.
    #[inline(always)]
    pub fn parts_mut(&mut self) -> (&mut [[u64; 2]], &mut [u32]) {
        (self.states.words_mut().as_chunks_mut().0, self.runs.words_mut())
    }

    /// The frames of the last walk, innermost first, as [`Run`]s.
    #[inline(always)]
    pub fn runs(&self) -> &[u32] {
        self.runs.words()
    }

    /// How many frames it has.
    #[inline(always)]
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Its outermost frames, as many as whole runs have that are no more than `most` together.
    pub fn outer(&self, most: usize) -> Outer {
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
    pub fn whole(&self) -> Outer {
        Outer { runs: self.runs().len(), frames: self.frames }
    }

    /// Its outermost frames that are those of what [`agree`](Self::agree) was said of.
    #[inline(always)]
    pub fn agreed(&self) -> Outer {
        self.agreed
    }

    /// Its outermost frames are those of another backtrace, which the caller has.
    #[inline(always)]
    pub fn agree(&mut self, outer: Outer) {
        self.agreed = outer;
    }

    /// Forgets the last walk: it was of another thread, or the numbers are another recorder's.
    pub fn clear(&mut self) {
        self.states.clear();
        self.runs.clear();
        (self.frames, self.agreed, self.bottom) = (0, Outer::default(), None);
    }
}

impl Outer {
    /// Of two numbers of outermost frames of the same walk the lesser.
    fn min(self, other: Outer) -> Outer {
        if other.runs <= self.runs { other } else { self }
    }
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
    use std::vec::Vec;

    use super::*;
    use crate::random::Random;

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
            let agreed = chain.agreed().frames;
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
            assert_eq!((chain.runs(), chain.frames()), (&numbers[..], numbers.len()));
            assert_eq!(chain.agreed().frames, kept.min(agreed));
            if round % 3 == 0 {
                chain.agree(chain.whole());
            }
        }
    }
}
