//! All domains of OCaml 5 stopped, as the runtime stops them. \[UNSAFE\]
//!
//! `caml_try_run_on_all_domains` has each domain call a function when it has come to a place where it may be stopped; in
//! the function, all wait until the one that has asked for it is done. (`runtime/domain.c`, 5.3)

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use lifetrace_agent::sys;

use crate::symbols::{Symbols, typed};

type Handler = unsafe extern "C" fn(*const u64, *mut c_void, c_int, *const *const u64);
pub(crate) type RunOnAll = unsafe extern "C" fn(Handler, *mut c_void, *const c_void) -> c_int;

/// On the stack of the thread that stops the others: so that has to be the last one that looks at it.
struct Stop<'a> {
    /// For the thread that stops the others alone.
    work: &'a dyn Fn(&[*const u64]),
    /// The thread by the system's number.
    by: u32,
    arrived: AtomicU32,
    is_done: AtomicBool,
    left: AtomicU32,
}

/// Runs something on this thread with the states of all domains while all are stopped; not, and false, if somebody else is
/// about to stop them, or the system does not tell threads apart.
pub(crate) fn with_all_domains(symbol: &Symbols<'_>, work: impl Fn(&[*const u64])) -> bool {
    let by = sys::thread_os_id();
    let Some(run) = run_on_all(symbol).filter(|_| by != 0) else { return false };
    let stop = Stop {
        work: &work,
        by,
        arrived: AtomicU32::new(0),
        is_done: AtomicBool::new(false),
        left: AtomicU32::new(0),
    };
    // SAFETY: the caller holds its domain's lock, in C code that OCaml code has called. The runtime calls the handler on
    // this thread, too, where it returns when nobody else uses `stop` any more.
    unsafe { run(handler, (&raw const stop).cast_mut().cast(), core::ptr::null()) != 0 }
}

/// `None` if the runtime has no such function.
pub(crate) fn run_on_all(symbol: &Symbols<'_>) -> Option<RunOnAll> {
    // SAFETY: a function of that type.
    unsafe { typed(symbol, c"caml_try_run_on_all_domains").ok() }
}

/// # Safety
/// As the runtime calls it.
unsafe extern "C" fn handler(
    _: *const u64,
    stop: *mut c_void,
    count: c_int,
    domains: *const *const u64,
) {
    // SAFETY: `with_all_domains` passes it, and waits for all who are here.
    let (stop, domains) = unsafe {
        (&*stop.cast::<Stop<'_>>(), core::slice::from_raw_parts(domains, count as usize))
    };
    if sys::thread_os_id() != stop.by {
        stop.arrived.fetch_add(1, Ordering::AcqRel);
        while !stop.is_done.load(Ordering::Acquire) {
            sys::yield_now();
        }
        stop.left.fetch_add(1, Ordering::AcqRel);
        return;
    }
    let others = count as u32 - 1;
    while stop.arrived.load(Ordering::Acquire) < others {
        sys::yield_now();
    }
    (stop.work)(domains);
    stop.is_done.store(true, Ordering::Release);
    while stop.left.load(Ordering::Acquire) < others {
        sys::yield_now();
    }
}
