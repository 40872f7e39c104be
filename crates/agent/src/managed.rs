//! A thread's last backtrace in a managed runtime, and the next one as a difference to it.
//!
//! Between two samples of a thread most frames stay as they are, so the new frames are compared with the
//! last ones from the outermost frame inwards, eight at a time, and only those that differ are looked up,
//! named and sent. Who has walked the stack may know that some are the same; these are not compared.
//!
//! ```text
//! frames             leaf  parse │ eval  run  main         innermost first, in the runtime's terms
//! last                alloc call │ eval  run  main         likewise, at the end of its buffer
//!                       fresh    │     shared
//! ```
//!
//! Of a stack deeper than the limit both ends are kept, half of the limit each: what allocates, and who
//! asked for it. [`FRAMES_LEFT_OUT`] is between them.

use lifetrace_transport::message::{BacktraceDelta, FRAMES_LEFT_OUT, Frames};

use crate::buffer::Buffer;
use crate::tail::Tail;

/// See the module. All zero is one without a last backtrace.
#[derive(Debug, Default)]
pub struct Managed {
    /// The last backtrace in the runtime's terms.
    last: Tail,
    /// The frames of the new one that are not shared, innermost first.
    fresh: Buffer,
    new: usize,
    /// Both ends of a stack that is too deep.
    ends: Buffer,
    shared: usize,
    outermost: usize,
    truncated: bool,
    /// The recorder has the last backtrace; false between `update` and `tell`.
    told: bool,
}

impl Managed {
    /// Takes a backtrace, innermost frame first, of which the outermost `known` are known to be those of the
    /// last one; how many of them are those of the last one is returned. `limit` is the greatest number of
    /// frames, at least 3; `truncated` says that outermost ones are missing. Without memory it is a
    /// backtrace without frames.
    pub fn update(&mut self, frames: &[u64], known: usize, limit: usize, truncated: bool) -> usize {
        self.truncated = truncated;
        let length = frames.len().min(limit);
        let has_ends = frames.len() <= limit || self.ends.reserve(limit);
        if !has_ends || !self.fresh.reserve(length) || !self.last.reserve(length) {
            self.clear();
            self.truncated = true;
            return 0;
        }
        match frames.len() <= limit {
            true => self.settle(frames, known),
            false => self.settle_both_ends(frames, known, limit),
        }
    }

    /// So many outermost frames of what was taken last are the last backtrace's.
    pub fn outermost(&self) -> usize {
        self.outermost
    }

    /// The frames that the recorder does not have, innermost first, in the runtime's terms, to be
    /// replaced by the transport's.
    pub fn fresh_mut(&mut self) -> &mut [u64] {
        &mut self.fresh.words_mut()[..self.new]
    }

    /// The backtrace as a difference to the one that the recorder has.
    pub fn delta(&self) -> BacktraceDelta<'_> {
        BacktraceDelta {
            shared: self.shared as u32,
            truncated: self.truncated,
            fresh: Frames::Words(&self.fresh.words()[..self.new]),
        }
    }

    /// The recorder has the backtrace. If this is not said, the next one is whole.
    pub fn tell(&mut self) {
        self.told = true;
    }

    /// The recorder has none (any more).
    pub fn forget(&mut self) {
        self.told = false;
    }

    /// Forgets the last backtrace: it is another thread's.
    pub fn clear(&mut self) {
        self.last.clear();
        (self.new, self.shared, self.outermost) = (0, 0, 0);
        (self.truncated, self.told) = (false, false);
    }

    fn settle(&mut self, frames: &[u64], known: usize) -> usize {
        let last = self.last.words();
        let known = known.min(frames.len()).min(last.len());
        let rest = common_suffix(&frames[..frames.len() - known], &last[..last.len() - known]);
        let common = known + rest;
        self.last.replace_front(&frames[..frames.len() - common], common);
        self.shared = if core::mem::take(&mut self.told) { common } else { 0 };
        self.outermost = frames.len();
        self.new = frames.len() - self.shared;
        self.fresh.words_mut()[..self.new].copy_from_slice(&frames[..self.new]);
        common
    }

    fn settle_both_ends(&mut self, frames: &[u64], known: usize, limit: usize) -> usize {
        let inner = limit / 2;
        let outer = limit - inner - 1;
        let mut ends = core::mem::take(&mut self.ends);
        let kept = &mut ends.words_mut()[..limit];
        kept[..inner].copy_from_slice(&frames[..inner]);
        kept[inner] = FRAMES_LEFT_OUT;
        kept[inner + 1..].copy_from_slice(&frames[frames.len() - outer..]);
        let common = self.settle(kept, known.min(outer));
        (self.ends, self.outermost) = (ends, outer);
        common.min(outer)
    }
}

