//! What the collector finds out about blocks that are followed. \[UNSAFE\]

use lifetrace_agent::guard::{self, Entered};
use lifetrace_agent::tracker::{Tracker, Word};

use super::lives::Fate;
use super::minor_heap::{is_unmarked, promoted};
use super::watch;
use crate::entry::{self, TRACKER};
use crate::runtime;

/// Enters the agent to report what has come to light all at once.
fn enter() -> Option<Entered> {
    let mut entered = entry::enter();
    entered.iter_mut().for_each(Entered::send_at_once);
    entered
}

/// `caml_memprof_minor_update`: the live blocks of the minor heap have been moved to the major one.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn minor_collected() {
    // First, as a forked child that begins its own session now forgets its parent's blocks.
    let mut entered = enter();
    let report = |metadata, fate| {
        let Some(entered) = &mut entered else {
            guard::count_lost_release(metadata);
            // It is to be followed as long as it may be reported later.
            return true;
        };
        match fate {
            Fate::Promoted => TRACKER.promoted(entered, Word::from_word(metadata)).is_some(),
            Fate::Dead => {
                TRACKER.freed(entered, Word::from_word(metadata));
                false
            }
        }
    };
    // SAFETY: blocks that were in the minor heap, whose places are used again only after this call.
    watch().lives.minor_collected(|block| unsafe { promoted(block) }, report);
}

/// `caml_memprof_update_clean_phase`: all that is reachable in the major heap has been marked.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn marked() {
    let mut entered = enter();
    let report = |metadata| match &mut entered {
        Some(entered) => TRACKER.freed(entered, Word::from_word(metadata)),
        None => guard::count_lost_release(metadata),
    };
    // SAFETY: blocks of the major heap, which were not swept yet.
    watch().lives.marked(|block| unsafe { is_unmarked(block) }, report);
}

/// `caml_memprof_invert_tracked`: blocks are about to be moved together. Until that is done nobody may read or
/// move their places here, which the runtime changes.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn inverted() {
    let Some(memprof) = runtime::get().and_then(|runtime| runtime.memprof.as_ref()) else { return };
    for place in watch().lives.places() {
        // SAFETY: a block of the heap, kept in a word that stays where it is.
        unsafe { (memprof.invert)(*place, place) };
    }
}
