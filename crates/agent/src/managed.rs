//! A thread's backtrace in a managed runtime, as a difference to the one that the recorder has.
//!
//! The walk knows how many outermost frames are those of the backtrace that was told last ([`Chain`]);
//! the others are sent from where the walk has left their numbers.
//!
//! ```text
//! the thread's walk      leaf  parse │ eval  run  main         innermost first
//! told last             alloc   call │ eval  run  main
//!                          fresh     │     shared
//! ```
//!
//! Of a stack deeper than the limit both ends are told, half of the limit each: what allocates, and who
//! asked for it. [`FRAMES_LEFT_OUT`] is between them.

use lifetrace_transport::message::{BacktraceDelta, FRAMES_LEFT_OUT, Frames, MANAGED_FRAME};

use crate::buffer::Buffer;
use crate::chain::{Chain, common_suffix};

const LEFT_OUT: u32 = (FRAMES_LEFT_OUT & !MANAGED_FRAME) as u32;

/// See the module. All zero is one without a backtrace.
#[derive(Debug, Default)]
pub struct Managed {
    /// The last walk, and how much of it the recorder has.
    pub chain: Chain,
    next: Next,
    /// Its fresh frames, if they are not the walk's.
    copied: Buffer<u32>,
}

/// What is to be told.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    shared: usize,
    fresh: usize,
    is_copied: bool,
    is_truncated: bool,
    /// So many outermost frames of the walk are also its own.
    agrees: usize,
}

impl Managed {
    /// The thread's walk is to be told; `is_truncated` says that outermost frames are missing. `limit` is the
    /// greatest number of frames, at least 3. False if there is no memory.
    pub fn tell_walk(&mut self, limit: usize, is_truncated: bool) -> bool {
        let Managed { chain, next, copied } = self;
        let (numbers, shared) = (chain.numbers(), chain.agreed());
        let agrees = numbers.len();
        if numbers.len() <= limit {
            let fresh = numbers.len() - shared;
            *next = Next { shared, fresh, is_copied: false, is_truncated, agrees };
            return true;
        }
        *next = Next { is_truncated, ..copy_ends(copied, numbers, shared, limit) };
        next.agrees = next.agrees.min(agrees);
        next.is_copied
    }

    /// A backtrace that waited is to be told, by its numbers.
    pub fn tell_other(&mut self, numbers: &[u32], limit: usize, is_truncated: bool) -> bool {
        let Managed { chain, next, copied } = self;
        let common = common_suffix(numbers, chain.numbers());
        let shared = common.min(chain.agreed());
        if numbers.len() > limit {
            *next = Next { is_truncated, ..copy_ends(copied, numbers, shared, limit) };
        } else {
            let fresh = numbers.len() - shared;
            let is_copied = copy(copied, 0, &numbers[..fresh]);
            *next = Next { shared, fresh, is_copied, is_truncated, agrees: numbers.len() };
        }
        next.agrees = next.agrees.min(common);
        next.is_copied
    }

    /// The backtrace as a difference to the one that the recorder has.
    pub fn delta(&self) -> BacktraceDelta<'_> {
        let Next { shared, fresh, is_copied, is_truncated: truncated, .. } = self.next;
        let numbers = if is_copied { self.copied.words() } else { self.chain.numbers() };
        let fresh = Frames::Numbers(&numbers[..fresh]);
        BacktraceDelta { shared: shared as u32, truncated, fresh }
    }

    /// The recorder has been told of the backtrace.
    pub fn told(&mut self) {
        self.chain.agree(self.next.agrees);
    }

    /// The recorder has none (any more): the next one is whole.
    pub fn forget(&mut self) {
        self.chain.agree(0);
    }

    /// Forgets the last walk: it is another thread's, or was told to another recorder.
    pub fn clear(&mut self) {
        self.chain.clear();
        self.next = Next::default();
    }
}

