//! The next allocator's own totals: bytes in use, and bytes that it has from the system. \[UNSAFE\]
//!
//! It is asked now and then, when a sample brings the agent by anyway. Three things must hold:
//!
//! - *No deadlock.* The allocator takes its locks to answer. This thread may hold one only if a signal
//!   handler, which we are in, interrupted the allocator; so the sample's backtrace must be whole, and
//!   free of the trampoline by which handlers return. The agent holds no lock meanwhile.
//! - *Cheap.* An answer that took `t` is not asked for again before `1000 t` have passed.
//! - *Bounded.* jemalloc and tcmalloc add up counters: microseconds, whatever the heap.
//!
//! glibc is never asked, because it can do none of these well: `mallinfo2` walks every free chunk of
//! every arena under the arena's lock, which takes as long as there are chunks, and falls over a chunk
//! that a bug of the program has damaged, which might have lain there for ever. mimalloc and musl have
//! nothing to ask.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::size_of;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::{loader, sys};
use lifetrace_transport::message::Body;

use crate::next::{NEXT, comes_by_our_malloc, lookup};
use crate::signal_frame;

/// Between two questions, in nanoseconds of the monotonic clock.
const INTERVAL: u64 = 100_000_000;

/// The time between questions is at least so many times what the last answer took.
const SPARING: u64 = 1000;

/// When to ask again.
static DUE: AtomicU64 = AtomicU64::new(0);

/// How to ask jemalloc, or null.
static MALLCTL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// How to ask tcmalloc, or null.
static PROPERTY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// What an allocator has handed out, and what it has, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Totals {
    in_use: usize,
    held: usize,
}

type Mallctl =
    unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;
type Property = unsafe extern "C" fn(*const c_char, *mut usize) -> c_int;

/// Finds out whom to ask. To be called once, when the next malloc is known.
pub(crate) fn resolve() {
    find(NEXT.malloc() as *const c_void, lookup);
}

/// As [`resolve`], where the program's malloc is not the next one after ours.
pub(crate) fn resolve_late() {
    let symbol = |name: &CStr| loader::symbol(name).map(NonNull::as_ptr);
    find(symbol(c"malloc").unwrap_or(null_mut()), symbol);
}

/// Whom to ask about the allocator that has `malloc`.
fn find(malloc: *const c_void, lookup: impl Fn(&CStr) -> Option<*mut c_void>) {
    for (slot, name) in [(&MALLCTL, c"mallctl"), (&PROPERTY, c"MallocExtension_GetNumericProperty")]
    {
        // There may be allocators around that are not the program's.
        let bias_of = |function| loader::bias_at(function as u64);
        let found = lookup(name).filter(|&found| bias_of(found.cast_const()) == bias_of(malloc));
        slot.store(found.unwrap_or(null_mut()), Ordering::Relaxed);
    }
}

/// To be called with a sample's backtrace just captured, and no lock held: asks the allocator and sends, if it is time.
#[inline]
pub(crate) fn send_if_due(entered: &mut Entered) {
    let is_there = |slot: &AtomicPtr<c_void>| !slot.load(Ordering::Relaxed).is_null();
    if is_there(&MALLCTL) || is_there(&PROPERTY) {
        send(entered);
    }
}

#[cold]
fn send(entered: &mut Entered) {
    let now = sys::now().0;
    let due = DUE.load(Ordering::Relaxed);
    let is_ours = || {
        let later = now + INTERVAL;
        DUE.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    if now < due || in_signal_handler(entered) || !is_ours() {
        return;
    }
    let mut totals = None;
    // What the allocator may allocate to answer is not the program's.
    comes_by_our_malloc(|| totals = ask());
    let took = sys::now().0.saturating_sub(now);
    DUE.fetch_max(now.saturating_add(took.saturating_mul(SPARING)), Ordering::Relaxed);
    if let Some(Totals { in_use, held }) = totals {
        entered.send(Body::AllocatorTotals { in_use: in_use as u64, held: held as u64 });
    }
}

/// Whether this thread is, or may be, in a signal handler.
fn in_signal_handler(entered: &Entered) -> bool {
    entered.backtraces.whole().is_none_or(signal_frame::is_among)
}

fn ask() -> Option<Totals> {
    let mallctl = MALLCTL.load(Ordering::Relaxed);
    if !mallctl.is_null() {
        // SAFETY: `resolve` found jemalloc's function of this type.
        return unsafe { ask_jemalloc(core::mem::transmute::<*mut c_void, Mallctl>(mallctl)) };
    }
    let property = PROPERTY.load(Ordering::Relaxed);
    if property.is_null() {
        return None;
    }
    // SAFETY: `resolve` found tcmalloc's function of this type.
    unsafe { ask_tcmalloc(core::mem::transmute::<*mut c_void, Property>(property)) }
}

/// # Safety
/// The function is jemalloc's.
unsafe fn ask_jemalloc(mallctl: Mallctl) -> Option<Totals> {
    let read = |name: &CStr| {
        let (mut value, mut bytes) = (0usize, size_of::<usize>());
        // SAFETY: statistics are of type size_t.
        let result =
            unsafe { mallctl(name.as_ptr(), (&raw mut value).cast(), &mut bytes, null_mut(), 0) };
        (result == 0).then_some(value)
    };
    let mut epoch = 1u64;
    // SAFETY: the epoch is of type uint64_t; writing it brings the statistics up to date.
    let result = unsafe {
        let epoch = (&raw mut epoch).cast();
        mallctl(c"epoch".as_ptr(), null_mut(), null_mut(), epoch, size_of::<u64>())
    };
    if result != 0 {
        return None;
    }
    Some(Totals { in_use: read(c"stats.allocated")?, held: read(c"stats.resident")? })
}

/// # Safety
/// The function is tcmalloc's.
unsafe fn ask_tcmalloc(property: Property) -> Option<Totals> {
    let read = |name: &CStr| {
        let mut value = 0usize;
        // SAFETY: all properties are of type size_t.
        let found = unsafe { property(name.as_ptr(), &mut value) };
        (found != 0).then_some(value)
    };
    let unmapped = read(c"tcmalloc.pageheap_unmapped_bytes")?;
    Some(Totals {
        in_use: read(c"generic.current_allocated_bytes")?,
        held: read(c"generic.heap_size")?.saturating_sub(unmapped),
    })
}
