//! An array of words, or of half words, that grows, of memory that no allocator knows. \[UNSAFE\]
//!
//! It is a mapping of its own, which grows by a factor of two, and is given back only by who says so:
//! most are part of a thread's record, which is used again by the next thread.

use core::ptr::NonNull;

use lifetrace_transport::memory;

use crate::sys;

const FIRST_BYTES: usize = 4096;

/// What a buffer holds.
///
/// # Safety
/// Eight bytes of zeros are one or two of these.
pub unsafe trait Word: Copy {}

// SAFETY: zero.
unsafe impl Word for u64 {}
// SAFETY: two zeros.
unsafe impl Word for u32 {}

/// An array of words that grows, in a mapping of its own. All zero is one without memory.
#[derive(Debug)]
pub struct Buffer<W = u64> {
    start: Option<NonNull<W>>,
    capacity: usize,
}

// SAFETY: it owns its memory.
unsafe impl<W: Word> Send for Buffer<W> {}

impl<W: Word> Default for Buffer<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Word> Buffer<W> {
    /// One without memory.
    pub const fn new() -> Self {
        Buffer { start: None, capacity: 0 }
    }

    /// All words, those that were never written as zeros.
    #[inline(always)]
    pub fn words(&self) -> &[W] {
        let start = self.start.unwrap_or(NonNull::dangling());
        // SAFETY: the mapping has so many words, zeroed or written; we are its only owner.
        unsafe { NonNull::slice_from_raw_parts(start, self.capacity).as_ref() }
    }

    /// All words.
    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [W] {
        let start = self.start.unwrap_or(NonNull::dangling());
        // SAFETY: as above.
        unsafe { NonNull::slice_from_raw_parts(start, self.capacity).as_mut() }
    }

    /// Makes room for `wanted` words, and keeps those there are at the same places; false when there is
    /// no memory.
    #[inline]
    pub fn reserve(&mut self, wanted: usize) -> bool {
        wanted <= self.capacity || self.grow(wanted)
    }

    #[cold]
    fn grow(&mut self, wanted: usize) -> bool {
        let bytes = (wanted * size_of::<W>()).max(FIRST_BYTES).next_power_of_two();
        let Some(start) = sys::map(bytes) else { return false };
        let larger = Buffer { start: Some(start.cast()), capacity: bytes / size_of::<W>() };
        let old = core::mem::replace(self, larger);
        self.words_mut()[..old.capacity].copy_from_slice(old.words());
        old.give_back();
        true
    }

    /// Gives its memory back to the kernel.
    pub fn give_back(self) {
        if let Some(start) = self.start {
            // SAFETY: the mapping is ours, and nobody refers to it any more.
            unsafe { sys::unmap(start.cast(), self.capacity * size_of::<W>()) };
        }
    }
}

/// Copies as many words as both have, without a call.
#[inline(always)]
pub fn copy<W: Word>(to: &mut [W], from: &[W]) {
    let count = to.len().min(from.len());
    // SAFETY: both have so many words, and nobody else refers to those that are written.
    unsafe { memory::copy(to.as_mut_ptr().cast(), from.as_ptr().cast(), count * size_of::<W>()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_keeps_what_it_holds() {
        let mut buffer = Buffer::<u64>::new();
        assert!(buffer.words().is_empty() && buffer.reserve(0) && buffer.words().is_empty());
        assert!(buffer.reserve(1));
        assert_eq!(buffer.words().len(), FIRST_BYTES / 8);
        buffer.words_mut()[511] = 7;
        assert!(buffer.reserve(100_000));
        assert_eq!((buffer.words()[511], buffer.words()[512]), (7, 0));
        assert_eq!(buffer.words().len(), 131_072);
        let mut halves = Buffer::<u32>::new();
        assert!(halves.reserve(FIRST_BYTES / 4 + 1));
        assert_eq!(halves.words(), [0; FIRST_BYTES / 2]);
    }
}
