//! Where OCaml 5 keeps what it does not collect. \[UNSAFE\]
//!
//! (`runtime/roots.c`, `runtime/domain.c`, 5.3 and 5.4)

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use super::asking::{Action5, Told, Way, asking, root5};
use super::fibers::{Fibers, Tables};
use super::holder::{Frame, Holder, Owner, Sort};
use super::library;
use super::ring::{self, Thread};
use crate::blocks::{NONE, Value};
use crate::symbols::{Absent, Symbols, typed};
use crate::version::{DomainWords, Version};

type OfDomain = unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64, c_int);
type OfThreads = unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64);

/// The functions that tell of roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Five {
    global: unsafe extern "C" fn(Action5, *mut c_void),
    all: OfDomain,
    finalisers: Option<OfDomain>,
    local: unsafe extern "C" fn(Action5, c_int, *mut c_void, u64, u64, u64),
    memprof: unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64, bool),
    stack: unsafe extern "C" fn(Action5, c_int, *mut c_void, u64, u64),
    /// A variable: null, or what tells of the other threads' stacks.
    threads: Option<*const Option<OfThreads>>,
    library: Option<u64>,
    /// Where they explain stacks.
    tables: Option<Tables>,
    words: DomainWords,
    /// The number of this thread's domain.
    number: Option<unsafe extern "C" fn(Value) -> Value>,
}

/// Words of a domain's state, in OCaml 5.3 and 5.4.
const CURRENT_STACK: usize = 5;
const REGISTERS: usize = 11;

/// What the runtime's functions are asked for.
const ALL: c_int = 0;

impl Five {
    /// # Errors
    /// If the runtime does not export what is needed.
    pub(super) fn of(version: Version, symbol: &Symbols<'_>) -> Result<Five, Absent> {
        let words = version.domain_words().ok_or(Absent::Unknown)?;
        // SAFETY: of these types, as the versions' headers say.
        unsafe {
            Ok(Five {
                global: typed(symbol, c"caml_scan_global_roots")?,
                all: typed(symbol, c"caml_do_roots")?,
                finalisers: typed(symbol, c"caml_final_do_roots").ok(),
                local: typed(symbol, c"caml_do_local_roots")?,
                memprof: typed(symbol, c"caml_memprof_scan_roots")?,
                stack: typed(symbol, c"caml_scan_stack")?,
                threads: typed(symbol, c"caml_scan_roots_hook").ok(),
                library: library::of(symbol),
                tables: Tables::of(symbol).ok(),
                words,
                number: typed(symbol, c"caml_ml_domain_id").ok(),
            })
        }
    }

    /// Tells of all but the units' own.
    ///
    /// # Safety
    /// As [`Roots::each`](super::roots::Roots::each).
    pub(super) unsafe fn each(&self, domains: &[*const u64], told: &mut Told<'_>) {
        // SAFETY: by contract.
        unsafe {
            plainly(Sort::GlobalRoots, told, || (self.global)(root5, null_mut()));
            let are_numbered = self.are_numbered(domains);
            for &domain in domains {
                let number = are_numbered.then(|| self.number_of(domain));
                self.each_of_domain(domain, number, told);
            }
        }
    }

    /// # Safety
    /// As [`each`](Self::each), here and below.
    unsafe fn each_of_domain(&self, domain: *const u64, number: Option<u64>, told: &mut Told<'_>) {
        // SAFETY: by contract; words of the domain's state.
        unsafe {
            if let Some(finalisers) = self.finalisers {
                plainly(Sort::Finalisers, told, || finalisers(root5, ALL, null_mut(), domain, 0));
            }
            let word = |index| domain.add(index).read();
            let hook = self.threads.and_then(|hook| hook.read());
            let current = hook.and_then(|hook| self.current_thread(hook, domain));
            let thread = current.and_then(|current| current.number());
            let owner = Owner { thread, domain: number };
            self.scan_local(word(self.words.local_roots), told);
            self.scan_stack(owner, [word(CURRENT_STACK), word(REGISTERS)], told);
            for other in current.into_iter().flat_map(|current| current.others()) {
                let owner = Owner { thread: other.number(), domain: number };
                self.scan_local(other.local_roots(), told);
                self.scan_stack(owner, other.stack(), told);
            }
            plainly(Sort::Memprof, told, || {
                (self.memprof)(root5, ALL, null_mut(), domain, false);
            });
            if let Some(hook) = hook {
                let rest = if current.is_some() { Sort::ThreadDescriptors } else { Sort::Threads };
                plainly(rest, told, || hook(root5, ALL, null_mut(), domain));
            }
            plainly(Sort::Other, told, || (self.all)(root5, ALL, null_mut(), domain, 0));
        }
    }

