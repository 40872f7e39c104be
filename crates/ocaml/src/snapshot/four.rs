//! Where OCaml 4 keeps what it does not collect. \[UNSAFE\]
//!
//! (`runtime/roots_nat.c`, 4.11 to 4.14)

use core::ffi::c_int;

use lifetrace_agent::chain::State;

use super::asking::{Action4, Told, Way, asking, root4};
use super::holder::{Holder, Sort};
use super::library;
use super::stacks::{Stack, Stacks};
use crate::descriptors::Descriptors;
use crate::symbols::{Absent, Symbols, typed};

type Tell = unsafe extern "C" fn(Action4);

/// The functions and variables that tell of roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Four {
    all: unsafe extern "C" fn(Action4, c_int),
    global: Tell,
    finalisers: Tell,
    memprof: Tell,
    /// A variable: null, or what tells of the other threads' stacks.
    threads: *const Option<Tell>,
    stack: unsafe extern "C" fn(Action4, u64, u64, u64, u64),
    /// The domain's state: where the stack begins, and so on.
    state: *const *const u64,
    stack_index: usize,
    descriptors: Descriptors,
    library: Option<u64>,
}

impl Four {
    /// `stack_index` is the word of the domain's state that has where the stack begins.
    ///
    /// # Errors
    /// If the runtime does not export what is needed.
    pub(super) fn of(stack_index: usize, symbol: &Symbols<'_>) -> Result<Four, Absent> {
        // SAFETY: of these types, as the versions' headers say.
        unsafe {
            Ok(Four {
                all: typed(symbol, c"caml_do_roots")?,
                global: typed(symbol, c"caml_scan_global_roots")?,
                finalisers: typed(symbol, c"caml_final_do_roots")?,
                memprof: typed(symbol, c"caml_memprof_do_roots")?,
                threads: typed(symbol, c"caml_scan_roots_hook")?,
                // As 4.11 calls it.
                stack: typed(symbol, c"caml_do_local_roots_nat")
                    .or_else(|_| typed(symbol, c"caml_do_local_roots"))?,
                state: typed(symbol, c"Caml_state")?,
                stack_index,
                descriptors: Descriptors {
                    table: typed(symbol, c"caml_frame_descriptors")?,
                    mask: typed(symbol, c"caml_frame_descriptors_mask")?,
                },
                library: library::of(symbol),
            })
        }
    }

    /// Tells of all but the units' own.
    ///
    /// # Safety
    /// As [`Roots::each`](super::roots::Roots::each).
    pub(super) unsafe fn each(&self, told: &mut Told<'_>) {
        // SAFETY: by contract; the runtime's variables.
        unsafe {
            let mut way = Way::Four(self.stacks());
            let mut ask = |sort, tell: &mut dyn FnMut()| {
                asking(Holder::of(sort), &mut way, told, tell);
            };
            ask(Sort::GlobalRoots, &mut || (self.global)(root4));
            ask(Sort::Finalisers, &mut || (self.finalisers)(root4));
            ask(Sort::Memprof, &mut || (self.memprof)(root4));
            if let Some(threads) = self.threads.read() {
                ask(Sort::Threads, &mut || threads(root4));
            }
            ask(Sort::Stack, &mut || self.scan_stack());
            ask(Sort::Other, &mut || (self.all)(root4, 0));
        }
    }

    /// The runtime tells of what we have given it to remember, in an entry that begins with the block. (`struct tracked`
    /// in `runtime/memprof.c`, 4.11 to 4.14)
    ///
    /// # Safety
    /// As [`each`](Self::each).
    pub(super) unsafe fn each_sample(&self, sample: &mut dyn FnMut(u64, u64)) {
        const WORDS_BEFORE: u64 = 3;
        // SAFETY: what it tells of is the fourth word of an entry.
        let mut told = |_, slot: u64, metadata: u64| unsafe {
            sample(metadata, ((slot - 8 * WORDS_BEFORE) as *const u64).read());
        };
        // SAFETY: by contract.
        let ask = || unsafe { (self.memprof)(root4) };
        asking(Holder::of(Sort::Memprof), &mut Way::None, &mut told, ask);
    }

    /// Word of the domain's state, from the one on that has where the stack begins.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn word(&self, after: usize) -> u64 {
        // SAFETY: by contract; the domain's state has these words one after the other.
        unsafe { self.state.read().add(self.stack_index + after).read() }
    }

    /// The stacks that the runtime will tell of.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn stacks(&self) -> Stacks {
        // SAFETY: by contract.
        unsafe {
            let at = State { stack: self.word(0), code: self.word(1) };
            let threads = self.threads.read();
            let has_library =
                threads.is_some_and(|tell| library::has(self.library, tell as usize as u64));
            Stacks::of(Stack::of(self.descriptors, at, self.word(2)), has_library)
        }
    }

    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn scan_stack(&self) {
        const LOCAL_ROOTS_AFTER: usize = 10;
        // SAFETY: by contract.
        unsafe {
            let word = |after| self.word(after);
            if word(0) != 0 {
                (self.stack)(root4, word(0), word(1), word(2), word(LOCAL_ROOTS_AFTER));
            }
        }
    }
}
