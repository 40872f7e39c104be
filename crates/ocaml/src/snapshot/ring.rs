//! The threads of a domain of OCaml 5's, as its thread library knows them: in a circle. \[UNSAFE\]
//!
//! (`otherlibs/systhreads/st_stubs.c`, 5.3)

/// What the library knows of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread(*const u64);

/// Its words: the thread's descriptor, a value, stands first.
const NEXT: usize = 1;
const PREVIOUS: usize = 2;
const STACK: usize = 4;
const LOCAL_ROOTS: usize = 6;
const EXCEPTION: usize = 9;
const REGISTERS: usize = 10;

/// More threads than that a domain has not.
const MOST: usize = 1 << 20;

/// The thread of which the library tells first, by the first two places that it tells of: its descriptor, and its last
/// exception. `None` if they do not stand as they do in 5.3.
///
/// # Safety
/// The library has told of them, and what it knows stands still.
pub(super) unsafe fn current([descriptor, exception]: [u64; 2]) -> Option<Thread> {
    let is_known = descriptor != 0 && exception == descriptor + 8 * EXCEPTION as u64;
    is_known.then_some(Thread(descriptor as *const u64))
}

impl Thread {
    fn word(self, index: usize) -> u64 {
        // SAFETY: `current` has found it, or another has led to it, and it stands still.
        unsafe { self.0.add(index).read() }
    }

    /// As `Thread.id` gives it; `None` if it is being made.
    pub(super) fn number(self) -> Option<u64> {
        let descriptor = self.word(0);
        let is_there = descriptor != 0 && descriptor & 1 == 0;
        // SAFETY: a block whose first field is a number.
        is_there.then(|| unsafe { (descriptor as *const u64).read() } >> 1)
    }

    /// Where what C code has on its stack is, if the thread waits.
    pub(super) fn local_roots(self) -> u64 {
        self.word(LOCAL_ROOTS)
    }

    /// The fiber that it goes on with, if it waits, and where registers are saved.
    pub(super) fn stack(self) -> [u64; 2] {
        [self.word(STACK), self.word(REGISTERS)]
    }

    /// The others of its domain.
    pub(super) fn others(self) -> impl Iterator<Item = Thread> {
        let next = move |it: &Thread| {
            let next = Thread(it.word(NEXT) as *const u64);
            (next != self && next.word(PREVIOUS) == it.0 as u64).then_some(next)
        };
        core::iter::successors(next(&self), next).take(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_of_threads() {
        let descriptors = [[11u64], [7], [1]];
        let mut known = [[0u64; 12]; 3];
        let begin: [u64; 3] = core::array::from_fn(|at| known[at].as_ptr() as u64);
        for at in 0..3 {
            known[at][0] = descriptors[at].as_ptr() as u64;
            (known[at][NEXT], known[at][PREVIOUS]) = (begin[(at + 1) % 3], begin[(at + 2) % 3]);
            (known[at][STACK], known[at][REGISTERS]) = (at as u64, 100);
        }
        known[2][0] = 1;
        let known = core::hint::black_box(known.as_ptr());
        let first = known as u64;
        // SAFETY: what is known of threads stands there.
        let none = unsafe { current([first, first + 80]) };
        assert_eq!(none, None);
        // SAFETY: as above.
        let own = unsafe { current([first, first + 72]) }.unwrap();
        let told = |thread: Thread| (thread.number(), thread.stack());
        assert_eq!(told(own), (Some(5), [0, 100]));
        let others: std::vec::Vec<_> = own.others().map(told).collect();
        assert_eq!(others, [(Some(3), [1, 100]), (None, [2, 100])]);
    }
}
