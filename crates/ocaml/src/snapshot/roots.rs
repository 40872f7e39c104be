//! Where the runtime keeps what it does not collect. \[UNSAFE\]
//!
//! Each function of the runtime's that tells of roots calls back with a word and where that stands. Those that tell of
//! one sort are asked before those that tell of several, and a place that was told of is passed over: so each root comes
//! once, under the name that says most. (`runtime/roots_nat.c`, 4.11 to 4.14 and 5.3)

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::chain::State;

use super::sort::Sort;
use super::stacks::{Holder, Stack, Stacks};
use crate::descriptors::Descriptors;
use crate::symbols::{Symbols, typed};
use crate::version::Version;

/// What is told of each root: who holds it, where it stands, the word.
pub(super) type Told<'a> = dyn FnMut(Holder, u64, u64) + 'a;

/// The functions that tell of roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roots {
    globals: *const *const u64,
    of_version: OfVersion,
}

#[derive(Clone, Copy, Debug)]
enum OfVersion {
    Four(Four),
    Five(Five),
}

type Action4 = unsafe extern "C" fn(u64, *const u64);
type Tell4 = unsafe extern "C" fn(Action4);

#[derive(Clone, Copy, Debug)]
struct Four {
    all: unsafe extern "C" fn(Action4, c_int),
    global: Tell4,
    finalisers: Tell4,
    memprof: Tell4,
    /// A variable: null, or what tells of the other threads' stacks.
    threads: *const Option<Tell4>,
    stack: unsafe extern "C" fn(Action4, u64, u64, u64, u64),
    /// The domain's state: where the stack begins, and so on.
    state: *const *const u64,
    stack_index: usize,
    descriptors: Descriptors,
    /// A function of the thread library's, if it is there.
    library: Option<u64>,
}

type Action5 = unsafe extern "C" fn(*mut c_void, u64, *const u64);

#[derive(Clone, Copy, Debug)]
struct Five {
    global: unsafe extern "C" fn(Action5, *mut c_void),
    all: unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64, c_int),
    finalisers: Option<unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64, c_int)>,
    stack: unsafe extern "C" fn(Action5, c_int, *mut c_void, u64, u64, u64),
    memprof: unsafe extern "C" fn(Action5, c_int, *mut c_void, *const u64, bool),
    fiber: unsafe extern "C" fn(Action5, c_int, *mut c_void, u64, u64),
}

/// Words of a domain's state, in OCaml 5.3 and 5.4.
const CURRENT_STACK: usize = 5;
const REGISTERS: usize = 11;
const LOCAL_ROOTS: usize = 20;
const EPHEMERONS: usize = 21;

/// By whom the runtime's functions are being asked: the child of a fork, which has one thread.
static ASKING: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

struct Asking<'a> {
    sort: Sort,
    stacks: Stacks,
    told: &'a mut Told<'a>,
}

unsafe extern "C" fn root4(word: u64, slot: *const u64) {
    // SAFETY: null, or set by `ask` for as long as the runtime is asked.
    if let Some(asking) = unsafe { ASKING.load(Ordering::Relaxed).cast::<Asking<'_>>().as_mut() } {
        // SAFETY: the runtime tells of it, in the child of a fork.
        let holder = unsafe { asking.stacks.holder(asking.sort, slot as u64, word) };
        (asking.told)(holder, slot as u64, word);
    }
}

unsafe extern "C" fn root5(_: *mut c_void, word: u64, slot: *const u64) {
    // SAFETY: as above.
    unsafe { root4(word, slot) }
}

