//! The start, and the end, in a program that runs already and is attached to. \[UNSAFE\]
//!
//! Who loads the library there has a thread of his own, which may not touch the runtime: it has not the runtime's lock, and
//! nobody knows what the others are at. But the runtime calls hooks, by variables that it exports; the thread puts ours
//! there, and that is all it does. Whoever comes to one of these first has the lock, and its stack and the heap are as the
//! runtime wants them for a collection:
//!
//! ```text
//! end of a collection of the young heap ─┐
//! a thread has waited, and has the lock ─┴─▶ look ─▶ is Memprof free? ─▶ begin, as at a program's start
//!                                                └──▶ the session is over ─▶ end, as where the program wants Memprof
//! ```
//!
//! Nothing is missed of a program that waits: it cannot allocate before it has come to such a place.
//! The hooks stay where they are, also when the session is over: a thread may wait between two of them. They do nothing then.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use lifetrace_agent::host::Host;
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::Session;
use lifetrace_agent::sys;

use crate::blocks::{NONE, Value};
use crate::client::Client;
use crate::runtime::{self, Runtime};
use crate::start::{self, StaticBlocks};
use crate::{
    attached, counters, entry, heard, host, memprof, snapshot, terms, thunks, totals, yielding,
};

/// The session for which all that can be done has been done.
static SERVED: AtomicU32 = AtomicU32::new(0);

/// What Memprof is started with, once it has been.
static BLOCKS: AtomicPtr<StaticBlocks> = AtomicPtr::new(ptr::null_mut());

/// Where the runtime keeps whether somebody has Memprof; null if that is not known.
static CLIENT: AtomicPtr<Client> = AtomicPtr::new(ptr::null_mut());

/// To be called by a recorder's own thread in a program that runs already, when a session has begun: sampling begins as
/// soon as the program's threads come to a place where it can, if the session wants it and the program has a runtime that
/// can be taken over while it runs.
pub fn attach(host: Host) {
    let session = phase::recording();
    let is_wanted = session.is_some_and(|it| start::rate(it.header.settings()).is_some());
    let Some(runtime) = is_wanted.then(known_runtime).flatten() else { return };
    start::begin_with(host);
    attached::look_by(look);
    totals::follow(runtime);
    snapshot::follow(runtime);
    start::has_begun();
}

/// Of OCaml 4.
fn known_runtime() -> Option<&'static Runtime> {
    let runtime = match runtime::get() {
        Some(known) => known,
        None => runtime::find().ok().and_then(runtime::keep)?,
    };
    if runtime.version.has_fibers() {
        return None;
    }
    if CLIENT.load(Ordering::Relaxed).is_null() {
        // SAFETY: the runtime's functions; nobody has changed them who had not found the variable before.
        let found = unsafe { Client::find(runtime.start as *const u8, runtime.stop as *const u8) };
        CLIENT.store(
            found.and_then(kept).map_or(ptr::null_mut(), NonNull::as_ptr),
            Ordering::Release,
        );
    }
    Some(runtime)
}

fn kept(client: Client) -> Option<NonNull<Client>> {
    let place = sys::map(size_of::<Client>())?.cast::<Client>();
    // SAFETY: fresh memory, large and aligned enough, which stays.
    unsafe { place.write(client) };
    Some(place)
}

/// Begins, or ends, if that is to be ([`attached::look`]).
fn look(runtime: &'static Runtime) {
    // Leaves a session that is over.
    let session = phase::recording();
    match (phase::current(), session) {
        (Phase::Recording, Some(session)) if is_served(session) => {}
        (Phase::Recording, Some(_)) | (Phase::Forked, _) => serve(runtime),
        (Phase::Off, _) => yielding::end_if_off(runtime),
        _ => {}
    }
}

fn is_served(session: &Session) -> bool {
    SERVED.load(Ordering::Relaxed) == session.number || heard::has_inherited(session)
}

/// Does what can be done for the session, once; at the next time if this thread cannot now.
fn serve(runtime: &'static Runtime) {
    let Some(entered) = entry::enter().filter(|it| it.has_room_for_backtrace()) else { return };
    let session = entered.session();
    drop(entered);
    if is_served(session) {
        return;
    }
    SERVED.store(session.number, Ordering::Relaxed);
    let settings = session.header.settings();
    match start::rate(settings) {
        Some(rate) if memprof::is_in_place() => {
            memprof::births::serve(session.number, rate);
            tell(runtime, session, rate);
        }
        Some(rate) => take_over(runtime, session, rate),
        None => yielding::end(runtime),
    }
}

/// Takes Memprof's place, if nobody has it.
fn take_over(runtime: &'static Runtime, session: &Session, rate: f64) {
    // SAFETY: null, or what `kept` has written, which stays.
    let code = match unsafe { CLIENT.load(Ordering::Acquire).as_ref() } {
        Some(client) if client.is_there() => terms::MEMPROF_TAKEN,
        Some(_) if begin(runtime, session, rate) => return,
        _ => terms::NOT_ATTACHED,
    };
    start::notice(code);
}

/// The recorder is told of the runtime; false if there is no memory.
fn tell(runtime: &Runtime, session: &Session, rate: f64) -> bool {
    heard::begin(session);
    counters::begin_anew();
    start::prepare_callbacks(runtime, session.header.settings(), rate)
}

fn begin(runtime: &'static Runtime, session: &Session, rate: f64) -> bool {
    let Some(blocks) = blocks(runtime, rate) else { return false };
    if !tell(runtime, session, rate) {
        return false;
    }
    let ways = thunks::MEMPROF.map(|code| code as *const ());
    memprof::births::serve(session.number, rate);
    if !memprof::take_over(runtime, &ways, rate) {
        return false;
    }
    // SAFETY: nobody has started it, so it raises nothing, and it allocates nothing in OCaml's heap; the blocks are as it
    // expects them.
    unsafe { (runtime.start)(blocks.rate(), Value::immediate(host::depth()), blocks.tracker()) };
    let is_guarded = yielding::prepare(runtime);
    if !is_guarded {
        memprof::give_back(runtime);
        // SAFETY: it is started.
        unsafe { (runtime.stop)(NONE) };
    }
    is_guarded
}

/// What Memprof is started with.
fn blocks(runtime: &Runtime, rate: f64) -> Option<&'static StaticBlocks> {
    if let Some(made) = NonNull::new(BLOCKS.load(Ordering::Relaxed)) {
        // SAFETY: Memprof is stopped, so it has none of them.
        return Some(unsafe { StaticBlocks::with_rate(made, rate) });
    }
    let made = StaticBlocks::make(thunks::of(runtime.version)?, rate)?;
    BLOCKS.store(ptr::from_ref(made).cast_mut(), Ordering::Relaxed);
    Some(made)
}
