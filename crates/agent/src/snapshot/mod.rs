//! A snapshot of a managed heap, taken by a child that the program hears nothing of. \[UNSAFE\]
//!
//! ```text
//! recorder ─ wish ─▶ a place where the runtime's heap is whole ─ take ─┬─ parent: goes on
//!                                                                      └─ child: Walk ─ stream ─▶ recorder
//! ```
//!
//! The program is stopped while the system copies its page tables, and no longer. The child has the heap as it was,
//! finds all blocks that the roots hold, each once ([`marks`], [`queue`]), and tells of them. It writes to none of the
//! program's memory, takes a bounded amount of its own ([`budget`]), and ends without going back.

pub mod budget;
pub mod marks;
mod numbers;
pub mod output;
pub mod queue;
pub mod walk;

use lifetrace_transport::handshake::Hello;
use lifetrace_transport::snapshot::{Answer, Standing, Taken};
use lifetrace_transport::stream::Ending;

use crate::{phase, session, sys};
use budget::Budget;
use output::Output;
use walk::Walk;

/// Whether the recorder waits for a snapshot: costs a few loads, so it may be asked often.
#[inline]
pub fn is_wanted() -> bool {
    session::current().is_some_and(|session| session.header.wish().is_pending())
}

/// Takes the snapshot that is waited for, if any is: to be called where the runtime's heap is whole. `walk` is run in the
/// child, and tells of all blocks.
///
/// # Safety
/// `walk` may be run in a copy of this process that has no other thread: it takes no lock, allocates nothing of the
/// program's and changes nothing in the kernel.
pub unsafe fn take(walk: impl FnOnce(&mut Walk<'_>)) {
    let Some(session) = phase::recording() else { return };
    let Some(taken) = session.header.wish().take() else { return };
    // SAFETY: by contract.
    let answer = match unsafe { fork(taken, walk) } {
        Some(pause) => (Answer::Begun, pause),
        None => (Answer::NoChild, 0),
    };
    session.header.wish().answer(answer.0, answer.1);
}

/// Takes a snapshot that the recorder wants without asking; false if the system does not let us, and somebody listens.
///
/// # Safety
/// As [`take`].
pub unsafe fn take_unasked(taken: Taken, walk: impl FnOnce(&mut Walk<'_>)) -> bool {
    let Some(session) = phase::recording() else { return true };
    session.header.wish().note_pause(0);
    // SAFETY: by contract.
    let pause = unsafe { fork(taken, walk) };
    if let Some(pause) = pause {
        session.header.wish().note_pause(pause);
    }
    pause.is_some()
}

/// What is wanted without being asked for.
pub fn standing() -> Option<&'static Standing> {
    Some(phase::recording()?.header.standing())
}

/// Says that a snapshot cannot be taken, if one is waited for.
pub fn refuse(answer: Answer) {
    if let Some(session) = phase::recording()
        && session.header.wish().take().is_some()
    {
        session.header.wish().answer(answer, 0);
    }
}

/// For how many nanoseconds the program was stopped; `None` if there is no child. The recorder is told that one comes
/// before there is one, so that it knows of it even if the program ends right after.
///
/// # Safety
/// As [`take`].
unsafe fn fork(taken: Taken, walk: impl FnOnce(&mut Walk<'_>)) -> Option<u64> {
    let begun = sys::now().0;
    let connection = session::approach(Hello::Snapshot(taken.token))?;
    // SAFETY: by contract, and `tell` never returns.
    match unsafe { sys::fork_unheard() }? {
        sys::Forked::Child => tell(connection, taken.memory, walk),
        sys::Forked::Parent => Some(sys::now().0.saturating_sub(begun).max(1)),
    }
}

/// In the child.
fn tell(connection: sys::Descriptor, memory: u64, walk: impl FnOnce(&mut Walk<'_>)) -> ! {
    sys::leave_descriptors(&connection);
    let budget = Budget::of(memory);
    if let Some(output) = Output::begin(connection, &budget) {
        let mut all = Walk::new(&budget, output);
        walk(&mut all);
        all.end(Ending::Whole);
    }
    sys::exit(0)
}
