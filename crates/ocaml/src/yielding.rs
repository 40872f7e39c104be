//! Makes way for the program when it starts `Gc.Memprof` itself. \[UNSAFE\]
//!
//! The runtime has room for one client. A program that finds it taken gets an exception which it does not
//! expect, and dies. Its calls of `caml_memprof_start` and `caml_memprof_stop` are bound within the
//! executable, so they cannot be heard by name. So at the start, before there is any OCaml code, the first
//! bytes of both functions become a jump to us. At the first call the bytes are put back, our sampling is
//! stopped, and the call goes on as if we had never been there:
//!
//! ```text
//! caml_memprof_start ─▶ make_way_for_start ─ bytes back ─ stop ours ─▶ caml_memprof_start
//! ```
//!
//! When recording has ended and the program goes on, sampling is stopped in the same way, so that it costs
//! nothing any more.
//!
//! Whoever calls these functions holds the runtime's lock, so nobody is in them while they change. OCaml 5
//! has a profile for each domain, and domains run at the same time: there nothing is changed.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_transport::message::{Body, NoticeKind};

use crate::blocks::{NONE, Value};
use crate::patch::Patch;
use crate::runtime::{self, Runtime};
use crate::{callbacks, callstacks};

static PATCHES: [Patch; 2] = [const { Patch::new() }; 2];
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// To be called once sampling has started, before the program runs; false if the kernel does not let the
/// program's code be changed.
pub(crate) fn prepare(runtime: &Runtime) -> bool {
    if runtime.version.has_fibers() {
        return true;
    }
    let places = functions(runtime);
    let ways = [make_way_for_start as *const () as usize, make_way_for_stop as *const () as usize];
    let patches = PATCHES.iter().zip(places).zip(ways).enumerate();
    for (done, ((patch, place), way)) in patches {
        // SAFETY: functions of the runtime, each longer than a patch; nobody runs them now.
        if !unsafe { patch.put(place, way) } {
            put_back(runtime, done);
            return false;
        }
    }
    IN_PLACE.store(true, Ordering::Release);
    true
}

unsafe extern "C" fn make_way_for_start(rate: Value, depth: Value, tracker: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    make_way(runtime);
    // SAFETY: the program's call, which may raise: nothing of ours is left to be dropped.
    unsafe { (runtime.start)(rate, depth, tracker) }
}

unsafe extern "C" fn make_way_for_stop(unit: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    make_way(runtime);
    // SAFETY: as above.
    unsafe { (runtime.stop)(unit) }
}

/// Ends our sampling, for good; whether it had not ended before. To be called where the runtime's lock is
/// held, in a callback too.
pub(crate) fn end(runtime: &Runtime) -> bool {
    let was_ours = IN_PLACE.swap(false, Ordering::AcqRel);
    if was_ours {
        put_back(runtime, PATCHES.len());
        callstacks::give_back(runtime);
        // SAFETY: it is started, so it raises nothing.
        unsafe { (runtime.stop)(NONE) };
    }
    was_ours
}

/// Ends our sampling because the program wants to.
fn make_way(runtime: &Runtime) {
    if end(runtime)
        && let Some(mut entered) = callbacks::enter()
    {
        entered.send(Body::Notice { kind: NoticeKind::OwnMemprof });
    }
}

/// The first so many.
fn put_back(runtime: &Runtime, count: usize) {
    for (patch, place) in PATCHES.iter().zip(functions(runtime)).take(count) {
        // SAFETY: in place; whoever is in the function has passed its first bytes, and holds the lock.
        unsafe { patch.take_back(place) };
    }
}

fn functions(runtime: &Runtime) -> [*mut u8; 2] {
    [runtime.start as *mut u8, runtime.stop as *mut u8]
}
