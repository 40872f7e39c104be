//! Whether a thread has stack enough for the agent. \[UNSAFE\]
//!
//! What the agent does in a sampled malloc needs more stack than the malloc that it replaces. A program
//! that is near the end of its stack would meet the guard page inside the agent, and one that recovers
//! from that (a handler on another stack, siglongjmp) would leave the agent entered for ever. So
//! each entry looks whether there is room below the stack pointer. What has been seen to be there is
//! remembered per thread as one run of pages, so that a look at a known part of the stack is two
//! comparisons; the rest costs a system call for each page.
//!
//! The main thread's stack grows into addresses that nobody has mapped yet. The kernel grows it for such
//! a look too; where something else runs the program (valgrind) it does not, so within the limit that the
//! stack had at the start, and has now, no answer counts as a no.
//!
//! Below a signal stack there is often no guard page, but the program's data, or another stack. So when a
//! thread shows up where it is not known to be, the kernel is asked whether that is a signal stack, and
//! where it ends; not in a sandbox, where such a question might be the last one.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::code::is_run_by_valgrind;
use crate::sys;

/// A stack as far as a thread knows it: addresses from which it can be used downwards. All-zero is
/// a thread of which nothing is known.
#[derive(Debug, Default)]
pub struct Room {
    known: Range<u64>,
    /// Nothing below is the stack's, whether it can be read or not.
    floor: u64,
}

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// For everything.
    Ample,
    /// For a sample, but not for its backtrace.
    Scarce,
    /// For nothing.
    None,
}

const PAGE: u64 = 4096;

/// Where the main thread's stack may be, if it has a limit.
static MAIN_START: AtomicU64 = AtomicU64::new(0);
static MAIN_END: AtomicU64 = AtomicU64::new(0);

static IN_SANDBOX: AtomicBool = AtomicBool::new(false);

/// To be called when the process starts: finds out where the main thread's stack may be, and how one may look at a stack.
pub fn take_note_of_main_stack() {
    if is_run_by_valgrind() {
        sys::probe_by_copying();
    }
    if let Some(stack) = sys::main_stack() {
        MAIN_START.store(stack.start, Ordering::Relaxed);
        MAIN_END.store(stack.end, Ordering::Relaxed);
    }
}

/// To be called before this process enters a sandbox: signal stacks are not asked about any more.
pub fn expect_sandbox() {
    IN_SANDBOX.store(true, Ordering::Relaxed);
}

/// Whether this process is in a sandbox, or about to enter one.
pub fn is_sandbox_expected() -> bool {
    IN_SANDBOX.load(Ordering::Relaxed)
}

/// The agent's deepest path: code that its unwinder sees for the first time. A test measures it
/// (`stack_use` among the end-to-end tests).
const AMPLE: u64 = 10 * 1024;

/// The deepest path without the unwinder.
const SCARCE: u64 = 3 * 1024;

/// A stack pointer that has moved by no more than this is on the same stack.
const SAME_STACK: u64 = 256 * 1024;

impl Room {
    /// The room below `stack_pointer`, which is this thread's own.
    #[inline]
    pub fn below(&mut self, stack_pointer: u64) -> Space {
        if self.known.contains(&stack_pointer) && stack_pointer - self.known.start >= AMPLE {
            return Space::Ample;
        }
        self.look(stack_pointer)
    }

    #[cold]
    fn look(&mut self, stack_pointer: u64) -> Space {
        if !self.known.contains(&stack_pointer) {
            let floor = floor_below(stack_pointer);
            let may_be_same = floor.is_none_or(|floor| floor == self.floor);
            if !(may_be_same && self.reach(stack_pointer)) {
                let page = page_of(stack_pointer);
                self.floor = floor.unwrap_or(0);
                self.known = page.max(self.floor)..page + PAGE;
            }
        }
        while stack_pointer.saturating_sub(self.known.start) < AMPLE && self.extend_down() {}
        match stack_pointer.saturating_sub(self.known.start) {
            AMPLE.. => Space::Ample,
            SCARCE.. => Space::Scarce,
            _ => Space::None,
        }
    }

    /// Extends what is known to the stack pointer's page if that is on the same stack.
    fn reach(&mut self, stack_pointer: u64) -> bool {
        let page = page_of(stack_pointer);
        if self.known.is_empty() {
            return false;
        }
        let near = self.known.start.saturating_sub(SAME_STACK)..self.known.end + SAME_STACK;
        if !near.contains(&page) {
            return false;
        }
        while page < self.known.start && self.extend_down() {}
        while page >= self.known.end && may_be_used(self.known.end) {
            self.known.end += PAGE;
        }
        self.known.contains(&stack_pointer)
    }