/// How many frames at the end of both are the same.
#[inline]
fn common_suffix(new: &[u64], old: &[u64]) -> usize {
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

    /// What a recorder makes of the differences, outermost frame first.
    #[derive(Default)]
    struct Recorder {
        stack: Vec<u64>,
    }

    impl Recorder {
        fn hear(&mut self, delta: &BacktraceDelta<'_>) -> Vec<u64> {
            self.stack.truncate(delta.shared as usize);
            self.stack.extend(delta.fresh.iter().rev());
            self.stack.iter().rev().copied().collect()
        }
    }

    fn common_of(one: &[u64], other: &[u64]) -> usize {
        let pairs = one.iter().rev().zip(other.iter().rev());
        pairs.take_while(|(one, other)| one == other).count()
    }

    /// What somebody may know of what they have in common: everything, nothing, or some of it.
    fn known_of(random: &mut Random, one: &[u64], other: &[u64]) -> usize {
        let common = common_of(one, other);
        [0, common, random.word() as usize % (common + 1)][random.word() as usize % 3]
    }

    #[test]
    fn the_recorder_hears_the_stack_whatever_has_changed_or_was_lost() {
        let mut random = Random::new(4, 4);
        let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
        let mut stack: Vec<u64> = Vec::new();
        let mut taken = Vec::new();
        let mut lost = true;
        for round in 0..20_000u64 {
            stack.drain(..random.word() as usize % (stack.len() + 1).min(40));
            let called: Vec<u64> = (0..random.word() % 40).map(|_| random.word() % 8).collect();
            stack.splice(..0, called);
            if round % 3_000 == 2_999 {
                stack.splice(..0, 0..1_000);
            }
            if round % 7 == 0 && !stack.is_empty() {
                let at = random.word() as usize % stack.len();
                stack[at] ^= 1;
            }
            let known = known_of(&mut random, &stack, &taken);
            let common = managed.update(&stack, known, 1 << 20, false);
            assert_eq!((common, managed.outermost()), (common_of(&stack, &taken), stack.len()));
            taken.clone_from(&stack);
            assert!(managed.delta().shared == 0 || !lost);
            lost = round % 13 == 0;
            if lost {
                continue;
            }
            let delta = managed.delta();
            let outermost_first: Vec<u64> = stack.iter().rev().copied().collect();
            let same = |(new, old): &(&u64, &u64)| new == old;
            let common = outermost_first.iter().zip(&recorder.stack).take_while(same).count();
            let expected = if round % 13 == 1 || round == 0 { 0 } else { common };
            assert_eq!((delta.shared as usize, delta.truncated), (expected, false));
            assert_eq!(recorder.hear(&delta), stack);
            managed.tell();
        }
    }

    #[test]
    fn of_stacks_beyond_the_limit_both_ends_are_kept() {
        for limit in [3, 4, 9, 100] {
            let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
            let mut taken = Vec::new();
            for depth in (limit - 2..limit + 40).rev().chain(limit - 2..limit + 40) {
                // From the outermost frame on, and for some depths from the innermost on.
                let mut stack: Vec<u64> = (0..depth as u64).map(|frame| frame * 2 + 1).collect();
                if depth % 5 > 0 {
                    stack.reverse();
                }
                let outer = limit - limit / 2 - 1;
                let agreed = common_of(&stack, &taken).min(managed.outermost()).min(outer);
                let known = if depth % 3 > 0 { agreed } else { 0 };
                managed.update(&stack, known, limit, true);
                taken.clone_from(&stack);
                assert!(managed.delta().truncated);
                let heard = recorder.hear(&managed.delta());
                managed.tell();
                if depth <= limit {
                    assert_eq!(heard, stack);
                    continue;
                }
                let inner = limit / 2;
                assert_eq!(managed.outermost(), outer);
                assert_eq!((heard.len(), heard[inner]), (limit, FRAMES_LEFT_OUT));
                assert_eq!(heard[..inner], stack[..inner]);
                assert_eq!(heard[inner + 1..], stack[depth - outer..]);
            }
        }
    }

    #[test]
    fn what_is_fresh_is_translated_in_place_and_known_again_all_the_same() {
        let mut managed = Managed::default();
        managed.update(&[3, 2, 1], 0, 10, false);
        managed.fresh_mut().iter_mut().for_each(|frame| *frame += 100);
        assert_eq!(managed.delta().fresh.iter().collect::<Vec<_>>(), [103, 102, 101]);
        managed.tell();
        managed.update(&[4, 2, 1], 0, 10, false);
        assert_eq!((managed.delta().shared, managed.fresh_mut().len()), (2, 1));
        managed.clear();
        managed.update(&[4, 2, 1], 0, 10, false);
        assert_eq!((managed.delta().shared, managed.fresh_mut().len()), (0, 3));
    }
}
