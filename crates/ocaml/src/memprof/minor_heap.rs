//! The minor heap of OCaml 4, as its runtime keeps it. \[UNSAFE\]
//!
//! Blocks are placed from its end downwards. The runtime is asked when the pointer has come below a limit:
//! the greater one of where a collection is due and of where the next sample is, or the heap's end if
//! something else waits to be done. (`runtime/caml/domain_state.tbl`, `minor_gc.c`, `signals.c`, 4.11 to 4.14.)

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use lifetrace_agent::chain::State;

/// Bytes of a word.
pub(super) const WORD: u64 = 8;

const HALF_A_WORD: i64 = 4;

/// Words of the domain's state that are at the same place in all versions.
const START: usize = 4;
const END: usize = 5;
const FIRST_PLACE: usize = 6;
const PLACES_END: usize = 7;
const COLLECTED_BELOW: usize = 9;

/// Bits of a header that are 0 in a block that marking has not met.
const COLOUR: u64 = 3 << 8;

/// Where the thunk sees whether the runtime was asked for nothing but a sample: the addresses of the pointer, of where
/// a collection is due, of the next sample, and of whether something waits. The domain's state stays where it is.
#[repr(C, align(32))]
pub(crate) struct Marks([AtomicUsize; 4]);

pub(crate) static MARKS: Marks = Marks([const { AtomicUsize::new(0) }; 4]);

/// The runtime's variables, and what keeps them in agreement.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MinorHeap {
    /// The variable that points to the domain's state.
    pub(super) state: *const *const u64,
    /// Below which place the next block is a sample: above the word that is hit, less half a word where we have
    /// drawn it. For code that does not allocate asks whether the pointer is at the limit or below; so it would ask
    /// in vain, again and again, where the word that comes next is hit.
    pub(super) next_sample: *mut u64,
    /// Whether something waits to be done: signals, finalisers, a collection that was asked for.
    pub(super) is_pending: *const c_int,
    /// Where the domain's state has the pointer, as an index of words.
    pub(super) pointer: u32,
    /// Where the domain's state has the stack pointer of the OCaml code that has called C, as an index of words;
    /// after it is where that returns to.
    pub(super) stack: u32,
}

impl MinorHeap {
    /// Lets the thunk know where to look.
    pub(super) fn mark(&self) {
        let word = |index| {
            // SAFETY: the domain's state has more words.
            unsafe { self.state.read().add(index) as usize }
        };
        let places = [
            word(self.pointer as usize),
            word(COLLECTED_BELOW),
            self.next_sample as usize,
            self.is_pending as usize,
        ];
        for (mark, place) in MARKS.0.iter().zip(places) {
            mark.store(place, Ordering::Relaxed);
        }
    }

    /// Where the block that was placed last begins, with its header.
    #[inline]
    pub(super) fn pointer(&self) -> u64 {
        self.word(self.pointer as usize)
    }

    /// Where the OCaml code has come to that has called C.
    #[inline]
    pub(crate) fn stack_state(&self) -> State {
        let index = self.stack as usize;
        State { stack: self.word(index), code: self.word(index + 1) }
    }

    #[inline]
    fn next_sample(&self) -> u64 {
        // SAFETY: the runtime's variable, whose lock is held.
        unsafe { self.next_sample.read() }
    }

    /// From the pointer to above the word that is hit next, in words.
    #[inline]
    pub(super) fn hit(&self) -> i64 {
        let distance = self.next_sample().wrapping_sub(self.pointer()) as i64;
        (distance + HALF_A_WORD) / WORD as i64
    }

    /// The word below the place that is `hit` words above the pointer is hit next; below it if that is
    /// negative, and in this heap only if it has so many.
    #[inline]
    pub(super) fn hit_next(&self, hit: i64) {
        let distance = hit.saturating_mul(WORD as i64) - HALF_A_WORD;
        let place = (self.pointer() as i64).saturating_add(distance);
        let place = place.max(self.word(FIRST_PLACE) as i64) as u64;
        // SAFETY: the runtime's variable, whose lock is held; below it is no sample.
        unsafe { self.next_sample.write(place) };
        // As `caml_update_young_limit`: what waits is looked at last, as a signal handler may just have said so, and
        // have set the limit itself.
        self.set_limit(place.max(self.word(COLLECTED_BELOW)));
        if self.is_pending() {
            self.set_limit(self.word(PLACES_END));
        }
    }

    #[inline]
    fn is_pending(&self) -> bool {
        // SAFETY: the runtime's variable, which signal handlers change.
        unsafe { self.is_pending.read_volatile() != 0 }
    }

