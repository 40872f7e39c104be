//! When the collector's exact counters are reported. \[UNSAFE\]
//!
//! Read at the end of a collection of the minor heap, when they are settled, if the last time was a while
//! ago; and once more at the program's end. Each time they are also kept in shared memory, where they outlive a process
//! that is killed. Between two collections the code of the clock leaves the caches,
//! so while collections come fast only each eighth asks what time it is.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::sys;
use lifetrace_transport::last_words::Standing;
use lifetrace_transport::message::Body;

use crate::runtime::{self, Hook, Runtime};
use crate::{attached, counters, entry, heard, snapshot, state};

const PERIOD_NANOS: u64 = 20_000_000;

/// Collections from one look at the clock to the next, if that many take no longer than the period.
const STRIDE: u32 = 8;

/// When they were sent last.
static SENT: AtomicU64 = AtomicU64::new(0);

static PACE: Pace =
    Pace { looked: AtomicU64::new(0), stride: AtomicU32::new(1), left: AtomicU32::new(1) };

/// When to look at the clock. Asked by whoever holds OCaml 4's lock, or for the first domain of OCaml 5.
struct Pace {
    /// When that was last.
    looked: AtomicU64,
    /// Collections from then to the next time.
    stride: AtomicU32,
    /// How many of them are yet to come.
    left: AtomicU32,
}

/// What was in the hook's place.
static PREVIOUS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

static PREVIOUS_OF_SLICES: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

static FOLLOWED: AtomicBool = AtomicBool::new(false);

/// Whether the runtime's own sampler works for us, and allocates.
static SAMPLER_ALLOCATES: AtomicBool = AtomicBool::new(false);

/// From now on; the hook, once in place, stays.
pub(crate) fn follow(runtime: &Runtime) {
    let hook: Hook = match (runtime.version.counters(), runtime.sums) {
        (Some(_), _) => minor_collection_ended,
        (None, Some(_)) => minor_collection_of_domain_ended,
        (None, None) => return,
    };
    if !FOLLOWED.swap(true, Ordering::Relaxed) {
        phase::listen_to_forks(counters::begin_anew);
        runtime.hook_minor_collections(hook, &PREVIOUS);
        if runtime.version.slice_state().is_some() {
            runtime.hook_major_slices(slice_begins, &PREVIOUS_OF_SLICES);
        }
    }
}

/// The runtime's sampler allocates for us in the program's heap.
pub(crate) fn sampler_allocates() {
    SAMPLER_ALLOCATES.store(true, Ordering::Relaxed);
}

unsafe extern "C" fn minor_collection_ended() {
    call(&PREVIOUS);
    if let Some(runtime) = runtime::get() {
        attached::look(runtime);
    }
    keep(true);
    send_if_due();
    if let Some(runtime) = runtime::get() {
        snapshot::follow(runtime);
        snapshot::after_minor_collection(runtime);
    }
}

/// OCaml 5's hook after a minor collection: called by each domain that takes part, it counts in the first.
unsafe extern "C" fn minor_collection_of_domain_ended() {
    call(&PREVIOUS);
    let Some(runtime) = runtime::get() else { return };
    attached::call(runtime);
    snapshot::follow(runtime);
    if let (Some(sums), 0) = (runtime.sums, runtime.domain()) {
        // SAFETY: called by the runtime at that time, for the first domain, of which there is one.
        unsafe { sums.keep() };
        keep(true);
        send_if_due();
    }
}

/// OCaml 4's hook before a slice of a collection of the old heap: a program that does not allocate has been nudged to
/// come here.
unsafe extern "C" fn slice_begins() {
    call(&PREVIOUS_OF_SLICES);
    if let Some(runtime) = runtime::get() {
        snapshot::if_asked(runtime);
    }
}

fn call(previous: &AtomicPtr<c_void>) {
    let previous = previous.load(Ordering::Relaxed);
    if !previous.is_null() {
        // SAFETY: a hook of this type, which the runtime would have called.
        unsafe { core::mem::transmute::<*mut c_void, Hook>(previous)() };
    }
}

