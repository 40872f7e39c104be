//! Which part of a stack can be read. \[UNSAFE\]
//!
//! The bounds that pthreads know are wrong on a coroutine's stack and cost a parse of
//! `/proc/self/maps` on the main one. Here a page is asked for once, by a system call that reports a
//! bad address instead of faulting, and remembered for the thread: what is known is always one run
//! of pages that holds the stack pointer, and grows by a page at a time.
//!
//! A [`Climb`] goes from frame to frame inside what is known: it need not ask, so it is cheap.

use core::marker::PhantomData;
use core::ops::Range;

use lifetrace_agent::sys;

const PAGE: u64 = 4096;
const WORD: u64 = 8;

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

    /// Starts a climb at `sp`; `None` if that is no place on the known stack for a word.
    #[inline]
    pub fn climb(&self, sp: u64) -> Option<Climb<'_>> {
        let known = self.stack_pointer..=self.known.end;
        let is_place = known.contains(&sp) && sp.is_multiple_of(WORD);
        let is_positive = self.known.end <= i64::MAX as u64;
        let climb = Climb { sp: sp as i64, end_place: self.known.end / WORD, stack: PhantomData };
        (is_place && is_positive).then_some(climb)
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

/// A place on a stack from which all words up to the end are readable.
#[derive(Debug)]
pub struct Climb<'a> {
    sp: i64,
    /// The end, in words.
    end_place: u64,
    stack: PhantomData<&'a Readable<'a>>,
}

impl Climb<'_> {
    /// Where it is.
    #[inline(always)]
    pub fn sp(&self) -> u64 {
        self.sp as u64
    }

    /// Goes on to `cfa`, and gives the word below that, and the word which is another `down` bytes, in
    /// whole words, below. Both must be between here and there, and be known to be readable: else it is
    /// `None`, and stays.
    #[inline(always)]
    pub fn go(&mut self, cfa: u64, down: u32) -> Option<(u64, u64)> {
        // At an odd address the rotation makes it huge.
        let lower = (cfa as i64).wrapping_sub(i64::from(down & !7));
        if cfa.rotate_right(3) > self.end_place || lower <= self.sp {
            return None;
        }
        self.sp = cfa as i64;
        // SAFETY: `cfa` and `end` are no negative numbers, so `lower` has not wrapped. Both words end
        // behind `sp`, which is a multiple of 8 like they are, and before `end`; what is between these is
        // readable, and this thread's own stack.
        Some(unsafe {
            let word = |end: u64| ((end - WORD) as *const u64).read_volatile();
            (word(cfa), word(lower as u64))
        })
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

    #[test]
    fn a_climb_stays_between_where_it_is_and_the_end() {
        let start = 0x1234_5678_d000u64;
        assert!(sys::map_at(start as usize, PAGE as usize));
        let mut known = 0..0;
        let mut stack = Readable::new(&mut known, start + 64);
        let end = start + PAGE;
        assert!([start + 56, start + 65, end + 8].iter().all(|&sp| stack.climb(sp).is_none()));
        assert_eq!(stack.climb(end).and_then(|mut climb| climb.go(end + 8, 0)), None);
        for (sp, cfa, down, goes) in [
            (start + 64, start + 72, 0, true),
            (start + 64, end, 8 + 7, true),
            (start + 64, end, 503 * 8, true),
            (start + 64, end, 504 * 8, false),
            (start + 64, start + 64, 0, false),
            (start + 80, start + 72, 0, false),
            (start + 64, start + 80, 16, false),
            (start + 64, start + 76, 0, false),
            (start + 64, end + 8, 0, false),
            (start + 64, 0, 0, false),
            (start + 64, 64, u32::MAX, false),
            (start + 64, 1 << 63, 0, false),
            (start + 64, (1 << 63) + 64, 72, false),
            (start + 64, u64::MAX - 7, u32::MAX, false),
        ] {
            let mut climb = stack.climb(sp).unwrap();
            assert_eq!(climb.go(cfa, down), goes.then_some((0, 0)), "{sp:x} {cfa:x} {down}");
            assert_eq!(climb.sp(), if goes { cfa } else { sp });
        }
        assert_eq!(stack.word(end), None);
    }
}
