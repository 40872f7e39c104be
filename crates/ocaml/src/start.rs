//! The start, when the runtime is initialised and has run no OCaml code yet. \[UNSAFE\]
//!
//! The runtime asks for the program's path by `readlink("/proc/self/exe")` once, after its collector,
//! tables and signals are set up and right before the program; so does nobody else with an initialised
//! runtime. That function is hooked, and everything begins there.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::host::Host;
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::{loader, sys};
use lifetrace_transport::segment::Settings;

use crate::begin::{self, notice, prepare_callbacks, settings};
use crate::blocks::Value;
use crate::runtime::{self, Runtime};
use crate::static_blocks::StaticBlocks;
use crate::symbols::{self, Absent};
use crate::{host, late, memprof, snapshot, terms, thunks, totals, yielding};

type Readlink = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;

static NEXT_READLINK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// `readlink`, as C has it.
///
/// # Safety
/// As C's.
pub unsafe fn readlink(host: Host, path: *const c_char, to: *mut c_char, size: usize) -> isize {
    // SAFETY: C's contract: a string, or null, which the kernel refuses.
    if !path.is_null() && unsafe { CStr::from_ptr(path) } == c"/proc/self/exe" {
        let errno = sys::errno();
        start(host);
        sys::set_errno(errno);
    }
    // SAFETY: the caller's arguments.
    unsafe { next_readlink(path, to, size) }
}

/// `__readlink_chk`, which is what C's `readlink` becomes where the compiler knows the buffer's length.
///
/// # Safety
/// As C's.
pub unsafe fn readlink_checked(
    host: Host,
    path: *const c_char,
    to: *mut c_char,
    size: usize,
    length: usize,
) -> isize {
    if size > length {
        sys::abort();
    }
    // SAFETY: by contract.
    unsafe { readlink(host, path, to, size) }
}

/// # Safety
/// As C's readlink.
unsafe fn next_readlink(path: *const c_char, to: *mut c_char, size: usize) -> isize {
    let mut next = NEXT_READLINK.load(Ordering::Relaxed);
    if next.is_null() {
        let own = readlink as *const () as u64;
        next = loader::next_symbol(c"readlink", own).map_or(next, NonNull::as_ptr);
        NEXT_READLINK.store(next, Ordering::Relaxed);
    }
    if next.is_null() {
        // SAFETY: what C's readlink does; the arguments are the caller's.
        return unsafe { sys::readlink(path, to, size) };
    }
    // SAFETY: C's readlink has this type; the arguments are the caller's.
    unsafe { core::mem::transmute::<*mut c_void, Readlink>(next)(path, to, size) }
}

/// Whether this process is recorded, by this copy of the agent.
pub fn is_recorded() -> bool {
    phase::current() == Phase::Recording
}

/// The program is in its exit handlers.
pub fn finish() {
    if begin::has_begun() {
        totals::send_last();
        if let Some(runtime) = runtime::get() {
            snapshot::at_exit(runtime);
        }
    }
}

/// The program is about to end without its exit handlers.
pub fn leave() {
    totals::keep_last();
}

/// After all it does not.
pub fn stay() {
    totals::keep_behind();
}

/// Starts sampling if this is the moment and the recorder wants it; where that may go and come, with each of its sessions.
fn start(host: Host) {
    let found = match runtime::find() {
        Err(Absent::NotHere) => return,
        found => found,
    };
    if !begin::begins() {
        return;
    }
    begin::begin_with(host);
    let stands_by = phase::waits_for_recorders();
    let wish = settings();
    if wish.is_none() && !stands_by {
        return;
    }
    let runtime = match found {
        Ok(_) if memtrace_is_wanted() => Err(terms::MEMTRACE),
        Ok(found) => Ok(runtime::keep(found)),
        Err(_) => Err(terms::WITHOUT_SAMPLER),
    };
    match (runtime, wish) {
        (Ok(Some(runtime)), _) if stands_by && late::stand_by(runtime) => {}
        (Ok(Some(runtime)), Some((settings, rate))) => sample(runtime, &settings, rate),
        (Err(code), Some(_)) => notice(code),
        _ => {}
    }
}

/// Whether the program is about to start Memtrace, which would find Memprof started and die.
fn memtrace_is_wanted() -> bool {
    let is_linked = [c"camlMemtrace", c"caml_startup__camlMemtrace", c"camlMemtrace__code_begin"];
    is_linked.into_iter().any(symbols::exports)
        && sys::environment_variable("MEMTRACE").is_some_and(|value| !value.is_empty())
}

fn sample(runtime: &'static Runtime, settings: &Settings, rate: f64) {
    let Some(codes) = thunks::of(runtime.version) else { return notice(terms::WITHOUT_SAMPLER) };
    let Some(tracker) = StaticBlocks::make(codes, rate) else { return };
    if !prepare_callbacks(runtime, settings, rate) {
        return;
    }
    let ways = thunks::MEMPROF.map(|code| code as *const ());
    if !memprof::take_over(runtime, &ways, rate) {
        totals::sampler_allocates();
    }
    // SAFETY: the runtime is initialised and no OCaml code has run, so nobody has started it before, and
    // it raises nothing; the blocks are static, and made as it expects them.
    unsafe { (runtime.start)(tracker.rate(), Value::immediate(host::depth()), tracker.tracker()) };
    if !yielding::prepare(runtime) {
        notice(terms::MEMPROF_UNGUARDED);
    }
}
