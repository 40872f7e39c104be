//! Memprof in the runtime's place, under OCaml 4. \[UNSAFE\]
//!
//! The runtime's own makes, for each sample, a record and an array of frames in the program's heap, keeps 64
//! bytes, and calls a closure by way of OCaml code, once more for a promotion and once for a death. That costs
//! more than all that we do with the sample, and shifts the program's collections. So it is started, but
//! whatever it would do when it hits a block is done here; the first bytes of its functions become jumps:
//!
//! ```text
//! caml_garbage_collection       the minor heap's limit is passed: a sample, or the runtime is to go on
//! caml_memprof_track_young      a sample that is found while something else was done
//! caml_memprof_renew_minor_sample  the minor heap is empty: where is its first sample?
//! caml_memprof_track_alloc_shr  a block of the major heap
//! caml_memprof_track_custom     memory outside the heap, since 4.12
//! caml_memprof_track_interned   blocks that Marshal has built
//! caml_memprof_minor_update     blocks of the minor heap are promoted or dead
//! caml_memprof_update_clean_phase  the major heap is marked: what is not is dead
//! caml_memprof_invert_tracked   compaction: places are to be changed as pointers are
//! ```
//!
//! Nothing is allocated in the program's heap, and its collections are those of a bare run, word for word.
//!
//! # What a sample costs
//!
//! A processor guesses where functions return to by what it has kept of the last calls. Each call within a sample,
//! however deep, takes the place of one of the program's, whose return it then guesses wrongly. In programs that
//! recurse a few dozen calls cost more than most of what they are made for. So the way that most samples take
//! ([`births::sample_here`]) calls as little as can be: what it needs is a part of it, copies included.
//!
//! # Invariants
//!
//! - Whoever calls these functions holds the runtime's lock, so nobody else is in them, nor uses [`Watch`].
//!   Threads that wait for the lock are in none of them.
//! - They may be called where the program's stack has nearly ended, so they run on ours ([`thunks`](crate::thunks)).
//! - A block is announced where it is hit, before its header is written: nobody reads that before the next
//!   collection.
//! - No OCaml code runs and nothing is collected meanwhile; where the runtime has to do more than we, the thunk
//!   jumps there with nothing of ours on the stack.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::patch::{self, Patch};
use lifetrace_agent::sampler::Rate;
use lifetrace_agent::session::Session;

use self::descent::Draws;
pub(crate) use self::functions::Memprof;
use self::functions::PLACES;
use self::lives::Lives;
use self::sites::Sites;
use crate::runtime::Runtime;

pub(crate) mod births;
mod descent;
pub(crate) mod fates;
mod functions;
mod lives;
pub(crate) mod minor_heap;
mod sites;

/// What is shared by all who hold the runtime's lock.
struct Watch {
    draws: Draws,
    /// Whose blocks are sampled: a session's number, or 0 for any.
    session: u32,
    lives: Lives,
    sites: Sites,
}

struct Shared(UnsafeCell<Watch>);

// SAFETY: used under the runtime's lock.
unsafe impl Sync for Shared {}

static WATCH: Shared = Shared(UnsafeCell::new(Watch {
    draws: Draws::idle(),
    session: 0,
    lives: Lives::new(),
    sites: Sites::new(),
}));

static PATCHES: [Patch; PLACES] = [const { Patch::unset() }; PLACES];
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// Whether it has ever been in place.
static TOOK_OVER: AtomicBool = AtomicBool::new(false);

/// Takes the runtime's place, if that can be, by the `ways` that lead here: to be called before there is any OCaml code,
/// and before Memprof is started at that rate.
pub(crate) fn take_over(runtime: &Runtime, ways: &[*const (); PLACES], rate_per_word: f64) -> bool {
    let Some(memprof) = runtime.memprof else { return false };
    memprof.heap.mark();
    watch().draws.begin(Rate::per_word(rate_per_word));
    // SAFETY: functions of the runtime, each longer than a jump; nobody runs them now.
    let is_put = unsafe { patch::put_all(&PATCHES, &memprof.places, ways) };
    IN_PLACE.store(is_put, Ordering::Release);
    TOOK_OVER.store(is_put, Ordering::Relaxed);
    is_put
}

/// Whether a session's samples are those that are drawn. A forked child's are its parent's.
#[inline(always)]
fn serves(session: &Session) -> bool {
    let wanted = watch().session;
    wanted == 0 || wanted == session.number || session.is_of_fork
}

/// Whether the runtime's functions are ours.
pub(crate) fn is_in_place() -> bool {
    IN_PLACE.load(Ordering::Relaxed)
}

/// Gives it back: Memprof is to be stopped.
pub(crate) fn give_back(runtime: &Runtime) {
    if let Some(memprof) = runtime.memprof
        && IN_PLACE.swap(false, Ordering::AcqRel)
    {
        // SAFETY: in place. The caller holds the lock: if it comes from such a function, its first bytes are passed.
        unsafe { patch::take_back_all(&PATCHES, &memprof.places) };
        forget();
    }
}

/// Forgets all blocks: those that a forked child has inherited are its parent's.
pub(crate) fn forget() {
    watch().lives.clear();
}

/// Whether the runtime's own sampler has none of our blocks: what it follows then is the program's.
pub(crate) fn took_over() -> bool {
    TOOK_OVER.load(Ordering::Relaxed)
}

/// Tells of each sampled block that is alive as far as collections have told: its number, and where it is.
pub(crate) fn each_living(mut tell: impl FnMut(u64, u64)) {
    for &[place, metadata] in watch().lives.pairs() {
        tell(metadata, place);
    }
}

/// To be asked for anew wherever it is used: no reference is kept while the agent is entered, for that may
/// [`forget`].
#[inline]
fn watch<'a>() -> &'a mut Watch {
    // SAFETY: under the runtime's lock, and by the rule above there is no other reference.
    unsafe { &mut *WATCH.0.get() }
}
