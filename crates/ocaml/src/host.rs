//! What a session wants of this agent, and how one begins. \[UNSAFE\]
//!
//! Everything in this crate may ask for these; they ask for nothing in it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use lifetrace_agent::host::{self, Host};
use lifetrace_agent::phase::Start;
use lifetrace_transport::handshake::Origin;

static AFTER_FORK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static DEPTH: AtomicUsize = AtomicUsize::new(usize::MAX);
static SAMPLES_CUSTOM: AtomicBool = AtomicBool::new(true);

/// Sets the services to be asked for, and what a forked child has to do before its session begins.
pub(crate) fn set(host: Host, after_fork: fn()) {
    host::set(host);
    AFTER_FORK.store(after_fork as *mut c_void, Ordering::Relaxed);
}

/// Starts the session of this process.
pub(crate) fn begin_session(start: Start) {
    let after_fork = AFTER_FORK.load(Ordering::Relaxed);
    if start.origin() == Origin::Fork && !after_fork.is_null() {
        // SAFETY: `set` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn()>(after_fork)() }
    }
    host::begin_session(start);
}

/// Sets at how many frames a walk stops, and whether memory that custom blocks stand for is sampled here.
pub(crate) fn wish(depth: usize, samples_custom: bool) {
    SAMPLES_CUSTOM.store(samples_custom, Ordering::Relaxed);
    DEPTH.store(depth, Ordering::Relaxed);
}

/// The number of frames at which a walk stops.
pub(crate) fn depth() -> usize {
    DEPTH.load(Ordering::Relaxed)
}

/// Whether memory that custom blocks stand for is sampled here. It comes from malloc: where malloc is sampled, it is
/// sampled there.
pub(crate) fn samples_custom() -> bool {
    SAMPLES_CUSTOM.load(Ordering::Relaxed)
}