    /// # Safety
    /// Roots that C code has on its stack.
    unsafe fn scan_local(&self, roots: u64, told: &mut Told<'_>) {
        // SAFETY: by contract, and of no stack.
        plainly(Sort::LocalRoots, told, || unsafe {
            (self.local)(root5, ALL, null_mut(), roots, 0, 0);
        });
    }

    /// # Safety
    /// A fiber, and where its registers are saved.
    unsafe fn scan_stack(&self, owner: Owner, [fiber, saved]: [u64; 2], told: &mut Told<'_>) {
        // SAFETY: by contract.
        unsafe {
            let fibers = self.tables.map(|tables| Fibers::of(tables, fiber, saved));
            let mut way = fibers.map_or(Way::None, Way::Five);
            asking(Holder::on_stack(Sort::Stack, owner), &mut way, told, || {
                (self.stack)(root5, ALL, null_mut(), fiber, saved);
            });
        }
    }

    /// What the thread library knows of the thread that the domain runs, if that is known.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn current_thread(&self, hook: OfThreads, domain: *const u64) -> Option<Thread> {
        if !library::has(self.library, hook as usize as u64) {
            return None;
        }
        let (mut slots, mut count) = ([0; 2], 0);
        let mut note = |_, slot, _| {
            if let Some(place) = slots.get_mut(count) {
                *place = slot;
                count += 1;
            }
        };
        // SAFETY: by contract.
        plainly(Sort::Threads, &mut note, || unsafe { hook(root5, ALL, null_mut(), domain) });
        // SAFETY: that library tells of its current thread first.
        unsafe { ring::current(slots) }
    }

    /// Whether there are several domains, and their numbers are where we look for them: then each has another one, and
    /// that of the domain which asks is as the runtime has it.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn are_numbered(&self, domains: &[*const u64]) -> bool {
        let Some(number) = self.number.filter(|_| domains.len() > 1) else { return false };
        // SAFETY: by contract; reads the state of this thread's domain.
        unsafe {
            let own = number(NONE).number();
            let count = |wanted| domains.iter().filter(|&&it| self.number_of(it) == wanted).count();
            count(own) == 1 && domains.iter().all(|&it| count(self.number_of(it)) == 1)
        }
    }

    /// # Safety
    /// It is a domain's state.
    unsafe fn number_of(&self, domain: *const u64) -> u64 {
        // SAFETY: by contract.
        unsafe { domain.add(self.words.number).cast::<u32>().read().into() }
    }

    /// The lists of a domain's ephemerons: the first of each.
    ///
    /// # Safety
    /// It is a domain's state.
    pub(super) unsafe fn ephemerons_of(&self, domain: *const u64) -> [u64; 2] {
        // SAFETY: by contract: the two lists stand first.
        unsafe { (domain.add(self.words.ephemerons).read() as *const [u64; 2]).read() }
    }

    /// As [`Roots::of_fiber`](super::roots::Roots::of_fiber).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn of_fiber(&self, continuation: u64, told: &mut Told<'_>) {
        // SAFETY: by contract.
        let fiber = unsafe { fiber_of(continuation) };
        if fiber != 0 {
            // SAFETY: by contract.
            plainly(Sort::Stack, told, || unsafe {
                (self.stack)(root5, ALL, null_mut(), fiber, 0)
            });
        }
    }

    /// As [`Roots::frame_of_fiber`](super::roots::Roots::frame_of_fiber).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn frame_of_fiber(&self, continuation: u64) -> Option<Frame> {
        // SAFETY: by contract.
        unsafe { Fibers::of(self.tables?, fiber_of(continuation), 0) }.frame()
    }

    /// As [`Roots::each_sample`](super::roots::Roots::each_sample).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn each_sample(
        &self,
        domains: &[*const u64],
        sample: &mut dyn FnMut(u64, u64),
    ) {
        let (mut last, mut metadata) = (0, 0);
        // Of each entry, what is remembered comes first, and then the block, whose place is before it.
        let mut told = |_, slot: u64, word: u64| {
            if slot + 8 == last {
                sample(metadata, word);
                last = 0;
            } else {
                (last, metadata) = (slot, word);
            }
        };
        for &domain in domains {
            // SAFETY: by contract.
            plainly(Sort::Memprof, &mut told, || unsafe {
                (self.memprof)(root5, ALL, null_mut(), domain, true);
            });
        }
    }
}

/// Asks for what is on no stack.
fn plainly(sort: Sort, told: &mut Told<'_>, ask: impl FnOnce()) {
    asking(Holder::of(sort), &mut Way::None, told, ask);
}

/// # Safety
/// It is a continuation's block: its first field is the address of what is known of the fiber, its lowest bit set.
unsafe fn fiber_of(continuation: u64) -> u64 {
    // SAFETY: by contract.
    unsafe { (continuation as *const u64).read() & !1 }
}