fn send_if_due() {
    if PACE.looks() {
        let now = sys::now().0;
        PACE.looked_at(now);
        if now.wrapping_sub(SENT.load(Ordering::Relaxed)) >= PERIOD_NANOS {
            send();
        }
    }
}

impl Pace {
    /// One more collection; whether to look now.
    fn looks(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed) - 1;
        self.left.store(left, Ordering::Relaxed);
        left == 0
    }

    fn looked_at(&self, now: u64) {
        let passed = now.wrapping_sub(self.looked.swap(now, Ordering::Relaxed));
        let stride = u64::from(self.stride.load(Ordering::Relaxed));
        let is_fast = passed.saturating_mul(u64::from(STRIDE)) <= stride * PERIOD_NANOS;
        let stride = if is_fast { STRIDE } else { 1 };
        self.stride.store(stride, Ordering::Relaxed);
        self.left.store(stride, Ordering::Relaxed);
    }
}

/// At the program's end.
pub(crate) fn send_last() {
    let Some(runtime) = runtime::get().filter(|runtime| counters::are_readable(runtime)) else {
        return;
    };
    send();
    keep(runtime.sums.is_some());
}

/// Before an end without exit handlers: nothing is sent.
pub(crate) fn keep_last() {
    if let Some(runtime) = runtime::get().filter(|runtime| counters::are_readable(runtime)) {
        keep(runtime.sums.is_some());
    }
}

/// That was no end.
pub(crate) fn keep_behind() {
    if runtime::get().is_some_and(counters::are_readable) {
        keep(true);
    }
}

/// Keeps the counters where the recorder finds them when the process is gone.
fn keep(is_behind: bool) {
    if phase::current() != Phase::Recording || !heard::is_heard() {
        return;
    }
    let (Some(runtime), Some(session)) = (runtime::get(), phase::recording()) else { return };
    if let Some(totals) = counters::read(runtime) {
        let has_samplers_share = SAMPLER_ALLOCATES.load(Ordering::Relaxed);
        let standing = Standing { is_behind, has_samplers_share };
        session.header.last_words().keep_collector(&totals, standing);
    }
}

fn send() {
    let (Some(runtime), Some(mut entered)) = (runtime::get(), entry::enter()) else { return };
    if !heard::is_heard() {
        return;
    }
    let Some(totals) = counters::read(runtime) else { return };
    SENT.store(sys::now().0, Ordering::Relaxed);
    // So that the recorder knows of the runtime.
    drop(state::of_session(&mut entered, runtime));
    entered.send(Body::from(&totals.to_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the clock is asked while `collections` pass, each after as many nanoseconds.
    fn looks(pace: &Pace, now: &mut u64, nanos: u64, collections: u32) -> u32 {
        let mut looks = 0;
        for _ in 0..collections {
            *now += nanos;
            if pace.looks() {
                pace.looked_at(*now);
                looks += 1;
            }
        }
        looks
    }

    #[test]
    fn fast_collections_rarely_look_at_the_clock_and_slow_ones_do_each_time() {
        let pace =
            Pace { looked: AtomicU64::new(0), stride: AtomicU32::new(1), left: AtomicU32::new(1) };
        // The first look has no other to compare with, or one of long ago.
        let mut now = 1 << 40;
        assert_eq!(looks(&pace, &mut now, PERIOD_NANOS / 8, 2), 2);
        assert_eq!(looks(&pace, &mut now, PERIOD_NANOS / 8, 80), 10);
        assert_eq!(looks(&pace, &mut now, PERIOD_NANOS, 8), 1);
        assert_eq!(looks(&pace, &mut now, PERIOD_NANOS, 10), 10);
        assert_eq!(looks(&pace, &mut now, PERIOD_NANOS / 4, 10), 10);
    }
}
