//! A thread's last backtrace, and the next one as a difference to it.
//!
//! Between two samples of a thread most of its stack stays as it is. So the last backtrace is kept
//! with a [`Note`] per frame, by which a frame is known again ([`Backtraces::push_until_met`]) and
//! the unwinder gets to its caller without a search. Where it arrives at the outermost frame that way, all
//! frames that it has come by are shared, and nothing was written: the cost of a backtrace is in
//! its new frames.
//!
//! ```text
//! stack    alloc  call  eval  run  main                last backtrace, innermost frame first
//! new      leaf  parse                                 this one's own frames, likewise
//!                       └─ shared ─┘
//! ```
//!
//! The unwinder pushes new frames, settles how many outermost ones it shares, and that is the
//! stack from then on. Not every frame is compared with the last backtrace, as most have no
//! counterpart there as long as none was met: a few are pushed between one comparison and the next
//! ([`Backtraces::push_until_met`]), and if some of these could have been met, settling finds that out.

use lifetrace_transport::message::{BacktraceDelta, Frames};

pub use crate::frames::Note;
use crate::frames::{FrameStore, Parts};

/// How many frames are pushed between one comparison with the last backtrace and the next.
const RUN: usize = 4;

/// An unwinder on its way along the frames for which it has rules at hand.
pub trait Climber {
    /// The address and the stack pointer of the frame that it is at.
    fn at(&self) -> (u64, u64);

    /// Goes on to the caller, by the rule that it gives; `None` if it stays.
    fn go_on(&mut self) -> Option<u64>;
}

/// No map of an unwinder has this number.
const NO_MAP: u64 = 0;

/// A thread's last native backtrace, and the next one while it is made. All zero is one without a last backtrace.
#[derive(Debug, Default)]
pub struct Backtraces {
    store: FrameStore,
    /// Frames of the last backtrace.
    length: usize,
    /// New frames.
    new: usize,
    /// Only frames below this place can be met.
    unmet: usize,
    /// Of the settled backtrace, so many outermost frames are those of the one before.
    shared: usize,
    truncated: bool,
    /// The recorder has the last backtrace; false between `settle` and `mark_sent`.
    sent: bool,
    /// To which of the unwinder's maps the rules in the notes belong.
    map: u64,
}

impl Backtraces {
    /// Starts a new backtrace. Notes that were made under another `map` are not shown again.
    pub fn start(&mut self, map: u64) {
        self.unmet = if self.map == map { self.length } else { 0 };
        self.map = map;
        self.new = 0;
        self.truncated = false;
    }

    /// The last backtrace from the frame at `place` out to its outermost: addresses and notes.
    #[inline]
    pub fn last(&mut self, place: usize) -> (&[u64], &[Note]) {
        let first = self.store.capacity() - 1 - place;
        let parts = self.store.parts();
        (&parts.stack[first..], &parts.stack_notes[first..])
    }

    /// Adds the next outer frame; false when there is no room for it.
    pub fn push(&mut self, address: u64, note: Note) -> bool {
        let capacity = self.store.capacity();
        let has_room = self.new < capacity || self.store.grow();
        if has_room {
            let parts = self.store.parts();
            parts.new[self.new] = address;
            parts.new_notes[self.new] = note;
            self.new += 1;
        }
        self.truncated |= !has_room;
        has_room
    }

    /// Adds the frames that `climber` is at and comes by, out to one that is met, whose place in the
    /// last backtrace, counted from the outermost frame, it gives; or to one that is for
    /// [`Backtraces::push`]. Stack pointers never decrease, from one call to the next either.
    #[inline(always)]
    pub fn push_until_met(&mut self, climber: &mut impl Climber) -> Option<usize> {
        if self.store.capacity() - self.new < RUN {
            self.store.grow();
        }
        let Parts { stack, stack_notes, new, new_notes } = self.store.parts();
        let addresses = new[self.new..].as_chunks_mut::<RUN>().0;
        let notes = new_notes[self.new..].as_chunks_mut::<RUN>().0;
        for (addresses, notes) in addresses.iter_mut().zip(notes) {
            let (address, sp) = climber.at();
            let unmet = &stack_notes[stack.len() - self.unmet..];
            self.unmet -= unmet.iter().take_while(|note| note.sp < sp).count();
            let candidate = stack.len() - self.unmet;
            if stack.get(candidate) == Some(&address) && stack_notes[candidate].sp == sp {
                return Some(self.unmet - 1);
            }
            let count = push_run(climber, addresses, notes);
            self.new += count;
            if count < RUN {
                break;
            }
        }
        None
    }

