//! Which functions an allocator's calls lead to. \[UNSAFE\]
//!
//! ```text
//! plain ── a session starts ──▶ counting ── it ends ──▶ plain
//! ```
//!
//! The pointers of one allocator change one after the other while other threads call it, so any of them
//! may meet any mixture for a moment, and some may still be in functions of long before. That does no
//! harm: every block is the inner allocator's, and whoever meets a sample looks whether there is a session.
//! The functions that take blocks change first, so that hardly a death of a first sample is missed.
//!
//! All of this is of the program's global allocator. It is found by a call that it answers
//! ([`find_global`]), since an allocator cannot know that it is one.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use lifetrace_agent::lock::{Lock, Patience};
use lifetrace_agent::tls;

use crate::detour;

/// Where calls lead, and where they could.
pub(crate) struct Hooks {
    alloc: AtomicPtr<()>,
    dealloc: AtomicPtr<()>,
    alloc_zeroed: AtomicPtr<()>,
    realloc: AtomicPtr<()>,
    tables: &'static Tables,
}

/// Functions, each of the type that its caller knows.
pub(crate) struct Table {
    pub(crate) alloc: *mut (),
    pub(crate) dealloc: *mut (),
    pub(crate) alloc_zeroed: *mut (),
    pub(crate) realloc: *mut (),
}

/// The functions that an allocator's calls lead to, without a session and in one.
pub(crate) struct Tables {
    pub(crate) plain: Table,
    pub(crate) counting: Table,
}

// SAFETY: pointers to functions.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

/// The program's global allocator, once it is found.
static GLOBAL: AtomicPtr<Hooks> = AtomicPtr::new(null_mut());

/// The thread whose call is to be answered, by its [`tls::identity`].
static CALLER: AtomicUsize = AtomicUsize::new(0);

/// Held by whoever changes where calls lead.
static CHANGE: Lock = Lock::new();

/// Countdowns are of this epoch; see [`tls`].
static EPOCH: AtomicUsize = AtomicUsize::new(0);

impl Hooks {
    pub(crate) const fn new(tables: &'static Tables) -> Hooks {
        let Table { alloc, dealloc, alloc_zeroed, realloc } = tables.plain;
        Hooks {
            alloc: AtomicPtr::new(alloc),
            dealloc: AtomicPtr::new(dealloc),
            alloc_zeroed: AtomicPtr::new(alloc_zeroed),
            realloc: AtomicPtr::new(realloc),
            tables,
        }
    }

    #[inline(always)]
    pub(crate) fn alloc(&self) -> *mut () {
        self.alloc.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn dealloc(&self) -> *mut () {
        self.dealloc.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn alloc_zeroed(&self) -> *mut () {
        self.alloc_zeroed.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn realloc(&self) -> *mut () {
        self.realloc.load(Ordering::Relaxed)
    }

    /// The functions that take blocks first.
    fn lead_to(&self, table: &Table) {
        self.dealloc.store(table.dealloc, Ordering::Release);
        self.realloc.store(table.realloc, Ordering::Release);
        self.alloc_zeroed.store(table.alloc_zeroed, Ordering::Release);
        self.alloc.store(table.alloc, Ordering::Release);
    }
}

/// The epoch now.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn epoch() -> usize {
    let epoch;
    // SAFETY: reads one word, whole, as a relaxed load would; a compiler looks its address up first, which
    // lies in this program or library.
    unsafe {
        std::arch::asm!(
            "mov {epoch}, qword ptr [rip + {word}]",
            epoch = out(reg) epoch,
            word = sym EPOCH,
            options(nostack, preserves_flags, readonly),
        );
    }
    epoch
}

/// The epoch now.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn epoch() -> usize {
    EPOCH.load(Ordering::Relaxed)
}

/// To be called by an allocator's plain `alloc_zeroed`: if this is the call by which the global one is
/// looked for, it is found.
#[inline]
pub(crate) fn answer_call(hooks: &Hooks) {
    let caller = CALLER.load(Ordering::Relaxed);
    if caller != 0 && caller == tls::identity() {
        GLOBAL.store((&raw const *hooks).cast_mut(), Ordering::Release);
    }
}

/// Looks for the program's global allocator; whether it is an [`Alloc`](crate::Alloc). One thread at a time.
pub(crate) fn find_global() -> bool {
    let layout = Layout::new::<u64>();
    if global().is_none() {
        CALLER.store(tls::identity(), Ordering::Relaxed);
        // SAFETY: the layout has a size; the block is freed as it was allocated. The compiler, which may
        // leave out pairs of these, does not know that it is the same block.
        unsafe {
            let block = black_box(alloc_zeroed(layout));
            CALLER.store(0, Ordering::Relaxed);
            if !block.is_null() {
                dealloc(block, layout);
            }
        }
    }
    global().is_some()
}

/// The global allocator's.
fn global() -> Option<&'static Hooks> {
    // SAFETY: null, or what the global allocator has answered with, which is a static.
    unsafe { GLOBAL.load(Ordering::Acquire).as_ref() }
}

/// From now on blocks are counted, at the rate of now. The process is recorded already.
pub(crate) fn count() {
    change(|hooks| {
        EPOCH.fetch_add(1, Ordering::Release);
        detour::open();
        hooks.lead_to(&hooks.tables.counting);
    });
}

/// From now on calls lead straight to the inner allocator.
pub(crate) fn count_no_more() {
    change(|hooks| {
        hooks.lead_to(&hooks.tables.plain);
        detour::close();
    });
}

/// In a forked child, which has one thread and is not recorded.
pub(crate) fn reset_after_fork() {
    CHANGE.reset();
    count_no_more();
}

fn change(work: impl FnOnce(&Hooks)) {
    let held = CHANGE.acquire(Patience::Long);
    if let Some((_held, hooks)) = held.zip(global()) {
        work(hooks);
    }
}

/// Of what `work` allocates nothing is counted.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    tls::aside_in(epoch(), work)
}