/// Both ends of a stack that is too deep, of whose outermost frames so many are shared.
fn copy_ends(to: &mut Buffer<u32>, numbers: &[u32], shared: usize, limit: usize) -> Next {
    let inner = limit / 2;
    let outer = limit - inner - 1;
    let shared = shared.min(outer);
    let (end, fresh) = (numbers.len(), inner + 1 + outer - shared);
    let is_copied = copy(to, inner + 1, &numbers[end - outer..end - shared])
        && copy(to, inner, &[LEFT_OUT])
        && copy(to, 0, &numbers[..inner]);
    Next { shared, fresh, is_copied, is_truncated: false, agrees: outer }
}

/// False if there is no memory.
fn copy(to: &mut Buffer<u32>, at: usize, numbers: &[u32]) -> bool {
    let end = at + numbers.len();
    let has_room = to.reserve(end);
    if has_room {
        to.words_mut()[at..end].copy_from_slice(numbers);
    }
    has_room
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::fake::Fake;
    use crate::layouts::Layouts;
    use crate::random::Random;

    const ALL: usize = 1 << 20;

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
        managed.told();
        heard
    }

    /// As a recorder is to have it.
    fn at_most(limit: usize, numbers: &[u32]) -> Vec<u32> {
        if numbers.len() <= limit {
            return numbers.to_vec();
        }
        let inner = limit / 2;
        let outer = limit - inner - 1;
        let ends = [&numbers[..inner], &[LEFT_OUT], &numbers[numbers.len() - outer..]];
        ends.concat()
    }

    /// Walks, some of which wait until later ones were told, some are never told, and some are lost on the way.
    #[test]
    fn the_recorder_hears_what_was_walked_whatever_has_waited_or_was_lost() {
        for limit in [3, 4, 9, 60, ALL] {
            let mut random = Random::new(4, limit as u64);
            let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
            let (mut fake, mut layouts) = (Fake::default(), Layouts::new());
            let mut waiting: Vec<Vec<u32>> = Vec::new();
            let mut saved = 0;
            for round in 0..2_000u64 {
                let gone = (random.word() % 12).min(fake.frames.len() as u64) as usize;
                fake.frames.drain(..gone);
                (0..random.word() % 12).for_each(|_| fake.push(random.word() % 9 + 1));
                if fake.frames.len() > 100 {
                    fake.frames.drain(..70);
                }
                let Some(&first) = fake.frames.first() else { continue };
                managed.chain.walk(&mut fake, &mut layouts, first, ALL);
                let mut numbers = fake.numbers();
                match random.word() % 8 {
                    0 => continue,
                    1 => {
                        waiting.push(numbers);
                        continue;
                    }
                    2 if !waiting.is_empty() => {
                        numbers = waiting.swap_remove(random.word() as usize % waiting.len());
                        assert!(managed.tell_other(&numbers, limit, false));
                    }
                    _ => assert!(managed.tell_walk(limit, false)),
                }
                if round % 13 == 0 {
                    managed.forget();
                    recorder.has_one = false;
                    continue;
                }
                saved += managed.delta().shared as usize;
                assert_eq!(is_told(&mut managed, &mut recorder), at_most(limit, &numbers));
            }
            assert!(saved > 500, "{saved}");
        }
    }

    #[test]
    fn frames_that_are_given_are_told_by_what_is_new() {
        let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
        let mut take = |slots: &[u64], shared, is_truncated| {
            let is_taken = managed.chain.take(slots, |new, numbers| {
                new.iter().zip(numbers).for_each(|(&slot, number)| *number = slot as u32 + 100);
                true
            });
            assert!(is_taken && managed.tell_walk(10, is_truncated));
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
            assert!(is_taken && managed.tell_walk(10, false));
            assert_eq!(managed.delta().shared, 0);
            assert_eq!(is_told(&mut managed, &mut recorder), [2, 1]);
            managed.clear();
        }
    }
}
