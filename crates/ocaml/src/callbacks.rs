//! What the runtime calls. \[UNSAFE\]
//!
//! The thunks come here with the callback's argument. Metadata are immediates, the block `Some metadata`
//! is in the thread's record: so nothing is allocated in OCaml's heap, and nothing keeps a block alive.

use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::guard::{self, Entered, Entry};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::thread::Thread;
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::codec::MAX_FRAMES;
use lifetrace_transport::message::{Body, Manner, NoticeKind, SourceKind};

use crate::blocks::{self, NONE, Value};
use crate::runtime::{self, Runtime};
use crate::{callstacks, linked, stack, start, state, yielding};

/// Who is told of OCaml's samples.
pub(crate) const TRACKER: Announcer = Announcer;

pub(crate) const WORD_BYTES: u64 = 8;

/// `allocation_source`, as the runtime numbers it: 0 is the normal one; custom blocks' is 2, and 5.5 has
/// a fourth, mapped files'.
const DESERIALISED: u64 = 1;

/// A backtrace, innermost frame first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Captured<'a> {
    Frames(&'a [u64]),
    /// The thread's last walk; its innermost frame has another name at the moment.
    Walk,
}

/// Fewer frames say nothing.
const LEAST_LIMIT: usize = 16;

pub(crate) extern "C" fn allocated_minor(allocation: Value) -> Value {
    allocated(allocation, SourceKind::Minor)
}

pub(crate) extern "C" fn allocated_major(allocation: Value) -> Value {
    allocated(allocation, SourceKind::Major)
}

pub(crate) extern "C" fn promoted(block: Value) -> Value {
    let Some(mut entered) = enter() else { return NONE };
    match TRACKER.promoted(&mut entered, blocks::metadata(block)) {
        Some(metadata) => blocks::some(&mut entered.answer, metadata),
        None => NONE,
    }
}

pub(crate) extern "C" fn freed(block: Value) -> Value {
    if let Some(mut entered) = enter() {
        TRACKER.freed(&mut entered, blocks::metadata(block));
    }
    NONE
}

fn allocated(allocation: Value, generation: SourceKind) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    let Some(mut entered) = enter() else {
        if phase::current() == Phase::Off {
            yielding::end(runtime);
        }
        return NONE;
    };
    // SAFETY: the runtime's record { n_samples; size; source; callstack }; nothing runs that would move
    // or change its blocks before we return.
    let (samples, words, source, frames) = unsafe {
        let field = |index| allocation.field(index);
        (field(0).number(), field(1).number(), field(2).number(), field(3).fields())
    };
    if linked::is_own(frames) {
        return NONE;
    }
    if entered.session().header.paused() {
        callstacks::drop_ticket(frames);
        return NONE;
    }
    if runtime.version.misreports_domains() {
        watch_domains(&mut entered, runtime);
    }
    if !callstacks::redeem(&mut entered, runtime, frames) {
        return NONE;
    }
    let allocation = Allocation {
        size: words * WORD_BYTES,
        samples,
        source: if source <= DESERIALISED { generation } else { SourceKind::External },
        manner: if source == DESERIALISED { Manner::Deserialised } else { Manner::Plain },
    };
    match TRACKER.allocated(&mut entered, &allocation) {
        Some(metadata) => blocks::some(&mut entered.answer, metadata),
        None => NONE,
    }
}

/// Says so once if there are several domains.
fn watch_domains(entered: &mut Entered, runtime: &Runtime) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let session = entered.session().number;
    // The first one's number is 0.
    if runtime.domain() != 0 && TOLD.swap(session, Ordering::Relaxed) != session {
        entered.send(Body::Notice { kind: NoticeKind::DomainsMisreported });
    }
}

/// Makes the runtime's backtrace the thread's, in words that the recorder knows; whether that worked.
/// `frames` are the runtime's, or what the thread has walked.
pub(crate) fn capture(
    entered: &mut Entered,
    runtime: &Runtime,
    frames: Captured<'_>,
    is_whole: bool,
) -> bool {
    let limit = entered.session().header.settings().stack_limit as usize;
    let limit = limit.clamp(LEAST_LIMIT, MAX_FRAMES);
    let Thread { managed, chain, .. } = &mut **entered;
    match frames {
        Captured::Frames(frames) => {
            let common = managed.update(frames, 0, limit, !is_whole);
            chain.agree(common.min(chain.agreed()));
        }
        Captured::Walk => {
            let callers = chain.frames().len().saturating_sub(1);
            managed.update(chain.frames(), callers.min(chain.agreed()), limit, !is_whole);
            chain.agree(callers.min(managed.outermost()));
        }
    }
    let is_known = translate(entered, runtime).is_some();
    if !is_known {
        entered.managed.forget();
    }
    is_known
}

fn translate(entered: &mut Entered, runtime: &Runtime) -> Option<()> {
    let mut state = state::of_session(entered, runtime)?;
    let mut known = 0;
    loop {
        known += state.translate(&mut entered.managed.fresh_mut()[known..]);
        let Some(&slot) = entered.managed.fresh_mut().get(known) else { break };
        let word = state.word(entered, runtime, slot)?;
        entered.managed.fresh_mut()[known] = word;
        known += 1;
    }
    Some(())
}

/// Enters the agent; a forked child that has not looked for the recorder yet does so first.
pub(crate) fn enter() -> Option<Entered> {
    for _ in 0..2 {
        let entry = if stack::is_here() { guard::enter_on_own_stack() } else { guard::enter() };
        match entry {
            Entry::Recording(entered) => return Some(entered),
            Entry::Start(now) => start::begin_session(now),
            Entry::Bypass => return None,
        }
    }
    None
}