    fn extend_down(&mut self) -> bool {
        let next = page_of(self.known.start - 1);
        let found = self.known.start > self.floor && may_be_used(next);
        if found {
            self.known.start = next.max(self.floor);
        }
        found
    }
}

fn page_of(address: u64) -> u64 {
    address & !(PAGE - 1)
}

/// Where the kernel cannot be asked, there is no reason to doubt.
fn may_be_used(page: u64) -> bool {
    sys::probe(page) != Some(false) || may_be_main_stack(page)
}

/// The program may have shortened its stack since the start.
fn may_be_main_stack(page: u64) -> bool {
    let end = MAIN_END.load(Ordering::Relaxed);
    (MAIN_START.load(Ordering::Relaxed)..end).contains(&page)
        && (IN_SANDBOX.load(Ordering::Relaxed) || end - page <= sys::stack_limit())
}

/// The lowest address of the signal stack that holds `stack_pointer`, or 0 if that is on none; `None` if the
/// kernel must not be asked.
fn floor_below(stack_pointer: u64) -> Option<u64> {
    let stack = (!IN_SANDBOX.load(Ordering::Relaxed)).then(sys::signal_stack)?;
    Some(stack.filter(|stack| stack.contains(&stack_pointer)).map_or(0, |it| it.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of memory, with nothing below and above.
    fn island(start: u64, pages: u64) -> Range<u64> {
        assert!(sys::map_at(start as usize, (pages * PAGE) as usize));
        start..start + pages * PAGE
    }

    #[test]
    fn without_valgrind_there_is_none() {
        assert!(!is_run_by_valgrind());
    }

    #[test]
    fn room_ends_where_memory_ends() {
        let stack = island(0x2234_5678_9000, 16);
        let mut room = Room::default();
        for (above, expected) in [
            (AMPLE + 100, Space::Ample),
            (AMPLE, Space::Ample),
            (AMPLE - 8, Space::Scarce),
            (SCARCE, Space::Scarce),
            (SCARCE - 8, Space::None),
            (8 * PAGE, Space::Ample),
        ] {
            assert_eq!(room.below(stack.start + above), expected, "{above} bytes");
        }
        assert_eq!(room.known.start, stack.start);
    }

    #[test]
    fn the_main_stack_is_where_the_kernel_says() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let (start, rest) = line.split_once('-').unwrap();
        let bound = |text| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = (bound(start), bound(rest.split_once(' ').unwrap().0));
        match sys::main_stack() {
            Some(stack) => assert!(stack.end == end && stack.start <= start, "{stack:x?} {line}"),
            None => std::eprintln!("the stack has no limit here"),
        }
    }

    #[test]
    fn another_stack_is_looked_at_afresh() {
        let first = island(0x3234_5678_9000, 8);
        let second = island(0x4234_5678_9000, 2);
        let mut room = Room::default();
        assert_eq!(room.below(first.end - 8), Space::Ample);
        assert_eq!(room.below(second.end - 8), Space::Scarce);
        assert_eq!(room.below(second.start + 8), Space::None);
        assert_eq!(room.below(first.end - 8), Space::Ample);
    }

    /// The signal stack of this thread, from now on.
    fn use_for_signals(stack: Range<u64>) {
        let stack = libc::stack_t {
            ss_sp: stack.start as *mut _,
            ss_flags: 0,
            ss_size: (stack.end - stack.start) as usize,
        };
        // SAFETY: nobody raises a signal in this thread.
        assert_eq!(unsafe { libc::sigaltstack(&stack, core::ptr::null_mut()) }, 0);
    }

    #[test]
    fn a_stack_beside_a_signal_stack_is_another_one() {
        let memory = island(0x6234_5678_9000, 48);
        let signals = memory.start + 16 * PAGE..memory.start + 32 * PAGE;
        use_for_signals(signals.clone());
        let mut room = Room::default();
        for _ in 0..3 {
            assert_eq!(room.below(signals.start + SCARCE), Space::Scarce);
            assert_eq!(room.below(signals.start - 8), Space::Ample);
            assert_eq!(room.below(memory.start + 4 * PAGE), Space::Ample);
            assert_eq!(room.below(signals.start + 8), Space::None);
            assert_eq!(room.below(signals.end - 8), Space::Ample);
            assert_eq!(room.below(memory.end - 8), Space::Ample);
        }
    }

    #[test]
    fn a_signal_stack_ends_where_the_kernel_was_told() {
        let memory = island(0x5234_5678_9000, 16);
        use_for_signals(memory.start + 8 * PAGE..memory.end);
        let mut room = Room::default();
        assert_eq!(room.below(memory.start + 8 * PAGE + SCARCE), Space::Scarce);
        assert_eq!(room.below(memory.end - 8), Space::Ample);
    }
}
