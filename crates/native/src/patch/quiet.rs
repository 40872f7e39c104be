//! Functions of the next allocator, called so that nothing is counted meanwhile. \[UNSAFE\]
//!
//! Where we count what the program allocates by malloc, but also hook functions that its allocator builds malloc
//! on, the latter must not count it again.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use lifetrace_agent::tls;

use crate::families::Function;
use crate::families::hooks::by_slot;

/// As many as there are functions in the tables of what is next, and more.
const MOST: usize = 24;

static FUNCTIONS: [AtomicPtr<c_void>; MOST] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];

static USED: AtomicUsize = AtomicUsize::new(0);

static WAYS: [Function; MOST] =
    by_slot!(quiet: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);

/// A way to a function of four arguments at most. To be called while the process has a single thread.
pub(super) fn of(function: *mut c_void) -> *mut c_void {
    let index = USED.fetch_add(1, Ordering::Relaxed);
    let Some((way, place)) = WAYS.get(index).zip(FUNCTIONS.get(index)) else { return function };
    place.store(function, Ordering::Relaxed);
    *way as *mut c_void
}

/// # Safety
/// The contract of the function that it leads to.
unsafe extern "C" fn quiet<const INDEX: usize>(a: usize, b: usize, c: usize, d: usize) -> usize {
    // SAFETY: only `of` gives this function away, when there is one to lead to, which has been stored while
    // the process had a single thread.
    let function: Function = unsafe { core::mem::transmute(*FUNCTIONS[INDEX].as_ptr()) };
    // SAFETY: the caller's contract.
    tls::aside(|| unsafe { function(a, b, c, d) })
}
