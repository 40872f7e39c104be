//! A thread's backtrace in a managed runtime, as a difference to the one that the recorder has.
//!
//! The walk knows how many outermost frames are those of the backtrace that was sent last ([`Chain`]);
//! the others are sent from where the walk has left their numbers.
//!
//! ```text
//! the thread's walk      leaf  parse │ eval  run  main         innermost first
//! sent last             alloc   call │ eval  run  main
//!                          fresh     │     shared
//! ```
//!
//! Of a stack deeper than the limit both ends are sent, half of the limit each: what allocates, and who
//! asked for it. [`FRAMES_LEFT_OUT`] is between them.

use core::ops::Range;

use lifetrace_transport::message::{BacktraceDelta, FRAMES_LEFT_OUT, Frames, MANAGED_FRAME, Run};

use crate::buffer::Buffer;
use crate::chain::{Chain, Outer};

const LEFT_OUT: u32 = (FRAMES_LEFT_OUT & !MANAGED_FRAME) as u32;

/// A thread's backtrace in a managed runtime, and what of it the recorder has. All zero is one without a backtrace.
#[derive(Debug, Default)]
pub struct Managed {
    /// The last walk, and how much of it the recorder has.
    pub chain: Chain,
    next: Next,
    /// Its fresh runs, if they are not the walk's.
    copied: Buffer<u32>,
}

/// What is to be told.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// Frames.
    shared: usize,
    /// Runs.
    fresh: usize,
    is_copied: bool,
    is_truncated: bool,
    /// What of the walk is also its own.
    agrees: Outer,
}

impl Managed {
    /// Takes the thread's walk as the next backtrace; `is_truncated` says that outermost frames are missing. `limit` is the
    /// greatest number of frames, at least 3. False if there is no memory.
    #[inline(always)]
    pub fn take_walk(&mut self, limit: usize, is_truncated: bool) -> bool {
        let Managed { chain, next, copied } = self;
        let (runs, agreed) = (chain.runs(), chain.agreed());
        if chain.frames() <= limit {
            let (shared, fresh) = (agreed.frames, runs.len() - agreed.runs);
            *next = Next { shared, fresh, is_copied: false, is_truncated, agrees: chain.whole() };
            return true;
        }
        *next = copy_ends(copied, runs, agreed.frames, limit);
        (next.is_truncated, next.agrees) = (is_truncated, chain.outer(outer_of(limit)));
        next.is_copied
    }

    /// The backtrace as a difference to the one that the recorder has.
    #[inline(always)]
    pub fn delta(&self) -> BacktraceDelta<'_> {
        let Next { shared, fresh, is_copied, is_truncated: truncated, .. } = self.next;
        let runs = if is_copied { self.copied.words() } else { self.chain.runs() };
        let fresh = Frames::Runs(&runs[..fresh]);
        BacktraceDelta { shared: shared as u32, truncated, fresh }
    }

    /// The recorder has the backtrace.
    pub fn mark_sent(&mut self) {
        self.chain.agree(self.next.agrees);
    }

    /// The recorder has none (any more): the next one is whole.
    pub fn forget(&mut self) {
        self.chain.agree(Outer::default());
    }

    /// Forgets the last walk: it is another thread's, or was told to another recorder.
    pub fn clear(&mut self) {
        self.chain.clear();
        self.next = Next::default();
    }
}

/// How many outermost frames are told of a stack that is too deep.
fn outer_of(limit: usize) -> usize {
    limit - limit / 2 - 1
}

/// Both ends of a stack that is too deep, of whose outermost frames so many are shared.
#[cold]
fn copy_ends(to: &mut Buffer<u32>, runs: &[u32], shared: usize, limit: usize) -> Next {
    let (frames, outer) = (Run::frames_of(runs), outer_of(limit));
    let shared = shared.min(outer);
    let ends = [0..limit / 2, frames - outer..frames - shared];
    let has_room = to.reserve(runs.len() + 2);
    let mut fresh = 0;
    if has_room {
        let to = to.words_mut();
        let [inner, outer] = ends;
        fresh = copy_frames(to, 0, runs, inner);
        to[fresh] = LEFT_OUT;
        fresh = copy_frames(to, fresh + 1, runs, outer);
    }
    Next { shared, fresh, is_copied: has_room, ..Next::default() }
}

/// Puts the frames that are wanted at `at`, and says where they end.
fn copy_frames(to: &mut [u32], mut at: usize, runs: &[u32], wanted: Range<usize>) -> usize {
    let mut start = 0;
    for &run in runs {
        let end = start + Run(run).frames();
        let taken = start.max(wanted.start)..end.min(wanted.end);
        if !taken.is_empty() {
            to[at] = Run::new(Run(run).number(), taken.len()).0;
            at += 1;
        }
        start = end;
    }
    at
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// What a recorder makes of the differences, outermost frame first.
    #[derive(Default)]
    struct Recorder {
        stack: Vec<u32>,
        has_one: bool,
    }

    impl Recorder {
        fn hear(&mut self, delta: &BacktraceDelta<'_>) -> Vec<u32> {
            assert!(self.has_one || delta.shared == 0);
            self.stack.truncate(delta.shared as usize);
            self.stack.extend(delta.fresh.iter().rev().map(|word| (word & !MANAGED_FRAME) as u32));
            self.has_one = true;
            self.stack.iter().rev().copied().collect()
        }
    }

    fn is_told(managed: &mut Managed, recorder: &mut Recorder) -> Vec<u32> {
        let heard = recorder.hear(&managed.delta());
        managed.mark_sent();
        heard
    }

    #[test]
    fn frames_that_are_given_are_told_by_what_is_new() {
        let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
        let mut take = |slots: &[u64], shared, is_truncated| {
            let is_taken = managed.chain.take(slots, |new, numbers| {
                new.iter().zip(numbers).for_each(|(&slot, number)| *number = slot as u32 + 100);
                true
            });
            assert!(is_taken && managed.take_walk(10, is_truncated));
            let delta = managed.delta();
            assert_eq!((delta.shared, delta.truncated), (shared, is_truncated));
            is_told(&mut managed, &mut recorder)
        };
        assert_eq!(take(&[3, 2, 1], 0, false), [103, 102, 101]);
        assert_eq!(take(&[4, 2, 1], 2, true), [104, 102, 101]);
        assert_eq!(take(&[4, 2, 1], 3, false), [104, 102, 101]);
        assert_eq!(take(&[1], 1, false), [101]);
        let deep: Vec<u64> = (1..=50).rev().collect();
        let ends = [vec![150, 149, 148, 147, 146, LEFT_OUT], vec![104, 103, 102, 101]];
        assert_eq!(take(&deep, 1, false), ends.concat());
        assert_eq!(take(&deep, 4, false), ends.concat());
    }

    #[test]
    fn what_was_cleared_is_told_whole() {
        let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
        for _ in 0..3 {
            let is_taken = managed.chain.take(&[2, 1], |_, numbers| {
                numbers.copy_from_slice(&[2, 1]);
                true
            });
            assert!(is_taken && managed.take_walk(10, false));
            assert_eq!(managed.delta().shared, 0);
            assert_eq!(is_told(&mut managed, &mut recorder), [2, 1]);
            managed.clear();
        }
    }
}
