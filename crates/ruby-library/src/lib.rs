//! What the gem is made of beneath its Ruby code: agent and recorder in one process (`lifetrace-inside`), with Ruby's
//! objects as the source. \[UNSAFE\]
//!
//! # The model
//!
//! ```text
//! Lifetrace.start ─ start ─▶ a recorder in this process, and the agent (lifetrace-ruby)
//! objects ─ hooks ─ rings ══▶ the recorder's threads ─▶ what is live (Heap), and a trace if there is to be one
//! Lifetrace.flush ─ sizes, then a mark ═▶ when the heap has the mark, it has all before ─ profile ─▶ pprof
//! a fork ─ a postponed job ─▶ Lifetrace starts anew in the child
//! ```
//!
//! # Rules
//!
//! - Everything here is called with the machine's lock; what may take longer than a millisecond is done without it
//!   ([`machine::Machine::without_lock`]), and never for more than [`flush::LONGEST_WAIT`] at a time, so that a Ruby thread can be
//!   interrupted in between.
//! - No function raises: what went wrong is an answer, which Ruby code turns into an exception. Ruby code sees to it
//!   that arguments are of their types.
//! - The machine's functions are found by name, so that one library serves all versions, and is built without any.
//!
//! \[UNSAFE\] files: `flush`, `lib`, `machine`, `recording`, `snapshot`.

mod flush;
mod machine;
mod recording;
mod request;
mod snapshot;

use std::ffi::CStr;

use lifetrace_ruby::linked;
use machine::Value;
use recording::Started;
use request::Request;

/// Called by `require`.
#[unsafe(no_mangle)]
pub extern "C" fn Init_lifetrace() {
    let Some(machine) = machine::find() else { return };
    // SAFETY: the machine's lock is the caller's; methods of these numbers of arguments.
    unsafe {
        let module = machine.module(c"Lifetrace", c"Native");
        machine.define(module, c"start", start as *const (), 5);
        machine.define(module, c"stop", stop as *const (), 0);
        machine.define(module, c"running?", is_running as *const (), 0);
        machine.define(module, c"pause", pause as *const (), 0);
        machine.define(module, c"resume", resume as *const (), 0);
        machine.define(module, c"next_sample", next_sample as *const (), 0);
        machine.define(module, c"send_sizes", send_sizes as *const (), 2);
        machine.define(module, c"wait_for_room", wait_for_room as *const (), 0);
        machine.define(module, c"send_mark", send_mark as *const (), 0);
        machine.define(module, c"profile", profile as *const (), 2);
        machine.define(module, c"begin_snapshot", begin_snapshot as *const (), 2);
        machine.define(module, c"await_snapshot", await_snapshot as *const (), 1);
        machine.define(module, c"forget_snapshot", forget_snapshot as *const (), 1);
    }
}

/// `start(output, overwrites, rate, labels, max_size)`: true, :elsewhere if `lifetrace record` records this process, or a
/// String that says what is wrong. No output is an empty one; labels are lines of a key, a tab and a value; no size is 0.
extern "C" fn start(
    _: Value,
    output: Value,
    overwrites: Value,
    rate: Value,
    labels: Value,
    max_size: Value,
) -> Value {
    let machine = machine::get();
    // SAFETY: of these types, as the Ruby code sees to.
    let request = unsafe {
        Request {
            output: machine.text(output),
            overwrites: overwrites == machine::TRUE,
            rate: machine.float(rate),
            labels: machine.text(labels).to_str().unwrap_or_default(),
            max_size: machine.integer(max_size),
        }
    };
    match recording::start(&request) {
        Ok(Started::Recording) => machine::TRUE,
        Ok(Started::Elsewhere) => machine.symbol(c"elsewhere"),
        Err(message) => machine.string(message.as_bytes()),
    }
}

/// `stop`: false if nothing was recorded, else the path, samples, lost events, whether the trace is full, and an error: no
/// error and no path are empty.
extern "C" fn stop(_: Value) -> Value {
    let machine = machine::get();
    let Some(end) = recording::stop() else { return machine::FALSE };
    machine.array(&[
        machine.string(end.path.as_os_str().as_encoded_bytes()),
        machine.number(end.samples),
        machine.number(end.lost),
        machine::truth(end.is_full),
        machine.string(end.error.as_bytes()),
    ])
}

