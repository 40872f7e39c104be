//! An array of words that grows, of memory that no allocator knows. \[UNSAFE\]
//!
//! It is a mapping of its own, which grows by a factor of two, and is given back only by who says so:
//! most are part of a thread's record, which is used again by the next thread.

use core::ptr::NonNull;

use crate::sys;

const FIRST_BYTES: usize = 4096;

/// See the module. All zero is one without memory.
#[derive(Debug, Default)]
pub struct Buffer {
    start: Option<NonNull<u64>>,
    capacity: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    /// One without memory.
    pub const fn new() -> Self {
        Buffer { start: None, capacity: 0 }
    }

    /// All words, those that were never written as zeros.
    #[inline]
    pub fn words(&self) -> &[u64] {
        let start = self.start.unwrap_or(NonNull::dangling());
        // SAFETY: the mapping has so many words, zeroed or written; we are its only owner.
        unsafe { NonNull::slice_from_raw_parts(start, self.capacity).as_ref() }
    }

    /// All words.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
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
        let bytes = (wanted * size_of::<u64>()).max(FIRST_BYTES).next_power_of_two();
        let Some(start) = sys::map(bytes) else { return false };
        let larger = Buffer { start: Some(start.cast()), capacity: bytes / size_of::<u64>() };
        let old = core::mem::replace(self, larger);
        self.words_mut()[..old.capacity].copy_from_slice(old.words());
        old.give_back();
        true
    }

    /// Gives its memory back to the kernel.
    pub fn give_back(self) {
        if let Some(start) = self.start {
            // SAFETY: the mapping is ours, and nobody refers to it any more.
            unsafe { sys::unmap(start.cast(), self.capacity * size_of::<u64>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_keeps_what_it_holds() {
        let mut buffer = Buffer::new();
        assert!(buffer.words().is_empty() && buffer.reserve(0) && buffer.words().is_empty());
        assert!(buffer.reserve(1));
        assert_eq!(buffer.words().len(), FIRST_BYTES / 8);
        buffer.words_mut()[511] = 7;
        assert!(buffer.reserve(100_000));
        assert_eq!((buffer.words()[511], buffer.words()[512]), (7, 0));
        assert_eq!(buffer.words().len(), 131_072);
    }
}
