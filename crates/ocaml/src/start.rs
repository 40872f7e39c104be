//! The start, when the runtime is initialised and has run no OCaml code yet. \[UNSAFE\]
//!
//! The runtime asks for the program's path by `readlink("/proc/self/exe")` once, after its collector,
//! tables and signals are set up and right before the program; so does nobody else with an initialised
//! runtime. That function is hooked, and everything begins there.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::host::Host;
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::{loader, sys};
use lifetrace_transport::message::Body;
use lifetrace_transport::segment::Settings;

use crate::blocks::{Value, static_header};
use crate::host;
use crate::runtime::{self, Runtime};
use crate::symbols::{self, Absent};
use crate::{entry, late, memprof, snapshot, stack, state, terms, thunks, totals, yielding};

type Readlink = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;

static NEXT_READLINK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static STARTED: AtomicBool = AtomicBool::new(false);

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

/// The agent of this copy has begun, in a program that runs already.
pub(crate) fn has_begun() {
    STARTED.store(true, Ordering::Relaxed);
}

/// Whether this process is recorded, by this copy of the agent.
pub fn is_recorded() -> bool {
    phase::current() == Phase::Recording
}

/// The program is in its exit handlers.
pub fn finish() {
    if STARTED.load(Ordering::Relaxed) {
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

/// Has the agent ask `host` for its services from now on.
pub(crate) fn begin_with(host: Host) {
    host::set(host, forget_other_threads);
}

/// To be called in a forked child, where the parent's other threads have left things.
fn forget_other_threads() {
    state::reset_after_fork();
    stack::reset_after_fork();
    yielding::reset_after_fork();
    memprof::forget();
}

/// Starts sampling if this is the moment and the recorder wants it; where that may go and come, with each of its sessions.
fn start(host: Host) {
    let found = match runtime::find() {
        Err(Absent::NotHere) => return,
        found => found,
    };
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    begin_with(host);
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

/// The probability that a word is to be hit, if the recorder wants OCaml to be sampled.
pub(crate) fn rate(settings: &Settings) -> Option<f64> {
    settings.sources.of(terms::NAME).map(|source| source.rate)
}

/// What the recorder wants, if it wants OCaml to be sampled.
fn settings() -> Option<(Settings, f64)> {
    let entered = entry::enter()?;
    let settings = *entered.session().header.settings();
    rate(&settings).map(|rate| (settings, rate))
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

/// Sees to all that a session's callbacks need; false when there is no memory for it.
pub(crate) fn prepare_callbacks(runtime: &Runtime, settings: &Settings, rate: f64) -> bool {
    if !runtime.version.has_fibers() && !stack::prepare() {
        return false;
    }
    thunks::C_CALL.store(runtime.c_call as usize, Ordering::Relaxed);
    host::wish(depth_at(rate, settings.stack_limit as usize), !settings.sources.has_malloc());
    if let Some(mut entered) = entry::enter() {
        drop(state::of_session(&mut entered, runtime));
    }
    totals::follow(runtime);
    snapshot::follow(runtime);
    true
}

/// How deep stacks are to be walked: as deep as they get where samples are rare, and never so deep that
/// the runtime's walk, and the array that it makes of the frames, cost more than about a quarter of a
/// microsecond for each word allocated. Both ends of a stack that is deeper than the limit are wanted, so not less than
/// the limit.
fn depth_at(rate: f64, limit: usize) -> usize {
    const FRAMES_PER_WORD: f64 = 10.0;
    const DEEPEST: f64 = (1 << 20) as f64;
    ((FRAMES_PER_WORD / rate).min(DEEPEST) as usize).max(limit)
}

pub(crate) fn notice(code: &'static [u8]) {
    if let Entry::Recording(mut entered) = guard::enter() {
        entered.send(Body::Notice { code });
    }
}

/// The tracker, its closures and the boxed rate, each with its header before it.
#[repr(C)]
pub(crate) struct StaticBlocks {
    rate_header: usize,
    rate: f64,
    tracker_header: usize,
    tracker: [usize; 5],
    closures: [[usize; 3]; 5],
}

impl StaticBlocks {
    /// In memory that stays; `None` when there is none.
    pub(crate) fn make(codes: [thunks::Code; 5], rate: f64) -> Option<&'static StaticBlocks> {
        const RECORD: usize = 0;
        const CLOSURE: usize = 247;
        const DOUBLE: usize = 253;
        /// Arity 1, and the environment begins after the two fields.
        const CLOSURE_INFO: usize = 1 << 56 | 2 << 1 | 1;
        let place = sys::map(size_of::<StaticBlocks>())?.cast::<StaticBlocks>();
        let closures = codes.map(|code| [static_header(2, CLOSURE), code as usize, CLOSURE_INFO]);
        let blocks = StaticBlocks {
            rate_header: static_header(1, DOUBLE),
            rate,
            tracker_header: static_header(5, RECORD),
            tracker: [0; 5],
            closures,
        };
        // SAFETY: fresh memory, large and aligned enough, which stays.
        unsafe {
            place.write(blocks);
            let blocks = &mut *place.as_ptr();
            for (field, closure) in blocks.tracker.iter_mut().zip(&blocks.closures) {
                *field = (&raw const closure[1]) as usize;
            }
            Some(blocks)
        }
    }

    pub(crate) fn rate(&self) -> Value {
        Value::block((&raw const self.rate).cast())
    }

    /// As [`make`](Self::make), in memory that was made before, and is in nobody's use.
    ///
    /// # Safety
    /// The runtime has none of these blocks now, and nobody else refers to them.
    pub(crate) unsafe fn with_rate(blocks: NonNull<Self>, rate: f64) -> &'static StaticBlocks {
        // SAFETY: by contract; memory of `make`'s, which stays.
        unsafe {
            (*blocks.as_ptr()).rate = rate;
            blocks.as_ref()
        }
    }

    pub(crate) fn tracker(&self) -> Value {
        Value::block(self.tracker.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_samples_are_walked_to_their_end_and_frequent_ones_to_the_limit() {
        assert_eq!(depth_at(1e-6, 8192), 1 << 20);
        assert_eq!(depth_at(1e-4, 8192), 100_000);
        assert_eq!(depth_at(1.0, 8192), 8192);
    }

    #[test]
    fn blocks_are_as_the_runtime_expects_them() {
        unsafe extern "C" fn code() {}
        let blocks = StaticBlocks::make([code; 5], 0.25).unwrap();
        // SAFETY: blocks with headers.
        let (rate, closures) = unsafe { (blocks.rate().fields(), blocks.tracker().fields()) };
        assert_eq!((rate, closures.len()), (&[0.25f64.to_bits()][..], 5));
        for &closure in closures {
            // SAFETY: as above.
            let fields = unsafe { Value::of(closure as usize).fields() };
            assert_eq!((fields[0], fields.len()), (code as *const () as u64, 2));
        }
    }
}
