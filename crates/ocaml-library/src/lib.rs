//! What the OCaml library is made of beneath its OCaml code: agent and recorder in one process
//! (`lifetrace-inside`), with OCaml's runtime as the source. \[UNSAFE\]
//!
//! # The model
//!
//! ```text
//! Lifetrace.start_tracing
//!   └─ lifetrace_start ─ recording ─▶ a recorder in this process, and the agent (lifetrace-ocaml)
//!   └─ caml_memprof_start
//! samples ─ callbacks ─ rings ══════▶ the recorder's threads ─▶ trace file
//! Lifetrace.stop_tracing, exit ─────▶ all is written
//! ```
//!
//! Nothing here is different from `lifetrace record` but where the recorder runs, and who starts
//! Memprof: OCaml code, since `caml_memprof_start` may raise. The runtime is found by symbols that are
//! linked into the program ([`symbols`]), so that a static executable can be traced.
//!
//! These functions hold the runtime's lock, but for [`lifetrace_wait_for_snapshot`], which leaves it to others; they
//! neither call back into OCaml nor allocate in its heap.
//!
//! \[UNSAFE\] files: `lib`, `symbols`.

mod recording;
mod request;
mod snapshot;
mod symbols;

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI64, Ordering};

use lifetrace_ocaml::linked;

use recording::Started;
use request::{Output, Request};

/// What [`lifetrace_start`] answers when it has not failed; OCaml code knows these numbers.
const RECORDING: isize = 0;
const RECORDED_ALREADY: isize = 1;
const ACTIVE: isize = 2;

/// `()`.
const UNIT: usize = 1;

/// The gap that was drawn last, in words.
static GAP: AtomicI64 = AtomicI64::new(0);

/// Starts a recording; the program is then to start Memprof with [`lifetrace_tracker`] and
/// [`lifetrace_depth`]. Answers with one of the numbers above, or with the length, negative, of a message
/// that it has written to `room`.
///
/// # Safety
/// OCaml's strings; `room` has `room_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lifetrace_start(
    output: *const c_char,
    is_template: isize,
    context: *const c_char,
    parameters: *const c_char,
    rate: f64,
    room: *mut u8,
    room_bytes: isize,
) -> isize {
    // SAFETY: by contract; an OCaml string ends with a zero byte, and nothing moves it meanwhile.
    let [output, context, parameters] =
        [output, context, parameters].map(|it| unsafe { CStr::from_ptr(it) });
    let path = OsStr::from_bytes(output.to_bytes());
    let request = Request {
        output: if is_template != 0 { Output::Template(path) } else { Output::File(path) },
        context: &context.to_string_lossy(),
        parameters: &parameters.to_string_lossy(),
        rate,
    };
    match recording::start(&request) {
        Ok(Started::Recording) => RECORDING,
        Ok(Started::RecordedAlready) => RECORDED_ALREADY,
        Ok(Started::Active) => ACTIVE,
        // SAFETY: by contract.
        Err(message) => -unsafe { write(message.as_bytes(), room, room_bytes) },
    }
}

/// Writes what there is room for; its length.
///
/// # Safety
/// `room` has `room_bytes` bytes.
unsafe fn write(bytes: &[u8], room: *mut u8, room_bytes: isize) -> isize {
    let length = bytes.len().min(room_bytes.max(0) as usize);
    // SAFETY: by contract there is room.
    unsafe { room.copy_from_nonoverlapping(bytes.as_ptr(), length) };
    length as isize
}

/// The tracker, an OCaml value; `()` before a start.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_tracker() -> usize {
    recording::memprof().map_or(UNIT, |memprof| memprof.tracker)
}

/// The size of a callstack.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_depth() -> isize {
    recording::memprof().map_or(0, |memprof| memprof.depth as isize)
}

/// Whether there is a recording of this process, 0 or 1.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_is_active() -> isize {
    recording::is_active().into()
}

/// Ends the recording, if there is one in this process; its trace is whole then.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_stop() {
    recording::stop();
}

/// Ends the recording, if there is one in this process, and removes its trace: nothing could be sampled.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_abandon() {
    recording::abandon();
}

/// Begins a snapshot. Answers with its number, which is above 0, or with the length, negative, of a message that it has
/// written to `room`.
///
/// # Safety
/// An OCaml string; `room` has `room_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lifetrace_begin_snapshot(
    path: *const c_char,
    overwrites: isize,
    room: *mut u8,
    room_bytes: isize,
) -> isize {
    // SAFETY: by contract a C string.
    let path = unsafe { CStr::from_ptr(path) };
    match snapshot::begin(path.to_bytes(), overwrites != 0) {
        Ok(number) => number as isize,
        // SAFETY: by contract.
        Err(message) => -unsafe { write(message.as_bytes(), room, room_bytes) },
    }
}

/// Takes the snapshot that the recorder waits for, if it does; then waits for a while at most until something has become of
/// the one with that number, or the recorder wants one.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_wait_for_snapshot(number: isize) -> usize {
    linked::take_snapshot();
    snapshot::wait(number as u64);
    UNIT
}

/// What has become of a snapshot: 0 if nothing has yet; the length, negative, of a message; or that of the path, the number
/// of blocks, their bytes, and the nanoseconds for which the program stood still, with zero bytes between them.
///
/// # Safety
/// `room` has `room_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lifetrace_snapshot_answer(
    number: isize,
    room: *mut u8,
    room_bytes: isize,
) -> isize {
    let (text, sign) = match snapshot::answer(number as u64) {
        Ok(None) => return 0,
        Ok(Some(saved)) => {
            let mut text = saved.path.as_os_str().as_bytes().to_vec();
            let numbers =
                format!("\0{}\0{}\0{}", saved.blocks, saved.bytes, saved.pause.as_nanos());
            text.extend_from_slice(numbers.as_bytes());
            (text, 1)
        }
        Err(message) => (message.into_bytes(), -1),
    };
    // SAFETY: by contract.
    sign * unsafe { write(&text, room, room_bytes) }
}

/// Nobody waits for a snapshot any more.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_forget_snapshot(number: isize) -> usize {
    snapshot::forget(number as u64);
    UNIT
}

/// Removes a variable from the environment, so that programs which this one starts do not see it.
///
/// # Safety
/// An OCaml string; the caller holds the runtime's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lifetrace_forget_variable(name: *const c_char) {
    // SAFETY: by contract a C string.
    unsafe { libc::unsetenv(name) };
}

/// Draws the hits of a block, of which `after` words follow the first that is hit; none of a negative
/// number, before the first block. [`lifetrace_external_gap`] has the gap after it.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_external_draw(after: isize) -> isize {
    const LONGEST: u64 = 1 << 60;
    let hits = linked::draw_external(u64::try_from(after).ok());
    GAP.store(hits.gap.min(LONGEST) as i64, Ordering::Relaxed);
    hits.count as isize
}

/// Words that pass before the next hit.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_external_gap() -> isize {
    GAP.load(Ordering::Relaxed) as isize
}

/// Announces a block outside OCaml's heap. Answers with its token, or -1.
///
/// # Safety
/// `callstack` is what `Printexc.get_callstack` has just returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lifetrace_external_alloc(
    words: isize,
    samples: isize,
    callstack: usize,
) -> isize {
    // SAFETY: by contract.
    let token = unsafe { linked::external_allocated(words as u64, samples as u64, callstack) };
    token.map_or(-1, |token| token as isize)
}

/// A token's block is free.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_external_free(token: isize) {
    if let Ok(token) = u64::try_from(token) {
        linked::external_freed(token);
    }
}