impl Roots {
    /// `None` if the runtime does not export what is needed.
    pub(super) fn of(version: Version, symbol: &Symbols<'_>) -> Option<Roots> {
        // SAFETY: of these types, as the versions' headers say.
        unsafe {
            let of_version = match version.stack_state() {
                Some(index) => OfVersion::Four(Four {
                    all: typed(symbol, c"caml_do_roots").ok()?,
                    global: typed(symbol, c"caml_scan_global_roots").ok()?,
                    finalisers: typed(symbol, c"caml_final_do_roots").ok()?,
                    memprof: typed(symbol, c"caml_memprof_do_roots").ok()?,
                    threads: typed(symbol, c"caml_scan_roots_hook").ok()?,
                    stack: typed(symbol, c"caml_do_local_roots_nat").ok()?,
                    state: typed(symbol, c"Caml_state").ok()?,
                    stack_index: index,
                    descriptors: Descriptors {
                        table: typed(symbol, c"caml_frame_descriptors").ok()?,
                        mask: typed(symbol, c"caml_frame_descriptors_mask").ok()?,
                    },
                    library: typed(symbol, c"caml_thread_initialize").ok(),
                }),
                None => OfVersion::Five(Five {
                    global: typed(symbol, c"caml_scan_global_roots").ok()?,
                    all: typed(symbol, c"caml_do_roots").ok()?,
                    finalisers: typed(symbol, c"caml_final_do_roots").ok(),
                    stack: typed(symbol, c"caml_do_local_roots").ok()?,
                    memprof: typed(symbol, c"caml_memprof_scan_roots").ok()?,
                    fiber: typed(symbol, c"caml_scan_stack").ok()?,
                }),
            };
            Some(Roots { globals: typed(symbol, c"caml_globals").ok()?, of_version })
        }
    }

    /// Tells of each root, some of them several times; `domains` are the states of all, in OCaml 5.
    ///
    /// # Safety
    /// Called in a copy of the process that has no other thread, made where the heap was whole.
    pub(super) unsafe fn each<'a>(&self, domains: &[*const u64], told: &'a mut Told<'a>) {
        let stacks = match &self.of_version {
            // SAFETY: by contract.
            OfVersion::Four(four) => unsafe { four.stacks() },
            OfVersion::Five(_) => Stacks::default(),
        };
        let mut asking = Asking { sort: Sort::Globals, stacks, told };
        // SAFETY: by contract, here and below.
        unsafe { self.each_global(&mut asking) };
        ASKING.store((&raw mut asking).cast(), Ordering::Relaxed);
        let ask = |sort, tell: &mut dyn FnMut()| {
            // SAFETY: it lives until the end of this function, and nobody else uses it between the calls.
            unsafe { (*ASKING.load(Ordering::Relaxed).cast::<Asking<'_>>()).sort = sort };
            tell();
        };
        match &self.of_version {
            // SAFETY: by contract.
            OfVersion::Four(four) => unsafe { four.each(ask) },
            // SAFETY: by contract.
            OfVersion::Five(five) => unsafe { five.each(domains, ask) },
        }
        ASKING.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The fields of the units' blocks.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn each_global(&self, asking: &mut Asking<'_>) {
        // SAFETY: a list of lists of blocks, each with a zero at its end.
        unsafe {
            for unit in until_zero(self.globals.cast()) {
                for block in until_zero(unit as *const u64) {
                    let first = block as *const u64;
                    for index in 0..(first.sub(1).read() >> 10) as usize {
                        let slot = first.add(index);
                        (asking.told)(Holder::of(Sort::Globals), slot as u64, slot.read());
                    }
                }
            }
        }
    }

    /// What a stack that waits refers to, in OCaml 5.
    ///
    /// # Safety
    /// As [`each`](Self::each); `continuation` is a block that has a stack, or had one.
    pub(super) unsafe fn of_fiber<'a>(&self, continuation: u64, told: &'a mut Told<'a>) {
        let OfVersion::Five(five) = &self.of_version else { return };
        // SAFETY: its first field is the stack's address, its lowest bit set.
        let stack = unsafe { (continuation as *const u64).read() } & !1;
        if stack != 0 {
            let mut asking = Asking { sort: Sort::Stack, stacks: Stacks::default(), told };
            let before = ASKING.swap((&raw mut asking).cast(), Ordering::Relaxed);
            // SAFETY: by contract.
            unsafe { (five.fiber)(root5, 0, core::ptr::null_mut(), stack, 0) };
            ASKING.store(before, Ordering::Relaxed);
        }
    }

