//! Which thread's and which frame's a root on a stack is, in OCaml 4. \[UNSAFE\]
//!
//! The runtime itself tells of the roots. Here its way over a stack is gone along with, frame by frame,
//! by the same tables: so it is known to which frame the place belongs that it tells of. Where the two do not agree, nothing
//! more is said of that stack, and the roots are what they are without.
//! (`runtime/roots_nat.c`, `otherlibs/systhreads/st_stubs.c`, 4.11 to 4.14)

use lifetrace_agent::chain::State;

use super::holder::{Frame, Holder, Owner, Sort};
use crate::descriptors::{Descriptors, Living};

/// The stacks of a program, as the runtime tells of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stacks {
    own: Stack,
    threads: Option<Threads>,
}

/// The threads of the program's thread library, in the order in which it tells of them: the current one first.
#[derive(Clone, Copy, Debug)]
struct Threads {
    descriptors: Descriptors,
    current: Option<u64>,
    thread: Option<u64>,
    /// What that library knows of the thread that comes next; 0 before the first.
    next: u64,
    is_exception_next: bool,
    stack: Option<Stack>,
}

/// A stack, as far as it has been told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    descriptors: Descriptors,
    at: State,
    registers: u64,
    frame: Frame,
    /// Of the frame: where else what lives is.
    left: &'static [u16],
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The next frame is at `at`.
    On,
    Over,
    Lost,
}

impl Stacks {
    /// The stack that is in use, and those of others if the program's thread library tells of them.
    pub(super) fn of(own: Stack, with_threads: bool) -> Stacks {
        let descriptors = own.descriptors;
        let threads = Threads {
            descriptors,
            current: None,
            thread: None,
            next: 0,
            is_exception_next: false,
            stack: None,
        };
        Stacks { own, threads: with_threads.then_some(threads) }
    }

    /// Who holds the root of which the runtime tells next: the other threads' before those of the stack in use.
    ///
    /// # Safety
    /// The runtime tells of it, all of its stacks stand still, and this was asked of all that it has told of before.
    pub(super) unsafe fn holder(&mut self, sort: Sort, slot: u64, word: u64) -> Holder {
        // SAFETY: by contract.
        unsafe {
            match (sort, &mut self.threads) {
                (Sort::Threads, Some(threads)) => threads.holder(slot, word),
                (Sort::Stack, threads) => {
                    let thread = threads.as_ref().and_then(|threads| threads.current);
                    self.own.holder(Holder::on_stack(sort, Owner { thread, domain: None }), slot)
                }
                _ => Holder::of(sort),
            }
        }
    }
}

/// Words of what the thread library knows of a thread.
const NEXT: usize = 1;
const STACK: usize = 4;

impl Threads {
    /// Of each thread, its descriptor comes first, which stands where all that is known of the thread begins; then an
    /// exception; then the stack, if it is not the current thread.
    ///
    /// # Safety
    /// As [`Stacks::holder`].
    unsafe fn holder(&mut self, slot: u64, word: u64) -> Holder {
        if self.next == 0 || slot == self.next {
            // SAFETY: by contract: a thread's descriptor is told of.
            unsafe { self.begin(slot, word) };
            return Holder::of(Sort::ThreadDescriptors);
        }
        if core::mem::take(&mut self.is_exception_next) {
            return Holder::of(Sort::ThreadDescriptors);
        }
        let owner = Owner { thread: self.thread, domain: None };
        let holder = Holder::on_stack(Sort::Threads, owner);
        match &mut self.stack {
            // SAFETY: by contract.
            Some(stack) => unsafe { stack.holder(holder, slot) },
            None => Holder::of(Sort::Threads),
        }
    }

    /// # Safety
    /// What is known of a thread begins there, with this word.
    unsafe fn begin(&mut self, slot: u64, descriptor: u64) {
        let is_current = self.next == 0;
        // SAFETY: by contract; a descriptor that is there is a block whose first field is a number.
        unsafe {
            let word = |index| (slot as *const u64).add(index).read();
            let is_there = descriptor & 1 == 0 && descriptor != 0;
            self.thread = is_there.then(|| (descriptor as *const u64).read() >> 1);
            self.next = word(NEXT);
            let [stack, code, registers] = [word(STACK), word(STACK + 1), word(STACK + 2)];
            let other = (!is_current && stack != 0).then_some(State { stack, code });
            self.stack = other.map(|at| Stack::of(self.descriptors, at, registers));
        }
        self.is_exception_next = true;
        if is_current {
            self.current = self.thread;
        }
    }
}

impl Stack {
    /// One from `at` on, outwards; `registers` is where those have been saved that may hold something.
    pub(super) fn of(descriptors: Descriptors, at: State, registers: u64) -> Stack {
        let way = if at.stack == 0 { Way::Over } else { Way::On };
        let frame = Frame { code: 0, slot: 0 };
        Stack { descriptors, at, registers, frame, left: &[], way }
    }

    /// # Safety
    /// As [`Stacks::holder`].
    unsafe fn holder(&mut self, of_stack: Holder, slot: u64) -> Holder {
        // SAFETY: by contract.
        match unsafe { self.next_slot() } {
            Some(next) if next == slot => Holder { frame: Some(self.frame), ..of_stack },
            None if self.way == Way::Over => Holder::of(Sort::LocalRoots),
            _ => {
                (self.way, self.left) = (Way::Lost, &[]);
                of_stack
            }
        }
    }

