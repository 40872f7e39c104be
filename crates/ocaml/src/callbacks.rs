//! What the runtime calls. \[UNSAFE\]
//!
//! The thunks come here with the callback's argument. Metadata are immediates, the block `Some metadata`
//! is in the thread's record: so nothing is allocated in OCaml's heap, and nothing keeps a block alive.

use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::message::{AllocationKind, Body, SourceKind};

use crate::blocks::{self, NONE, Value};
use crate::entry::{TRACKER, WORD_BYTES, enter};
use crate::runtime::{self, Runtime};
use crate::{callstacks, heard, host, snapshot, terms, yielding};

/// `allocation_source`, as the runtime numbers it: 0 is the normal one, and 5.5 has a fourth, mapped files'.
const DESERIALISED: u64 = 1;
const CUSTOM: u64 = 2;

pub(crate) extern "C" fn allocated_minor(allocation: Value) -> Value {
    allocated_in(allocation, SourceKind::Minor)
}

pub(crate) extern "C" fn allocated_major(allocation: Value) -> Value {
    allocated_in(allocation, SourceKind::Major)
}

fn allocated_in(allocation: Value, generation: SourceKind) -> Value {
    let answer = allocated(allocation, generation);
    if let Some(runtime) = runtime::get().filter(|runtime| runtime.version.has_fibers()) {
        snapshot::follow(runtime);
        snapshot::in_callback(runtime);
    }
    answer
}

pub(crate) extern "C" fn promoted(block: Value) -> Value {
    let Some(mut entered) = enter().filter(|_| heard::is_heard()) else { return NONE };
    match TRACKER.promoted(&mut entered, blocks::metadata(block)) {
        Some(metadata) => blocks::some(&mut entered.answer, metadata),
        None => NONE,
    }
}

pub(crate) extern "C" fn freed(block: Value) -> Value {
    if let Some(mut entered) = enter().filter(|_| heard::is_heard()) {
        TRACKER.freed(&mut entered, blocks::metadata(block));
    }
    NONE
}

fn allocated(allocation: Value, generation: SourceKind) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    let Some(mut entered) = enter() else {
        yielding::end_if_off(runtime);
        return NONE;
    };
    // SAFETY: the runtime's record { n_samples; size; source; callstack }; nothing runs that would move
    // or change its blocks before we return.
    let (samples, words, source, frames) = unsafe {
        let field = |index| allocation.field(index);
        (field(0).number(), field(1).number(), field(2).number(), field(3).fields())
    };
    if callstacks::is_own(frames) || (source == CUSTOM && !host::samples_custom()) {
        return NONE;
    }
    // Of a session before, whose sampling has not ended yet.
    if entered.session().header.paused() || !heard::is_heard() {
        return NONE;
    }
    if runtime.version.misreports_domains() {
        watch_domains(&mut entered, runtime);
    }
    if !callstacks::take(&mut entered, runtime, frames) {
        return NONE;
    }
    let allocation = Allocation {
        size: words * WORD_BYTES,
        samples,
        source: if source <= DESERIALISED { generation } else { SourceKind::External },
        kind: if source == DESERIALISED {
            AllocationKind::Deserialised
        } else {
            AllocationKind::Plain
        },
    };
    match TRACKER.allocated(&mut entered, &allocation) {
        Some(metadata) => blocks::some(&mut entered.answer, metadata),
        None => NONE,
    }
}

/// Says so once if there are several domains.
#[inline(never)]
fn watch_domains(entered: &mut Entered, runtime: &Runtime) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let session = entered.session().number;
    // The first one's number is 0.
    if runtime.domain() != 0 && TOLD.swap(session, Ordering::Relaxed) != session {
        entered.send(Body::Notice { code: terms::DOMAINS_MISREPORTED });
    }
}
