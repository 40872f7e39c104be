//! A thread's last backtrace, and the next one as a difference to it.
//!
//! Between two samples of a thread most of its stack stays as it is. So the last backtrace is kept
//! with a [`Note`] per frame, by which the unwinder knows a frame again ([`Backtraces::meet`]) and
//! gets to its caller without a search. Where it arrives at the outermost frame that way, all
//! frames that it has come by are shared, and nothing was written: the cost of a backtrace is in
//! its new frames.
//!
//! ```text
//! stack    main  run  eval  call  alloc                last backtrace, outermost first
//! new                        leaf  parse               this one's own frames, innermost first
//!          └── shared ──┘
//! ```
//!
//! The unwinder pushes new frames, settles how many outermost ones it shares, and that is the
//! stack from then on.

use lifetrace_transport::message::{BacktraceDelta, Frames};

use crate::frames::FrameStore;

/// What the unwinder notes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Note {
    /// The stack pointer, when it is this frame's turn.
    pub sp: u64,
    /// How to get to the caller, in the unwinder's own terms.
    pub rule: u64,
}

/// No map of an unwinder has this number.
const NO_MAP: u64 = 0;

/// See the module. All zero is one without a last backtrace.
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
    /// The recorder has the last backtrace; false between `settle` and `tell`.
    told: bool,
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

    /// The place, counted from the outermost frame, of the last backtrace's frame at this place of the
    /// stack, if it has this address. `sp` never decreases between calls.
    #[inline]
    pub fn meet(&mut self, address: u64, sp: u64) -> Option<usize> {
        while let Some(place) = self.unmet.checked_sub(1) {
            let (known, note) = self.store.stack_frame(place)?;
            if note.sp >= sp {
                return (note.sp == sp && known == address).then_some(place);
            }
            self.unmet = place;
        }
        None
    }

    /// The last backtrace from its outermost frame up to the one at `place`: addresses and notes.
    #[inline]
    pub fn last(&mut self, place: usize) -> (&[u64], &[Note]) {
        let parts = self.store.parts();
        (&parts.stack[..=place], &parts.stack_notes[..=place])
    }

    /// Adds the next outer frame; false when there is no room for it.
    #[inline]
    pub fn push(&mut self, address: u64, note: Note) -> bool {
        let has_room = self.store.write_new(self.new, address, note)
            || self.store.grow() && self.store.write_new(self.new, address, note);
        self.new += usize::from(has_room);
        self.truncated |= !has_room;
        has_room
    }

    /// Adds the frames that were met from the place `inner` out to `outer`; false when there is no
    /// room for all. Only frames outside them can be met from now on.
    pub fn push_met(&mut self, inner: usize, outer: usize) -> bool {
        self.unmet = outer;
        (outer..=inner).rev().all(|place| {
            let parts = self.store.parts();
            let (address, note) = (parts.stack[place], parts.stack_notes[place]);
            self.push(address, note)
        })
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
        let parts = self.store.parts();
        // The unwinder meets a frame by its place; by address alone more may be shared.
        while shared < self.length && self.new > 0 && parts.stack[shared] == parts.new[self.new - 1]
        {
            self.new -= 1;
            parts.stack_notes[shared] = parts.new_notes[self.new];
            shared += 1;
        }
        let new = self.new;
        self.length = shared + new;
        let own = shared..self.length;
        for (to, from) in parts.stack[own.clone()].iter_mut().zip(parts.new[..new].iter().rev()) {
            *to = *from;
        }
        for (to, from) in parts.stack_notes[own].iter_mut().zip(parts.new_notes[..new].iter().rev())
        {
            *to = *from;
        }
        self.shared = shared;
        if !core::mem::take(&mut self.told) {
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

    /// The settled backtrace, outermost frame first; `None` if it is cut off.
    pub fn whole(&self) -> Option<&[u64]> {
        (!self.truncated).then(|| &self.store.stack()[..self.length])
    }

    /// The recorder has the settled backtrace. If this is not said, the next one is whole.
    pub fn tell(&mut self) {
        self.told = true;
    }

    /// The recorder has none (any more).
    pub fn forget(&mut self) {
        self.told = false;
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
        let parts = self.store.parts();
        for (to, from) in
            parts.new[self.new..].iter_mut().zip(parts.stack[..self.shared].iter().rev())
        {
            *to = *from;
        }
        self.new += self.shared;
        self.shared = 0;
    }
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

    /// Walks `stack` (outermost first, a frame per 16 bytes) as an unwinder does.
    fn walk(backtraces: &mut Backtraces, stack: &[u64], map: u64) {
        let top = 1 << 40;
        let sp = |index: usize| top - 16 * index as u64;
        backtraces.start(map);
        let mut index = stack.len();
        while index > 0 {
            let at = index - 1;
            let Some(met) = backtraces.meet(stack[at], sp(at)) else {
                if !backtraces.push(stack[at], note(sp(at))) {
                    return backtraces.settle(0);
                }
                index -= 1;
                continue;
            };
            let (addresses, notes) = backtraces.last(met);
            assert_eq!(notes[met], note(sp(at)));
            let same = |place: &usize| addresses[*place] == stack[*place];
            let as_before = (0..=met).rev().take_while(same).count();
            if as_before == met + 1 {
                return backtraces.settle(met + 1);
            }
            let last = met + 1 - as_before;
            if !backtraces.push_met(met, last) {
                return backtraces.settle(0);
            }
            index = last;
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
            backtraces.tell();
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
            backtraces.tell();
            stack.extend(0..5);
        }
    }
}
