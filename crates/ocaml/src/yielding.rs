//! Makes way for the program when it starts `Gc.Memprof` itself. \[UNSAFE\]
//!
//! The runtime has room for one client. A program that finds it taken gets an exception which it does not
//! expect, and dies. Its calls of `caml_memprof_start` and `caml_memprof_stop` are bound within the
//! executable, so they cannot be hooked by name. So at the start, before there is any OCaml code, the first
//! bytes of both functions become a jump to us. At the first call the bytes are put back, our sampling is
//! stopped, and the call goes on as if we had never been there:
//!
//! ```text
//! caml_memprof_start ─▶ make_way_for_start ─ bytes back ─ stop ours ─▶ caml_memprof_start
//! ```
//!
//! To stop may mean a last callback, which allocates, and so a collection: the program's arguments are kept as
//! roots meanwhile.
//!
//! When recording has ended and the program goes on, sampling is stopped in the same way, so that it costs
//! nothing any more.
//!
//! Whoever calls these functions of OCaml 4 holds the runtime's lock, so nobody is in them while they change. The
//! domains of OCaml 5 have inherited our profile, and a stop by one of them ends it for all. They run at the same
//! time: who finds another one at work here waits for it. In a program that was attached to each domain has its own, and all
//! are stopped to end them. That two make their first calls within the same few
//! nanoseconds, and one reads bytes that are half changed, is left to chance.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::patch::{self, Patch};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_transport::message::Body;

use crate::blocks::{NONE, Value};
use crate::domains::{self, Domains};
use crate::runtime::{self, Runtime};
use crate::{entry, memprof, terms};

/// Places of both functions.
const START: usize = 0;
const STOP: usize = 1;

static PATCHES: [Patch; 2] = [const { Patch::unset() }; 2];
static IN_PLACE: AtomicBool = AtomicBool::new(false);
static LOCK: Lock = Lock::new();

/// To be called once sampling has started, before the program runs; false if the kernel does not let the
/// program's code be changed.
pub(crate) fn prepare(runtime: &Runtime) -> bool {
    let places = functions(runtime).map(NonNull::new);
    let ways = [make_way_for_start as *const (), make_way_for_stop as *const ()];
    // SAFETY: functions of the runtime, each longer than a patch; nobody runs them now.
    let is_put = unsafe { patch::put_all(&PATCHES, &places, &ways) };
    IN_PLACE.store(is_put, Ordering::Release);
    is_put
}

unsafe extern "C" fn make_way_for_start(rate: Value, depth: Value, tracker: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    let [rate, tracker] = runtime.rooted([rate, tracker], || make_way(runtime));
    // SAFETY: the program's call, which may raise: nothing of ours is left to be dropped.
    unsafe { (runtime.start)(rate, depth, tracker) }
}

unsafe extern "C" fn make_way_for_stop(unit: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    make_way(runtime);
    // SAFETY: as above.
    unsafe { (runtime.stop)(unit) }
}

/// Ends our sampling, for good. To be called where the runtime's lock is held, in a callback too.
pub(crate) fn end(runtime: &Runtime) {
    // Whoever has the lock does it.
    if let Some(held) = LOCK.acquire(Patience::None) {
        end_under(&held, runtime);
    }
}

/// Ends our sampling, for good, if nobody records any more: to be called where a block cannot be reported.
#[cold]
pub(crate) fn end_if_off(runtime: &Runtime) {
    if phase::current() == Phase::Off {
        end(runtime);
    }
}

/// Whether the sampling is ours, and has not ended.
pub(crate) fn is_ours() -> bool {
    IN_PLACE.load(Ordering::Acquire)
}

/// Keeps others from beginning and ending it; `None` if somebody is at it.
pub(crate) fn exclude_others() -> Option<Held<'static>> {
    LOCK.acquire(Patience::None)
}

/// Ends our sampling, for good, if it has not ended; whether it has now.
pub(crate) fn end_under(_held: &Held<'_>, runtime: &Runtime) -> bool {
    if let Some(domains) = domains::get() {
        return is_ours() && end_all(domains, runtime);
    }
    let was_ours = IN_PLACE.swap(false, Ordering::AcqRel);
    if was_ours {
        put_back(runtime, STOP);
        memprof::give_back(runtime);
        // SAFETY: it is started, so it raises nothing.
        unsafe { (runtime.stop)(NONE) };
        // Only now: until here whoever starts has to wait.
        put_back(runtime, START);
    }
    was_ours
}

/// Ends our sampling in all domains at once, where each has its own profile.
fn end_all(domains: &Domains, runtime: &Runtime) -> bool {
    domains.with_all(runtime, |all| {
        // SAFETY: all domains are stopped.
        unsafe { domains.stop_ours(all) };
        if IN_PLACE.swap(false, Ordering::AcqRel) {
            [STOP, START].into_iter().for_each(|index| put_back(runtime, index));
        }
    })
}

/// Ends our sampling because the program wants to. A collection may be what another domain, who does so, waits for:
/// it gets it without us.
fn make_way(runtime: &Runtime) {
    let wait = || runtime.without_lock(|| LOCK.acquire(Patience::Short));
    let Some(held) = LOCK.acquire(Patience::None).or_else(wait) else { return };
    let was_ours = end_under(&held, runtime);
    drop(held);
    if was_ours && let Some(mut entered) = entry::enter() {
        entered.send(Body::Notice { code: terms::OWN_MEMPROF });
    }
}

/// In the only thread of a forked child: whoever held the lock is in the parent.
pub(crate) fn reset_after_fork() {
    LOCK.reset();
}

fn put_back(runtime: &Runtime, index: usize) {
    // SAFETY: in place; whoever is in the function has passed its first bytes, and holds the lock.
    unsafe { PATCHES[index].take_back(functions(runtime)[index]) };
}

fn functions(runtime: &Runtime) -> [*mut u8; 2] {
    [runtime.start as *mut u8, runtime.stop as *mut u8]
}
