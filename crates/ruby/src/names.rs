//! What frames are called. \[UNSAFE\]
//!
//! What a method is called without its class can be had in a hook, and is sent with the first sample that has it: a
//! program that is killed has left at least that. To ask for the class makes strings, so that is not done in a hook but
//! at the next safe point. Until then the frames' objects are kept alive, and the recorder holds back what has come since.

use core::ffi::c_void;

use lifetrace_agent::tls;
use lifetrace_transport::message::{Body, FrameName};

use crate::entry::enter;
use crate::numbers::Key;
use crate::vm::{Value, Vm};
use crate::{countdown, serving, sizes, state, terms};

/// Bytes of a name, and of a file's.
const MOST_NAME: usize = 255;
const MOST_FILE: usize = 4095;

/// Names what has no name yet. The machine's postponed job.
///
/// # Safety
/// Called by the machine, with its lock.
pub(crate) unsafe extern "C" fn job(_: *mut c_void) {
    now();
}

/// Names what has no name yet. Called by the machine at the program's end.
///
/// # Safety
/// As [`job`].
pub(crate) unsafe extern "C" fn last(_: Value) {
    // SAFETY: the procedure has the lock, and there is no other reference.
    unsafe {
        sizes::report_last();
        finish();
    }
    state::end();
}

/// Names what has no name yet, and reports what the machine has counted.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks, and there is no reference to the state.
pub(crate) unsafe fn finish() {
    now();
    if let Some(mut entered) = enter() {
        // SAFETY: by contract.
        let state = unsafe { state::get() }.filter(|_| serving::serves(entered.session()));
        if let Some(state) = state {
            state.enter_session(&mut entered);
            // SAFETY: as above.
            unsafe { state.keys.report_counts(state.vm, &mut entered) }
        }
    }
}

/// Names what has no name yet. The machine's lock is the caller's, outside of hooks, and there is no reference to the
/// state.
pub(crate) fn now() {
    if enter().is_some_and(|entered| !serving::serves(entered.session())) {
        return;
    }
    // What is made here is ours.
    tls::aside(|| countdown::aside(name_all));
}

fn name_all() {
    // SAFETY: the job has the lock, and the reference ends before the machine does anything.
    while let Some((key, number, vm)) = unsafe { next() } {
        // SAFETY: the frame was kept alive until it was taken; from then on it is on this stack, where the collector
        // looks for what is in use.
        let name = message(key, number, unsafe { vm.frames.name(key.object()) });
        if let Some(mut entered) = enter() {
            entered.send(Body::FrameName(name));
        }
    }
    if let Some(mut entered) = enter() {
        entered.send(Body::NamesPending { are_pending: false });
    }
}

/// # Safety
/// As [`state::get`].
unsafe fn next() -> Option<(Key, u32, &'static Vm)> {
    // SAFETY: by contract.
    let state = unsafe { state::get() }?;
    let (key, number) = state.unnamed.take()?;
    Some((Key(key), number, state.vm))
}

/// What a frame of that number is, as messages have it.
pub(crate) fn message<'a>(
    key: Key,
    number: u32,
    (function, file): (&'a [u8], Option<&'a [u8]>),
) -> FrameName<'a> {
    let kind = if file.is_some() { terms::RUBY } else { terms::NATIVE };
    let file = file.unwrap_or(b"");
    FrameName {
        frame: number.into(),
        kind,
        is_first: true,
        is_last: true,
        line: key.line(),
        start_char: 0,
        end_char: 0,
        function: &function[..function.len().min(MOST_NAME)],
        file: &file[..file.len().min(MOST_FILE)],
    }
}