    /// The next place in which something lives.
    ///
    /// # Safety
    /// The stack stands still.
    unsafe fn next_slot(&mut self) -> Option<u64> {
        const WORD: u64 = 8;
        loop {
            if let Some((&offset, left)) = self.left.split_first() {
                self.left = left;
                let offset = u64::from(offset);
                return Some(match offset & 1 {
                    1 => self.registers + (offset >> 1) * WORD,
                    _ => self.at.stack + offset,
                });
            }
            // SAFETY: by contract.
            if self.way != Way::On || !unsafe { self.go_on() } {
                return None;
            }
        }
    }

    /// To the next frame; false if there is none.
    ///
    /// # Safety
    /// The stack stands still.
    unsafe fn go_on(&mut self) -> bool {
        if self.frame.code != 0 {
            // SAFETY: by contract; the frame is one that has a descriptor.
            self.at = unsafe { self.descriptors.caller(self.at) };
        }
        loop {
            match self.descriptors.living(self.at.code) {
                Some(Living::In { slot, offsets }) => {
                    (self.frame, self.left) = (Frame { code: self.at.code, slot }, offsets);
                    return true;
                }
                Some(Living::CalledBack) => {
                    // SAFETY: by contract; C code has called back there.
                    (self.at, self.registers) = unsafe { Descriptors::context(self.at.stack) };
                    if self.at.stack == 0 {
                        self.way = Way::Over;
                        return false;
                    }
                }
                None => {
                    self.way = Way::Lost;
                    return false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return address, size, live count, two live offsets.
    #[repr(C, align(8))]
    struct Descriptor(u64, u16, u16, [u16; 2]);

    /// Of a frame of four words, in which the second one lives, and the register of number 3; of code that was called back.
    static FRAME: Descriptor = Descriptor(0x1008, 32, 2, [8, 7]);
    static CALLED_BACK: Descriptor = Descriptor(0x2010, 0xffff, 0, [0; 2]);

    /// Who holds these slots, of a thread's stack that begins at the first of these words.
    fn holders(words: &[u64], slots: &[u64]) -> std::vec::Vec<Holder> {
        let mut table = [core::ptr::null(); 8];
        (table[1], table[2]) = ((&raw const FRAME).cast(), (&raw const CALLED_BACK).cast());
        let (table, mask) = (table.as_ptr(), 7u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        let at = State { stack: words.as_ptr() as u64, code: 0x1008 };
        let mut stacks = Stacks::of(Stack::of(descriptors, at, 0x8000), false);
        // SAFETY: these words are a stack.
        slots.iter().map(|&slot| unsafe { stacks.holder(Sort::Stack, slot, 1) }).collect()
    }

    #[test]
    fn what_is_on_a_stack_belongs_to_its_frames() {
        // Two frames; between them C code, called by the outer one, has called back. What C code keeps of the outermost ends
        // at the last word.
        let mut words = [0u64; 19];
        let base = words.as_ptr() as u64;
        let at = |index: u64| base + index * 8;
        words[3] = 0x2010;
        (words[6], words[7], words[8]) = (at(10), 0x1008, 0x9000);
        words[13] = 0x2010;
        let slots = [at(1), 0x8018, at(11), 0x9018, 0x7000, 0x7008];
        let frame = Frame { code: 0x1008, slot: &raw const FRAME as u64 };
        let in_frame = Holder { frame: Some(frame), ..Holder::of(Sort::Stack) };
        let local = Holder::of(Sort::LocalRoots);
        let told = holders(&words, &slots);
        assert_eq!(told, [in_frame, in_frame, in_frame, in_frame, local, local]);
        // What is not where it is to be is told without a frame, and so is all that comes then.
        let told = holders(&words, &[at(1), at(2), at(11)]);
        assert_eq!(told, [in_frame, Holder::of(Sort::Stack), Holder::of(Sort::Stack)]);
        // Code that nobody knows ends it.
        words[13] = 0x3000;
        let told = holders(&words, &slots);
        assert_eq!(told[3..5], [in_frame, Holder::of(Sort::Stack)]);
    }

    #[test]
    fn threads_are_told_by_their_numbers() {
        let table = [core::ptr::null(); 8];
        let (table, mask) = (table.as_ptr(), 7u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        let own = Stack::of(descriptors, State::default(), 0);
        // The fields of what OCaml code knows of two threads, by the numbers 5 and 3.
        let values = [[11u64, 1, 1], [7, 1, 1]];
        let mut known = [[0u64; 12]; 2];
        let begin = [known[0].as_ptr() as u64, known[1].as_ptr() as u64];
        for this in 0..2 {
            known[this][0] = values[this].as_ptr() as u64;
            known[this][NEXT] = begin[1 - this];
            (known[this][STACK], known[this][STACK + 1]) = (0x10, 0x4000);
        }
        let mut stacks = Stacks::of(own, true);
        let slots = [begin[0], begin[0] + 80, begin[1], begin[1] + 80, 0x10];
        let told: std::vec::Vec<Holder> = slots
            .iter()
            .map(|&slot| {
                let word = if slot == begin[1] { known[1][0] } else { known[0][0] };
                // SAFETY: what is known of threads is there, and their stacks are of unknown code.
                unsafe { stacks.holder(Sort::Threads, slot, word) }
            })
            .collect();
        let descriptor = Holder::of(Sort::ThreadDescriptors);
        assert_eq!(told[..4], [descriptor; 4]);
        let owner = Owner { thread: Some(3), domain: None };
        assert_eq!(told[4], Holder::on_stack(Sort::Threads, owner));
        // SAFETY: as above.
        let own = unsafe { stacks.holder(Sort::Stack, 0x20, 1) };
        assert_eq!(own, Holder::of(Sort::LocalRoots));
        assert_eq!(stacks.threads.and_then(|threads| threads.current), Some(5));
    }
}
