//! The start in a process that runs, at the word of the recorder that has loaded us. \[UNSAFE\]
//!
//! The recorder has a thread of its own here, which waits for what the program's threads do: it may ask the dynamic linker
//! and the allocator. Nobody hears malloc before this is over: the recorder writes the jumps then that lead to our hooks.
//! At the end of the session it takes them back; we stay, and are told to join once more when somebody attaches again.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::phase::{self, Start};
use lifetrace_agent::random::Random;
use lifetrace_agent::session::Session;
use lifetrace_agent::sys::{self, Descriptor};
use lifetrace_agent::{guard, loader, room, tls};
use lifetrace_transport::attach::{Arrival, Outcome, PATH_ROOM, Request, Table};

use crate::patch::late;
use crate::{arena, ends, executable, live, mappings, start, totals};

/// Of random numbers for gaps, beyond those that threads are numbered from.
const GAP_STREAM: u64 = 2 << 32;

/// Begins the session that the table asks for, and says there what has become of it; whether there is one. One thread at a
/// time, and while no jump leads here.
pub fn join(table: &Table) -> bool {
    guard::exclude_thread();
    let (mut path, is_preloaded) = ([0; PATH_ROOM], table.arrival() == Arrival::Preloaded);
    let request = table.request(&mut path);
    let memory = Descriptor::given(request.descriptor);
    // An end that nobody has met yet is one all the same.
    if phase::recording().is_some() && request.replaces {
        phase::end();
    }
    if request.is_filtered {
        room::expect_sandbox();
    } else {
        // Other threads may be unloading modules while we look at them.
        sys::let_kernel_copy();
    }
    if !is_preloaded {
        take_notes();
    }
    let outcome = match phase::claim_restart() {
        None => Outcome::Recorded,
        Some(start) => begin(start, table, &memory, request),
    };
    table.conclude(outcome);
    outcome == Outcome::Joined
}

/// What is found out once.
fn take_notes() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    loader::list::take_note_of_late_start();
    loader::object::prepare();
    sys::prepare();
    executable::take_note();
    room::take_note_of_main_stack();
    totals::resolve_late();
    start::resolve_nothing();
}

fn begin(start: Start, table: &Table, memory: &Descriptor, request: Request<'_>) -> Outcome {
    let Some(atfork) = start::atfork() else {
        start.finish(false);
        return Outcome::Foreign;
    };
    let join = || match table.arrival() {
        Arrival::Preloaded => start.join(memory, request.bytes as usize, request.path),
        // SAFETY: when the recorder has taken the jumps back it has looked until no thread was here.
        Arrival::Attached => unsafe {
            start.join_anew(memory, request.bytes as usize, request.path)
        },
    };
    let session = if arena::prepare() { join() } else { None };
    let Some(session) = session else {
        start.finish(false);
        return Outcome::NoMemory;
    };
    // What lived at the end of an earlier session may have been freed unheard.
    live::clear();
    start::register_once(atfork);
    // SAFETY: the recorder's thread alone comes here, while no jump leads to us.
    let jumps = unsafe { late::jumps(session) };
    if let Some(jumps) = &jumps {
        table.tell_jumps(jumps.iter().copied());
        tell_countdowns(table, session);
        ends::begin(session, true);
        mappings::begin(session);
    }
    start.finish(jumps.is_some());
    if jumps.is_some() { Outcome::Joined } else { Outcome::Unpatched }
}

/// Threads that were in an earlier session have countdowns of that.
fn tell_countdowns(table: &Table, session: &Session) {
    let mut random = Random::new(session.header.settings().seed, GAP_STREAM);
    let gap = || (session.rate().gap(&mut random) * lifetrace_agent::sampler::WORD) as i64;
    table.tell_countdowns(tls::distance(), gap);
}