    /// Tells of sampled blocks that the runtime's own sampler follows: what we have given it to remember, and
    /// the block.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    pub(super) unsafe fn each_sample(
        &self,
        domains: &[*const u64],
        sample: &mut dyn FnMut(u64, u64),
    ) {
        let five = match &self.of_version {
            // SAFETY: by contract.
            OfVersion::Four(four) => return unsafe { four.each_sample(sample) },
            OfVersion::Five(five) => five,
        };
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
        let mut asking = Asking { sort: Sort::Memprof, stacks: Stacks::default(), told: &mut told };
        ASKING.store((&raw mut asking).cast(), Ordering::Relaxed);
        for &domain in domains {
            // SAFETY: by contract.
            unsafe { (five.memprof)(root5, 0, core::ptr::null_mut(), domain, true) };
        }
        ASKING.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

impl Four {
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn each(&self, mut ask: impl FnMut(Sort, &mut dyn FnMut())) {
        // SAFETY: by contract; the runtime's variables.
        unsafe {
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
    /// in `runtime/memprof.c`, 4.12 to 4.14)
    ///
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn each_sample(&self, sample: &mut dyn FnMut(u64, u64)) {
        const WORDS_BEFORE: u64 = 3;
        // SAFETY: what it tells of is the fourth word of an entry.
        let mut told = |_, slot: u64, metadata: u64| unsafe {
            sample(metadata, ((slot - 8 * WORDS_BEFORE) as *const u64).read());
        };
        let mut asking = Asking { sort: Sort::Memprof, stacks: Stacks::default(), told: &mut told };
        ASKING.store((&raw mut asking).cast(), Ordering::Relaxed);
        // SAFETY: by contract.
        unsafe { (self.memprof)(root4) };
        ASKING.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Word of the domain's state, from the one on that has where the stack begins.
    ///
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn word(&self, after: usize) -> u64 {
        // SAFETY: by contract; the domain's state has these words one after the other.
        unsafe { self.state.read().add(self.stack_index + after).read() }
    }

    /// The stacks that the runtime will tell of.
    ///
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn stacks(&self) -> Stacks {
        // SAFETY: by contract.
        unsafe {
            let at = State { stack: self.word(0), code: self.word(1) };
            Stacks::of(Stack::of(self.descriptors, at, self.word(2)), self.has_thread_library())
        }
    }

    /// Whether it is the thread library of OCaml's that tells of other threads' stacks, and not somebody who has taken its
    /// place: its functions are near one another.
    ///
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn has_thread_library(&self) -> bool {
        const NEAR: u64 = 1 << 14;
        // SAFETY: by contract; the runtime's variable.
        let threads = unsafe { self.threads.read() };
        threads.is_some_and(|tell| {
            self.library.is_some_and(|library| library.abs_diff(tell as usize as u64) < NEAR)
        })
    }

    /// # Safety
    /// As [`Roots::each`].
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

impl Five {
    /// # Safety
    /// As [`Roots::each`].
    unsafe fn each(&self, domains: &[*const u64], mut ask: impl FnMut(Sort, &mut dyn FnMut())) {
        let none = core::ptr::null_mut();
        // SAFETY: by contract; words of the domains' states.
        unsafe {
            ask(Sort::GlobalRoots, &mut || (self.global)(root5, none));
            for &domain in domains {
                let word = |index| domain.add(index).read();
                if let Some(finalisers) = self.finalisers {
                    ask(Sort::Finalisers, &mut || finalisers(root5, 0, none, domain, 0));
                }
                ask(Sort::Stack, &mut || {
                    (self.stack)(
                        root5,
                        0,
                        none,
                        word(LOCAL_ROOTS),
                        word(CURRENT_STACK),
                        word(REGISTERS),
                    );
                });
                ask(Sort::Memprof, &mut || (self.memprof)(root5, 0, none, domain, false));
                ask(Sort::Threads, &mut || (self.all)(root5, 0, none, domain, 0));
            }
        }
    }
}

/// The lists of a domain's ephemerons, in OCaml 5: the first of each.
///
/// # Safety
/// It is a domain's state.
pub(super) unsafe fn ephemerons_of(domain: *const u64) -> [u64; 2] {
    // SAFETY: by contract: the two lists stand first.
    unsafe { (domain.add(EPHEMERONS).read() as *const [u64; 2]).read() }
}

/// The words from there on until one is zero.
///
/// # Safety
/// There is one that is.
unsafe fn until_zero(first: *const u64) -> impl Iterator<Item = u64> {
    // SAFETY: by contract.
    (0..).map(move |index| unsafe { first.add(index).read() }).take_while(|&word| word != 0)
}
