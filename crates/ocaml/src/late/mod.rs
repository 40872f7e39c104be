//! The start, and the end, in a program that runs already: it is attached to, or its recorder goes and comes. \[UNSAFE\]
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
//! In OCaml 5 other domains may run at the end of such a collection, and its own is not over: there the domain is asked to
//! come by once more when it is ([`five`]).
//!
//! Nothing is missed of a program that waits: it cannot allocate before it has come to such a place.
//! In a program whose recorder may go and come the hooks are there from its start on. Nothing else there is sure to come by
//! now and then, as malloc may not be sampled: so these places are also where a recorder is looked for.
//!
//! The hooks stay where they are, also when the session is over: a thread may wait between two of them. They do nothing then.

mod five;
mod four;

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::host::Host;
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::Session;

use crate::runtime::{self, Runtime};
use crate::static_blocks::StaticBlocks;
use crate::{attached, begin, counters, entry, heard, host, snapshot, thunks, totals, yielding};

/// What Memprof is started with, once it has been.
static BLOCKS: AtomicPtr<StaticBlocks> = AtomicPtr::new(ptr::null_mut());

/// To be called by a recorder's own thread in a program that runs already, when a session has begun: sampling begins as
/// soon as the program's threads come to a place where it can, if the session wants it and the program has a runtime that
/// can be taken over while it runs.
pub fn attach(host: Host) {
    let session = phase::recording();
    let is_wanted = session.is_some_and(|it| begin::rate(it.header.settings()).is_some());
    let Some(runtime) = is_wanted.then(known_runtime).flatten() else { return };
    begin::begin_with(host);
    prepare(runtime);
    follow(runtime);
    begin::begins();
}

/// To be called at a program's start, with the runtime's lock, where its recorder may go and come: sampling begins with each
/// session from now on, and with one that is there at once. False if the runtime cannot be taken over while it runs.
pub(crate) fn stand_by(runtime: &'static Runtime) -> bool {
    let can_begin = prepare(runtime);
    if can_begin {
        phase::begin_managed_late();
        follow(runtime);
        look(runtime);
    }
    can_begin
}

fn known_runtime() -> Option<&'static Runtime> {
    runtime::get().or_else(|| runtime::find().ok().and_then(runtime::keep))
}

/// Finds what is needed; whether it is there.
fn prepare(runtime: &Runtime) -> bool {
    match runtime.version.has_fibers() {
        true => five::prepare(runtime),
        false => four::prepare(runtime),
    }
}

/// From now on the runtime's hooks call [`look`].
fn follow(runtime: &'static Runtime) {
    attached::look_by(look);
    totals::follow(runtime);
    snapshot::follow(runtime);
}

/// Begins, or ends, if that is to be ([`attached::look`]).
fn look(runtime: &'static Runtime) {
    match due(runtime) {
        Due::Nothing => {}
        Due::Begin => serve(runtime),
        Due::End => yielding::end(runtime),
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    Begin,
    End,
}

fn due(runtime: &Runtime) -> Due {
    if let Some(start) = phase::look_for_recorder() {
        host::begin_session(start);
    }
    // Leaves a session that is over.
    let session = phase::recording();
    match (phase::current(), session) {
        (Phase::Recording, Some(session)) if is_served(runtime, session) => Due::Nothing,
        (Phase::Recording, Some(_)) | (Phase::Forked, _) => Due::Begin,
        (Phase::Off | Phase::Waiting, _) if yielding::is_ours() => Due::End,
        _ => Due::Nothing,
    }
}

/// Whether all has been done that can be done for the session, by this domain.
fn is_served(runtime: &Runtime, session: &Session) -> bool {
    let is_served = match runtime.version.has_fibers() {
        true => five::is_served(runtime, session),
        false => four::is_served(session),
    };
    is_served || heard::has_inherited(session)
}

/// Does what can be done for the session, once; at the next time if this thread cannot now.
fn serve(runtime: &'static Runtime) {
    let Some(entered) = entry::enter().filter(|it| it.has_room_for_backtrace()) else { return };
    let session = entered.session();
    drop(entered);
    if is_served(runtime, session) {
        return;
    }
    match runtime.version.has_fibers() {
        true => five::serve(runtime, session),
        false => four::serve(runtime, session),
    }
}

/// The recorder is told of the runtime; false if there is no memory.
fn tell(runtime: &Runtime, session: &Session, rate: f64) -> bool {
    heard::begin(session);
    counters::begin_anew();
    begin::prepare_callbacks(runtime, session.header.settings(), rate)
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

/// Those that Memprof was started with.
fn made_blocks() -> Option<&'static StaticBlocks> {
    // SAFETY: null, or what `blocks` has made, which stays, and is not written while somebody has it.
    unsafe { BLOCKS.load(Ordering::Acquire).as_ref() }
}