    /// Adds the frames that were met from the place `inner` out to `outer`; false when there is no
    /// room for all. Only frames outside them can be met from now on.
    pub fn push_met(&mut self, inner: usize, outer: usize) -> bool {
        self.unmet = outer;
        let wanted = inner + 1 - outer;
        while self.new + wanted > self.store.capacity() && self.store.grow() {}
        let count = wanted.min(self.store.capacity() - self.new);
        let from = self.store.capacity() - 1 - inner;
        let (from, to) = (from..from + count, self.new..self.new + count);
        let parts = self.store.parts();
        parts.new[to.clone()].copy_from_slice(&parts.stack[from.clone()]);
        parts.new_notes[to].copy_from_slice(&parts.stack_notes[from]);
        self.new += count;
        self.truncated |= count < wanted;
        count == wanted
    }

    /// Settles for a backtrace without frames, marked as cut off.
    pub fn leave_out(&mut self) {
        self.start(NO_MAP);
        self.settle(0);
        self.truncate();
    }

    /// Marks the backtrace as cut off before its outermost frame.
    pub fn truncate(&mut self) {
        self.truncated = true;
    }

    /// Ends the new backtrace: outside the pushed frames there are the `shared` outermost ones of the
    /// last.
    pub fn settle(&mut self, shared: usize) {
        let mut shared = self.room_for_all(shared);
        let capacity = self.store.capacity();
        let parts = self.store.parts();
        // The unwinder meets a frame by its place; by address alone more may be shared.
        while shared < self.length
            && self.new > 0
            && parts.stack[capacity - 1 - shared] == parts.new[self.new - 1]
        {
            self.new -= 1;
            parts.stack_notes[capacity - 1 - shared] = parts.new_notes[self.new];
            shared += 1;
        }
        let new = self.new;
        self.length = shared + new;
        let own = capacity - self.length..capacity - shared;
        parts.stack[own.clone()].copy_from_slice(&parts.new[..new]);
        parts.stack_notes[own].copy_from_slice(&parts.new_notes[..new]);
        self.shared = shared;
        if !core::mem::take(&mut self.sent) {
            self.make_whole();
        }
    }

    /// The settled backtrace as a difference to the one that the recorder has.
    pub fn delta(&mut self) -> BacktraceDelta<'_> {
        BacktraceDelta {
            shared: self.shared as u32,
            truncated: self.truncated,
            fresh: Frames::Words(&self.store.parts().new[..self.new]),
        }
    }

    /// The settled backtrace, innermost frame first; `None` if it is cut off.
    pub fn whole(&self) -> Option<&[u64]> {
        (!self.truncated).then(|| self.frames())
    }

    /// The settled backtrace, innermost frame first, as far as it goes.
    pub fn frames(&self) -> &[u64] {
        &self.store.stack()[self.store.capacity() - self.length..]
    }

    /// What is noted of the settled backtrace's frames, innermost frame first.
    pub fn notes(&self) -> &[Note] {
        &self.store.stack_notes()[self.store.capacity() - self.length..]
    }

    /// Whether it is cut off.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The recorder has the settled backtrace. Otherwise the next one is whole.
    pub fn mark_sent(&mut self) {
        self.sent = true;
    }

    /// The recorder has none (any more).
    pub fn forget(&mut self) {
        self.sent = false;
    }

    /// Forgets the last backtrace: it is another thread's.
    pub fn clear(&mut self) {
        let store = core::mem::take(&mut self.store);
        *self = Backtraces { store, ..Backtraces::default() };
    }

    /// How many frames can be shared. At the greatest depth it is none: then the innermost ones that
    /// there is room for are the backtrace.
    fn room_for_all(&mut self, shared: usize) -> usize {
        while self.new + shared > self.store.capacity() {
            if !self.store.grow() {
                self.truncated = true;
                let _full = shared > 0 && self.push_met(shared - 1, 0);
                return 0;
            }
        }
        shared
    }

    fn make_whole(&mut self) {
        let from = self.store.capacity() - self.shared;
        let parts = self.store.parts();
        parts.new[self.new..][..self.shared].copy_from_slice(&parts.stack[from..]);
        self.new += self.shared;
        self.shared = 0;
    }
}

