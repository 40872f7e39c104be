//! Memory for the frames of a thread's backtraces, as much as its stacks are deep. \[UNSAFE\]
//!
//! ```text
//! FrameStore ──▶ stack addresses │ new addresses │ stack notes │ new notes      (one mapping, whole pages)
//! ```
//!
//! The four parts have the same length, which grows by a factor of four. A thread with stacks of
//! eighty frames has one page; one with the greatest depth 580 KiB.

use core::ptr::NonNull;

use lifetrace_transport::codec::MAX_FRAMES;

use crate::sys;

/// What the unwinder notes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Note {
    /// The stack pointer, when it is this frame's turn.
    pub sp: u64,
    /// How to get to the caller, in the unwinder's own terms.
    pub rule: u64,
}

/// Frames that fit into a page.
const FIRST: usize = 4096 / FRAME;
const FRAME: usize = 2 * (size_of::<u64>() + size_of::<Note>());

/// Memory for the frames of two backtraces, the last one and the next. All zero is one without memory.
#[derive(Debug)]
pub struct FrameStore {
    start: Option<NonNull<u8>>,
    capacity: usize,
}

/// The parts of a store.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The last backtrace, innermost frame first, at the end: the outermost frame has the last place.
    pub stack: &'a mut [u64],
    /// What is noted of its frames.
    pub stack_notes: &'a mut [Note],
    /// The new frames, innermost first, from the beginning.
    pub new: &'a mut [u64],
    /// What is noted of those.
    pub new_notes: &'a mut [Note],
}

impl FrameStore {
    /// One without memory.
    pub const fn new() -> Self {
        FrameStore { start: None, capacity: 0 }
    }

    /// Length of each part.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The parts.
    #[inline]
    pub fn parts(&mut self) -> Parts<'_> {
        let start = self.start.map_or(NonNull::dangling(), NonNull::cast::<u64>);
        let (n, notes) = (self.capacity, size_of::<Note>() / size_of::<u64>());
        // SAFETY: the mapping has room for these four, one after the other, or there is none and they
        // are empty; it is zeroed or was written through such slices; we are its only owner, and the
        // result borrows us.
        unsafe {
            let new = start.add(n);
            let stack_notes = new.add(n);
            let new_notes = stack_notes.add(n * notes);
            Parts {
                stack: NonNull::slice_from_raw_parts(start, n).as_mut(),
                new: NonNull::slice_from_raw_parts(new, n).as_mut(),
                stack_notes: NonNull::slice_from_raw_parts(stack_notes.cast(), n).as_mut(),
                new_notes: NonNull::slice_from_raw_parts(new_notes.cast(), n).as_mut(),
            }
        }
    }

    /// Room for the last backtrace, which is at its end.
    #[inline]
    pub fn stack(&self) -> &[u64] {
        let Some(start) = self.start else { return &[] };
        // SAFETY: as below; the stack is the first part.
        unsafe { NonNull::slice_from_raw_parts(start.cast(), self.capacity).as_ref() }
    }

    /// What is noted of the last backtrace's frames.
    pub fn stack_notes(&self) -> &[Note] {
        let Some(start) = self.start else { return &[] };
        // SAFETY: as for `parts`; they are the third part, behind two of words.
        unsafe {
            let notes = start.cast::<u64>().add(2 * self.capacity).cast();
            NonNull::slice_from_raw_parts(notes, self.capacity).as_ref()
        }
    }

    /// Makes room for more frames, and keeps those there are; false at the greatest depth, or when
    /// there is no memory.
    #[cold]
    pub fn grow(&mut self) -> bool {
        let capacity = if self.capacity == 0 { FIRST } else { self.capacity * 4 }.min(MAX_FRAMES);
        if capacity == self.capacity {
            return false;
        }
        let Some(start) = sys::map(bytes(capacity)) else { return false };
        let mut old = core::mem::replace(self, FrameStore { start: Some(start), capacity });
        let (from, to) = (old.parts(), self.parts());
        let n = from.stack.len();
        to.stack[capacity - n..].copy_from_slice(from.stack);
        to.new[..n].copy_from_slice(from.new);
        to.stack_notes[capacity - n..].copy_from_slice(from.stack_notes);
        to.new_notes[..n].copy_from_slice(from.new_notes);
        if let Some(start) = old.start {
            // SAFETY: the old mapping is ours, and its contents have moved.
            unsafe { sys::unmap(start, bytes(n)) };
        }
        true
    }
}

impl Default for FrameStore {
    fn default() -> Self {
        Self::new()
    }
}

const fn bytes(capacity: usize) -> usize {
    (capacity * FRAME).next_multiple_of(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_grows_to_the_greatest_depth_and_keeps_what_it_holds() {
        let mut store = FrameStore::new();
        assert!(store.parts().stack.is_empty());
        assert!(store.grow());
        assert_eq!(bytes(store.capacity()), 4096);
        let parts = store.parts();
        parts.stack[FIRST - 1] = 1;
        parts.new[0] = 2;
        parts.stack_notes[0] = Note { sp: 3, rule: 4 };
        parts.new_notes[FIRST - 1] = Note { sp: 5, rule: 6 };
        while store.grow() {}
        assert_eq!(store.capacity(), MAX_FRAMES);
        assert_eq!(store.stack()[MAX_FRAMES - 1], 1);
        let parts = store.parts();
        assert_eq!((parts.stack[MAX_FRAMES - 1], parts.new[0]), (1, 2));
        assert_eq!(parts.stack_notes[MAX_FRAMES - FIRST], Note { sp: 3, rule: 4 });
        assert_eq!(parts.new_notes[FIRST - 1], Note { sp: 5, rule: 6 });
        assert_eq!(parts.new_notes[MAX_FRAMES - 1], Note { sp: 0, rule: 0 });
        assert_eq!(parts.stack[0], 0);
    }
}
