//! The agent as a part of a library that the program has loaded, which starts and stops it. \[UNSAFE\]

use core::ffi::c_void;

use lifetrace_agent::host::{self, Host};
use lifetrace_agent::phase;
use lifetrace_transport::message::Body;

use crate::entry::enter;
use crate::vm::Vm;
use crate::{names, sampling, sizes, snapshot, state};

/// Why nothing can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unable {
    /// The machine is of a version that has not been tried, or lacks something.
    UnknownVersion,
    /// There is no recorder any more.
    NotNow,
}

/// A job for the machine's next safe point.
pub type Job = unsafe extern "C" fn(*mut c_void);

/// Samples objects for the session that has just been connected to.
///
/// # Errors
/// [`Unable`].
///
/// # Safety
/// The machine is set up, and its lock is the caller's, outside of hooks.
pub unsafe fn begin(host: Host) -> Result<(), Unable> {
    host::set(host);
    let settings = sampling::settings().ok_or(Unable::NotNow)?;
    let rate = sampling::rate(&settings).ok_or(Unable::NotNow)?;
    // SAFETY: by contract.
    unsafe {
        let known = state::get().map(|state| state.vm);
        let vm = known.or_else(|| Vm::find()).ok_or(Unable::UnknownVersion)?;
        sampling::begin(vm, rate, settings.seed);
    }
    Ok(())
}

/// Names what has no name yet, and stops sampling; to be followed by the session's end.
///
/// # Safety
/// As [`begin`].
pub unsafe fn end() {
    // SAFETY: by contract.
    unsafe {
        names::finish();
        if let Some(state) = state::get() {
            sampling::end(state.vm);
        }
    }
}

/// Reports the names that have not been asked for yet. The recorder waits for them before it goes on.
///
/// # Safety
/// As [`begin`].
pub unsafe fn send_names() {
    names::now();
}

/// Takes the snapshot that the recorder waits for, if it does.
///
/// # Safety
/// As [`begin`].
pub unsafe fn take_snapshot() {
    // SAFETY: by contract.
    unsafe { snapshot::now() }
}

/// The number of the next sample.
pub fn next_sample() -> u64 {
    phase::samples()
}

/// Reports what objects that live take now, from a sample on and up to another; the sample to go on from, or none if all
/// have been asked. Keeps the machine's lock for a millisecond at most.
///
/// # Safety
/// As [`begin`].
pub unsafe fn send_sizes(from: u64, to: u64) -> Option<u64> {
    // SAFETY: by contract.
    unsafe { sizes::report(from, to) }
}

/// Whether the recorder has taken most of what this thread has sent.
pub fn has_room() -> bool {
    enter().is_none_or(|entered| entered.has_ring_room())
}

/// Reports a count under a name: when the recorder has it, it has all that was sent before.
pub fn send_count(name: &[u8], value: u64) {
    if let Some(mut entered) = enter() {
        entered.send(Body::RuntimeCount { name, value });
    }
}

/// Has `job` done at the machine's next safe point; in a forked child too, before anything runs in it. Does nothing
/// before the first [`begin`].
///
/// # Safety
/// The machine's lock is the caller's.
pub unsafe fn postpone(job: Job) {
    if let Some(vm) = state::vm() {
        // SAFETY: by contract.
        unsafe { vm.postpone(job) }
    }
}
