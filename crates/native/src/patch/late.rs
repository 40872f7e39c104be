//! Functions of a program that runs, which become jumps while the recorder has all its threads stand still. \[UNSAFE\]
//!
//! Only the jumps themselves are the recorder's to write. What they lead to stays for ever, as a thread may be there when
//! they are taken back; it is used again when they are put in place again.

use core::cell::UnsafeCell;

use alloc::vec::Vec;
use lifetrace_agent::session::Session;
use lifetrace_transport::attach::Jump;
use lifetrace_transport::patch::{JUMP, Patch, Shape};

use crate::{mappings, sandbox};

use super::{Prepared, is_as_expected, list_of, prepare};

/// The patches that have been made ready, with their jumps.
struct Ready(UnsafeCell<Vec<(Patch, [u8; JUMP])>>);

// SAFETY: used by one thread at a time, as `jumps` asks for.
unsafe impl Sync for Ready {}

static READY: Ready = Ready(UnsafeCell::new(Vec::new()));

/// The jumps of the session's list, all of which have something to lead to; `None` if one has not. Those of functions that
/// the session does not hear are made ready, and left out: the next one may.
///
/// # Safety
/// One thread at a time, and nobody runs what the jumps lead to.
pub unsafe fn jumps(session: &Session) -> Option<Vec<Jump>> {
    let list = list_of(session)?;
    // SAFETY: by contract.
    let ready = unsafe { &mut *READY.0.get() };
    if ready.is_empty() && !list.is_empty() {
        let Prepared { jumps, copies } = prepare(&list)?;
        list.iter().zip(&copies).for_each(|(it, &copy)| go_on_at(it, copy));
        ready.extend(list.iter().copied().zip(jumps));
    }
    let hears_mappings = session.header.settings().sources.has_mappings();
    let is_wanted = |it: &&Patch| hears_mappings || !it.shape.is_of_mappings();
    list.iter().filter(is_wanted).map(|patch| again(patch, ready)).collect()
}

/// Functions whose hooks have no slot keep the place where they go on themselves.
fn go_on_at(patch: &Patch, copy: usize) {
    match patch.shape {
        Shape::Prctl => sandbox::go_on_at(copy),
        _ => mappings::go_on_at(patch, copy),
    }
}

/// As it was made ready before.
fn again(patch: &Patch, ready: &[(Patch, [u8; JUMP])]) -> Option<Jump> {
    let is_same = |it: &Patch| it.address == patch.address && it.moved == patch.moved;
    let (_, jump) = ready.iter().find(|(it, _)| is_same(it))?;
    let original = patch.original.first_chunk()?;
    is_as_expected(patch).then_some(Jump {
        address: patch.address,
        original: *original,
        jump: *jump,
    })
}