/// Writes the frames that `climber` is at and comes by; how many.
#[inline(always)]
fn push_run(
    climber: &mut impl Climber,
    addresses: &mut [u64; RUN],
    notes: &mut [Note; RUN],
) -> usize {
    for (count, (known, note)) in addresses.iter_mut().zip(notes).enumerate() {
        let (address, sp) = climber.at();
        let Some(rule) = climber.go_on() else { return count };
        (*known, *note) = (address, Note { sp, rule });
    }
    RUN
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use lifetrace_transport::codec::MAX_FRAMES;

    use super::*;
    use crate::random::Random;

    fn note(sp: u64) -> Note {
        Note { sp, rule: sp + 1 }
    }

    /// What a recorder makes of the differences.
    #[derive(Default)]
    struct Recorder {
        stack: Vec<u64>,
    }

    impl Recorder {
        fn hear(&mut self, delta: &BacktraceDelta<'_>) -> &[u64] {
            self.stack.truncate(delta.shared as usize);
            self.stack.extend(delta.fresh.iter().rev());
            &self.stack
        }
    }

    /// A walk of `stack` (outermost first, a frame per 16 bytes).
    struct Walk<'a> {
        stack: &'a [u64],
        left: usize,
    }

    impl Walk<'_> {
        fn sp(&self) -> u64 {
            (1 << 40) - 16 * self.left as u64
        }
    }

    impl Climber for Walk<'_> {
        fn at(&self) -> (u64, u64) {
            (self.stack[self.left - 1], self.sp())
        }

        /// Not from the outermost frame, and from every fifth one only by a closer look.
        fn go_on(&mut self) -> Option<u64> {
            let rule = note(self.sp()).rule;
            let goes = self.left > 1 && !self.left.is_multiple_of(5);
            self.left -= usize::from(goes);
            goes.then_some(rule)
        }
    }

    /// Walks `stack` as an unwinder does.
    fn walk(backtraces: &mut Backtraces, stack: &[u64], map: u64) {
        let mut walk = Walk { stack, left: stack.len() };
        backtraces.start(map);
        while walk.left > 0 {
            let Some(met) = backtraces.push_until_met(&mut walk) else {
                let (address, sp) = walk.at();
                if !backtraces.push(address, note(sp)) {
                    return backtraces.settle(0);
                }
                walk.left -= 1;
                continue;
            };
            let (addresses, notes) = backtraces.last(met);
            assert_eq!((notes[0], notes.len()), (note(walk.sp()), met + 1));
            let same = |(address, place): &(&u64, usize)| **address == stack[*place];
            let as_before = addresses.iter().zip((0..=met).rev()).take_while(same).count();
            if as_before == met + 1 {
                return backtraces.settle(met + 1);
            }
            let last = met + 1 - as_before;
            if !backtraces.push_met(met, last) {
                return backtraces.settle(0);
            }
            walk.left = last;
        }
        backtraces.settle(0);
    }

    #[test]
    fn the_recorder_hears_the_stack_whatever_has_changed_or_was_lost() {
        let mut random = Random::new(4, 4);
        let (mut backtraces, mut recorder) = (Backtraces::default(), Recorder::default());
        let mut stack: Vec<u64> = Vec::new();
        for round in 0..20_000u64 {
            let depth = random.word() as usize % (stack.len() + 1).min(40);
            stack.truncate(stack.len() - depth);
            stack.extend((0..random.word() % 40).map(|_| random.word() % 8));
            if round.is_multiple_of(7) && !stack.is_empty() {
                let at = random.word() as usize % stack.len();
                stack[at] ^= 1;
            }
            walk(&mut backtraces, &stack, round / 100);
            if round.is_multiple_of(13) {
                continue; // This one is lost.
            }
            let delta = backtraces.delta();
            let same = |(new, old): &(&u64, &u64)| new == old;
            let common = stack.iter().zip(&recorder.stack).take_while(same).count();
            let lost = round.saturating_sub(1).is_multiple_of(13);
            assert_eq!(delta.shared as usize, if lost { 0 } else { common });
            assert!(!delta.truncated);
            assert_eq!(recorder.hear(&delta), stack);
            backtraces.mark_sent();
        }
    }

    #[test]
    fn of_the_deepest_stacks_the_innermost_frames_are_kept() {
        let (mut backtraces, mut recorder) = (Backtraces::default(), Recorder::default());
        let mut stack: Vec<u64> = (0..MAX_FRAMES as u64 - 10).collect();
        for round in 0..4 {
            walk(&mut backtraces, &stack, 0);
            let delta = backtraces.delta();
            assert_eq!(delta.truncated, stack.len() > MAX_FRAMES);
            assert_eq!(delta.shared == 0, round == 0 || stack.len() > MAX_FRAMES);
            let kept = stack.len().saturating_sub(MAX_FRAMES);
            assert_eq!(recorder.hear(&delta), &stack[kept..]);
            backtraces.mark_sent();
            stack.extend(0..5);
        }
    }
}