    #[inline]
    fn set_limit(&self, place: u64) {
        // The pointer and the limit are the first two words, in one order or the other.
        let index = 1 - self.pointer as usize;
        // SAFETY: the domain's state, whose word is the runtime's to read and ours to write while its lock is held.
        unsafe { self.state.read().cast_mut().add(index).write_volatile(place) };
    }

    /// Whether a block is in the minor heap.
    pub(super) fn has(&self, block: u64) -> bool {
        block > self.word(START) && block < self.word(END)
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        // SAFETY: the domain's state, which has more words; it is there since before the agent started.
        unsafe { self.state.read().add(index).read_volatile() }
    }
}

/// Words of a block, its header included.
///
/// # Safety
/// It is one, and its header is written.
pub(super) unsafe fn words_of(block: u64) -> u64 {
    // SAFETY: by contract.
    (unsafe { header(block) } >> 10) + 1
}

/// Where a block of the minor heap is after a collection; `None` if it is dead.
///
/// # Safety
/// It was one, and its place is not used again yet.
#[inline]
pub(super) unsafe fn promoted(block: u64) -> Option<u64> {
    // SAFETY: by contract; the header of a block that was moved is 0, and its first field says where to.
    unsafe { (header(block) == 0).then(|| (block as *const u64).read()) }
}

/// Whether marking, which has ended, has not met a block of the major heap.
///
/// # Safety
/// It is one.
#[inline]
pub(super) unsafe fn is_unmarked(block: u64) -> bool {
    // SAFETY: by contract.
    (unsafe { header(block) }) & COLOUR == 0
}

#[inline]
unsafe fn header(block: u64) -> u64 {
    // SAFETY: by contract.
    unsafe { (block as *const u64).sub(1).read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_as_the_runtime_has_them() {
        let words: [u64; 6] = [3 << 10 | 247, 0x1000, 0, 0x2000, 2 << 10 | 1 << 8, 7];
        let block = |header: usize| &raw const words[header + 1] as u64;
        // SAFETY: blocks with headers.
        unsafe {
            assert_eq!((words_of(block(0)), words_of(block(4))), (4, 3));
            assert_eq!((promoted(block(0)), promoted(block(2))), (None, Some(0x2000)));
            assert_eq!((is_unmarked(block(0)), is_unmarked(block(4))), (true, false));
        }
    }

    /// A heap of 64 words.
    #[test]
    fn the_next_sample_is_where_it_was_put() {
        let mut state = [0u64; 16];
        (state[1], state[START], state[END]) = (1008 + 29 * WORD, 1000, 1000 + 64 * WORD);
        (state[FIRST_PLACE], state[COLLECTED_BELOW]) = (1008, 1008 + 20 * WORD);
        state[PLACES_END] = 2000;
        let (mut next_sample, mut is_pending) = (1008 + 30 * WORD, 0);
        let place = state.as_mut_ptr().cast_const();
        let heap = MinorHeap {
            state: &raw const place,
            next_sample: &raw mut next_sample,
            is_pending: &raw mut is_pending,
            pointer: 1,
            stack: 10,
        };
        heap.mark();
        // SAFETY: what `mark` has found are words of this test.
        let marked = MARKS
            .0
            .each_ref()
            .map(|mark| unsafe { (mark.load(Ordering::Relaxed) as *const u32).read() });
        assert_eq!(
            marked,
            [29, 20, 30, 0].map(|words| if words > 0 { 1008 + words * 8 } else { 0 })
        );
        for (hit, place) in [(0, 29), (-9, 20), (2, 31), (-28, 1)] {
            heap.hit_next(hit);
            assert_eq!(heap.next_sample(), 1008 + place * WORD - 4);
            assert_eq!(heap.hit(), hit);
            assert_eq!(heap.word(0), heap.next_sample().max(1008 + 20 * WORD));
        }
        for hit in [-29, -30, i64::MIN / 16] {
            heap.hit_next(hit);
            assert_eq!(heap.next_sample(), 1008);
        }
        // As the runtime itself draws it.
        // SAFETY: a variable of this test.
        unsafe { heap.next_sample.write(1008 + 31 * WORD) };
        assert_eq!(heap.hit(), 2);
        assert!(heap.has(1008) && !heap.has(1000) && !heap.has(1000 + 64 * WORD));
        // SAFETY: a variable of this test.
        unsafe { heap.is_pending.cast_mut().write(1) };
        heap.hit_next(0);
        assert_eq!((heap.next_sample(), heap.word(0)), (1008 + 29 * WORD - 4, 2000));
    }
}
