//! Which part of a stack can be read. \[UNSAFE\]
//!
//! The bounds that pthreads know are wrong on a coroutine's stack and cost a parse of
//! `/proc/self/maps` on the main one. Here a page is asked for once, by a system call that reports a
//! bad address instead of faulting, and remembered for the thread: what is known is always one run
//! of pages that holds the stack pointer, and grows by a page at a time.

use core::ops::Range;

use lifetrace_agent::sys;

const PAGE: u64 = 4096;

/// A stack that has grown by no more than this is still the same one.
const SAME_STACK: u64 = 256 * 1024;

/// A thread's readable run of pages.
#[derive(Debug)]
pub struct Readable<'a> {
    known: &'a mut Range<u64>,
    stack_pointer: u64,
    /// Words from the stack pointer to the end of what is known.
    words: u64,
}

impl<'a> Readable<'a> {
    /// Starts a walk at `stack_pointer`, with what is `known` from earlier ones.
    pub fn new(known: &'a mut Range<u64>, stack_pointer: u64) -> Self {
        let page = stack_pointer & !(PAGE - 1);
        let grown = stack_pointer < known.start && known.start - page <= SAME_STACK;
        if grown && (page..known.start).step_by(PAGE as usize).all(sys::is_readable) {
            known.start = page;
        } else if !known.contains(&stack_pointer) {
            *known = page..page + PAGE;
        }
        let words = (known.end - stack_pointer) / 8;
        Readable { known, stack_pointer, words }
    }

    /// The word at `address`, if it is on the stack and readable.
    #[inline]
    pub fn word(&mut self, address: u64) -> Option<u64> {
        // Below the stack pointer the difference wraps, at an odd address the rotation makes it huge.
        let place = address.wrapping_sub(self.stack_pointer).rotate_right(3);
        if place >= self.words {
            self.extend(place)?;
        }
        // SAFETY: the word lies between the stack pointer and the end of pages that the kernel
        // found readable, all of this thread's own stack.
        Some(unsafe { (address as *const u64).read_volatile() })
    }

    /// Gets to know the pages up to the word at `place`.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, place: u64) -> Option<()> {
        /// Frames are not larger than this: a wild pointer is not followed page by page.
        const LARGEST_FRAME: u64 = (16 << 20) / 8;
        while place >= self.words {
            if place - self.words > LARGEST_FRAME || !sys::is_readable(self.known.end) {
                return None;
            }
            self.known.end += PAGE;
            self.words += PAGE / 8;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_stack_and_nothing_below_or_far_above() {
        let marker = [0x1234_5678_9abc_def0u64; 4];
        let address = marker.as_ptr() as u64;
        let mut known = 0..0;
        let mut stack = Readable::new(&mut known, address);
        assert_eq!(stack.word(address), Some(marker[0]));
        assert_eq!(stack.word(address + 24), Some(marker[3]));
        assert_eq!(stack.word(address - 8), None);
        assert_eq!(stack.word(address + 1), None);
        assert_eq!(stack.word(u64::MAX - 3), None);
        assert_eq!(stack.word(address + (1 << 40)), None);
    }

    #[test]
    fn ends_where_the_mapping_ends() {
        // Far from everything else.
        let start = 0x1234_5678_9000u64;
        assert!(sys::map_at(start as usize, 2 * PAGE as usize));
        let mut known = 0..0;
        let mut stack = Readable::new(&mut known, start);
        assert_eq!(stack.word(start + 2 * PAGE - 8), Some(0));
        assert_eq!(stack.word(start + 2 * PAGE), None);
        assert_eq!(known, start..start + 2 * PAGE);
    }
}