extern "C" fn is_running(_: Value) -> Value {
    machine::truth(recording::is_active())
}

/// Samples nothing from now on; false if nothing is recorded.
extern "C" fn pause(_: Value) -> Value {
    machine::truth(recording::pause())
}

extern "C" fn resume(_: Value) -> Value {
    machine::truth(recording::resume())
}

/// The number that the next sample will have.
extern "C" fn next_sample(_: Value) -> Value {
    machine::get().number(linked::next_sample())
}

/// `send_sizes(from, to)`: the number to go on from, or false if all is sent.
extern "C" fn send_sizes(_: Value, from: Value, to: Value) -> Value {
    let machine = machine::get();
    // SAFETY: Integers; this is a method, so outside of hooks and with the machine's lock.
    let next = unsafe { linked::send_sizes(machine.integer(from), machine.integer(to)) };
    next.map_or(machine::FALSE, |next| machine.number(next))
}

/// Lets other threads go on until the recorder has taken most of what was sent, for a while at most.
extern "C" fn wait_for_room(_: Value) -> Value {
    machine::get().without_lock(flush::wait_for_room);
    machine::TRUE
}

/// The number of a mark behind all that has happened so far; false if nothing is recorded here.
extern "C" fn send_mark(_: Value) -> Value {
    let mark = recording::is_active().then(flush::send_mark);
    mark.map_or(machine::FALSE, |mark| machine::get().number(mark))
}

/// `profile(mark, first)`: false if the recorder has not come to the mark yet; a String that says what is wrong; or the
/// profile, live samples, samples, lost events, since when it is of in nanoseconds.
extern "C" fn profile(_: Value, mark: Value, first: Value) -> Value {
    let machine = machine::get();
    // SAFETY: an Integer and a String.
    let (mark, first): (u64, &CStr) = unsafe { (machine.integer(mark), machine.text(first)) };
    let first = flush::first(first.to_bytes());
    // Asked for with the machine's lock: a thread that forks has it, so that a child finds nothing locked here.
    let Some(heap) = recording::heap() else {
        return machine.string(b"nothing is recorded any more");
    };
    match machine.without_lock(|| flush::profile(&heap, mark, first)) {
        Ok(None) => machine::FALSE,
        Err(message) => machine.string(message.as_bytes()),
        Ok(Some(profile)) => machine.array(&[
            machine.string(&profile.bytes),
            machine.number(profile.live),
            machine.number(profile.samples),
            machine.number(profile.lost),
            machine.number(profile.nanoseconds),
        ]),
    }
}

/// `begin_snapshot(path, overwrites)`: the request's number, or a String that says what is wrong. No path is an empty one.
extern "C" fn begin_snapshot(_: Value, path: Value, overwrites: Value) -> Value {
    let machine = machine::get();
    // SAFETY: a String.
    let path = unsafe { machine.text(path) };
    match snapshot::begin(path, overwrites == machine::TRUE) {
        Ok(number) => machine.number(number),
        Err(message) => machine.string(message.as_bytes()),
    }
}

/// `await_snapshot(number)`: false if it is not saved yet; a String that says what is wrong; or the path, objects, bytes, for how
/// many nanoseconds the program stood still.
extern "C" fn await_snapshot(_: Value, number: Value) -> Value {
    let machine = machine::get();
    // SAFETY: an Integer that `begin_snapshot` has given.
    let number = unsafe { machine.integer(number) };
    match snapshot::awaited(machine, number) {
        Ok(None) => machine::FALSE,
        Err(message) => machine.string(message.as_bytes()),
        Ok(Some(saved)) => machine.array(&[
            machine.string(saved.path.as_os_str().as_encoded_bytes()),
            machine.number(saved.blocks),
            machine.number(saved.bytes),
            machine.number(u64::try_from(saved.pause.as_nanos()).unwrap_or(u64::MAX)),
        ]),
    }
}

/// `forget_snapshot(number)`: nobody waits for it any more.
extern "C" fn forget_snapshot(_: Value, number: Value) -> Value {
    // SAFETY: an Integer that `begin_snapshot` has given.
    snapshot::forget(unsafe { machine::get().integer(number) });
    machine::TRUE
}
