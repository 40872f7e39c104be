//! Sampling begins in an OCaml 5 that runs. \[UNSAFE\]
//!
//! Each domain starts its own profile when it first comes to a safe place: where it has waited and has its lock again, or,
//! after a collection of its young heap, where it would give way to another thread. Who comes first stops all domains for
//! a moment, to see that nobody of them is sampled by the program, and to have it [give way](crate::yielding) from then
//! on. Domains that begin later have their parent's profile.
//!
//! All profiles end together, while all domains are stopped.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use lifetrace_agent::session::Session;
use lifetrace_agent::sys;

use super::{Due, blocks, due, tell};
use crate::blocks::Value;
use crate::domains::{self, Domains, Profile};
use crate::runtime::{self, Runtime};
use crate::{attached, begin, host, terms, thunks, yielding};

/// By the numbers of domains, as far as there is room: the number, and the last session that has been served there.
static SERVED: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];

/// The session for which all domains have been stopped.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// What was in the hook's place.
static PREVIOUS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Finds what is needed, on the recorder's own thread or at the program's start, and has domains come by; whether it is
/// there.
pub(super) fn prepare(runtime: &Runtime) -> bool {
    let Some([first, ..]) = thunks::of(runtime.version) else { return false };
    let find = || Domains::find(runtime, first as *const ()).ok().and_then(Domains::keep);
    let Some(domains) = domains::get().or_else(find) else { return false };
    let (ours, before) = (comes_by as *mut c_void, domains.hook.load(Ordering::Acquire));
    if before != ours {
        PREVIOUS.store(before, Ordering::Release);
        domains.hook.store(ours, Ordering::Release);
    }
    attached::call_by(ask_to_come);
    true
}

/// To be called at the end of a collection of the domain's young heap.
fn ask_to_come(runtime: &'static Runtime) {
    if let Some(domains) = domains::get()
        && due(runtime) != Due::Nothing
    {
        domains.ask_to_come();
    }
}

/// The domain is where others may run.
unsafe extern "C" fn comes_by() {
    let (Some(runtime), Some(domains)) = (runtime::get(), domains::get()) else { return };
    let errno = sys::errno();
    domains.go_on(PREVIOUS.load(Ordering::Acquire));
    attached::look(runtime);
    sys::set_errno(errno);
}

pub(super) fn is_served(runtime: &Runtime, session: &Session) -> bool {
    let number = runtime.domain();
    served(number).load(Ordering::Relaxed) == mark(number, session)
}

fn served(number: u64) -> &'static AtomicU64 {
    &SERVED[number as usize % SERVED.len()]
}

fn mark(number: u64, session: &Session) -> u64 {
    number << 32 | u64::from(session.number)
}

/// Does what can be done for the session by this domain.
pub(super) fn serve(runtime: &'static Runtime, session: &Session) {
    if !begin(runtime, session) {
        return;
    }
    let number = runtime.domain();
    served(number).store(mark(number, session), Ordering::Relaxed);
    if yielding::is_ours() && !start_here() {
        begin::notice(terms::NOT_ATTACHED);
    }
}

/// Does what is done once; false if it is to be tried again.
fn begin(runtime: &'static Runtime, session: &Session) -> bool {
    let Some(held) = yielding::exclude_others() else {
        // All come at the same time, after a collection; who is at it is soon done.
        sys::yield_now();
        domains::get().inspect(|domains| domains.ask_to_come());
        return false;
    };
    if BEGUN.load(Ordering::Relaxed) == session.number {
        return true;
    }
    // An earlier session's profiles.
    yielding::end_under(&held, runtime);
    if yielding::is_ours() {
        return false;
    }
    if let Some(rate) = begin::rate(session.header.settings()) {
        let code = match domains::get() {
            None => Some(terms::NOT_ATTACHED),
            Some(domains) => match prepare_all(runtime, domains) {
                Prepared::NotNow => return false,
                Prepared::Taken => Some(terms::MEMPROF_TAKEN),
                Prepared::Unguarded => Some(terms::NOT_ATTACHED),
                Prepared::Ready if blocks(runtime, rate).is_none() => return false,
                Prepared::Ready if !tell(runtime, session, rate) => return false,
                Prepared::Ready => None,
            },
        };
        code.into_iter().for_each(begin::notice);
    }
    BEGUN.store(session.number, Ordering::Relaxed);
    true
}

/// What has come of it.
enum Prepared {
    Ready,
    /// The program samples itself.
    Taken,
    /// The program's code cannot be changed.
    Unguarded,
    NotNow,
}

/// Sees, while all domains are stopped, whether they can be sampled, and that the program's own use of Memprof is noticed
/// from then on.
fn prepare_all(runtime: &Runtime, domains: &Domains) -> Prepared {
    let (is_taken, is_guarded) = (Cell::new(false), Cell::new(false));
    let is_done = domains.with_all(runtime, |all| {
        // SAFETY: all domains are stopped.
        let is_programs = |it: &*const u64| unsafe { domains.profile(*it) } == Profile::Programs;
        if all.iter().any(is_programs) {
            return is_taken.set(true);
        }
        is_guarded.set(yielding::prepare(runtime));
        if let Some(sums) = runtime.sums {
            // SAFETY: this thread runs for a domain, and no other does anything.
            unsafe { sums.keep() };
        }
    });
    match (is_done, is_taken.into_inner(), is_guarded.into_inner()) {
        (false, ..) => Prepared::NotNow,
        (_, true, _) => Prepared::Taken,
        (_, _, false) => Prepared::Unguarded,
        _ => Prepared::Ready,
    }
}

/// Starts this domain's profile, if it has not its parent's; whether it is ours then.
fn start_here() -> bool {
    let Some(domains) = domains::get() else { return false };
    let Some(state) = domains.own().map(|it| it.as_ptr().cast_const()) else { return false };
    let Some(blocks) = super::made_blocks() else { return false };
    // SAFETY: this thread's domain.
    let profile = || unsafe { domains.profile(state) };
    if profile() == Profile::Nobodys {
        // SAFETY: nobody samples this domain, so it raises nothing but that there is no memory; the blocks are as it
        // expects them. It may collect, and the caller has no values.
        unsafe {
            (domains.start)(blocks.rate(), Value::immediate(host::depth()), blocks.tracker())
        };
    }
    profile() == Profile::Ours
}
