//! The collector's exact counters. \[UNSAFE\]
//!
//! Read at the end of a collection of the minor heap, when they are settled, if the last time was a while
//! ago; and once more at the program's end.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use lifetrace_agent::sys;
use lifetrace_transport::message::{Body, CollectorTotals};

use crate::runtime::{self, Runtime};
use crate::{callbacks, state};

const PERIOD_NANOS: u64 = 20_000_000;

/// When they were told last.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// What was in the hook's place.
static PREVIOUS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

static FOLLOWED: AtomicBool = AtomicBool::new(false);

/// From now on; the hook, once in place, stays.
pub(crate) fn follow(runtime: &Runtime) {
    if runtime.version.counters().is_some() && !FOLLOWED.swap(true, Ordering::Relaxed) {
        runtime.hear_minor_collections(minor_collection_ended, &PREVIOUS);
    }
}

unsafe extern "C" fn minor_collection_ended() {
    let previous = PREVIOUS.load(Ordering::Relaxed);
    if !previous.is_null() {
        // SAFETY: a hook of this type, which the runtime would have called.
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(previous)() };
    }
    if sys::now().0.wrapping_sub(TOLD.load(Ordering::Relaxed)) >= PERIOD_NANOS {
        tell();
    }
}

/// At the program's end.
pub(crate) fn tell_last() {
    if runtime::get().is_some_and(Runtime::outlives_exit) {
        tell();
    }
}

fn tell() {
    let (Some(runtime), Some(mut entered)) = (runtime::get(), callbacks::enter()) else { return };
    let Some(totals) = read(runtime) else { return };
    TOLD.store(sys::now().0, Ordering::Relaxed);
    // So that the recorder has heard of the runtime.
    drop(state::of_session(&mut entered, runtime));
    entered.send(Body::CollectorTotals(totals));
}

/// `None` where the version does not have them in one place.
fn read(runtime: &Runtime) -> Option<CollectorTotals> {
    let first = runtime.version.counters()?.first;
    let word = |index| runtime.state_word(first + index);
    let double = |index| word(index).map(|bits| f64::from_bits(bits) as u64);
    Some(CollectorTotals {
        minor_words: runtime.minor_words().or_else(|| double(0))?,
        promoted_words: double(1)?,
        major_words: double(2)? + runtime.unaccounted_words(),
        minor_collections: word(3)?,
        major_collections: word(4)?,
        heap_words: word(5)?,
        top_heap_words: word(6)?,
        compactions: word(7)?,
    })
}
