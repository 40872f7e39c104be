//! Functions of the program's and of its libraries that become jumps to hooks. \[UNSAFE\]
//!
//! The recorder has worked out what is to be written where. Nothing is taken on trust that can be checked:
//! a list is applied as a whole, if every function of it is code of the program's, is as the recorder has seen
//! it, and has a hook; else nothing is changed.
//!
//! ```text
//! function: jmp ──▶ island: jmp ──▶ hook ──▶ island: moved instructions ──▶ rest of the function
//! ```

mod island;
pub mod late;
mod quiet;

use core::ffi::c_void;
use core::ops::Range;

use alloc::vec::Vec;
use lifetrace_agent::code;
use lifetrace_agent::loader;
use lifetrace_agent::session::Session;
use lifetrace_transport::patch::{JUMP, MOST_PATCHES, Patch, Shape};

use crate::families;
use crate::{boot, jemalloc, modules, next};
use island::Island;

/// The instructions that mark where indirect branches may lead to, which stay in front of a patch.
const MARK: u64 = 4;

/// Functions that are closer than this share an island, in bytes.
const REACH: u64 = 1 << 30;

/// What has become of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is empty.
    Nothing,
    /// All functions are patched.
    Applied,
    /// None is.
    Refused,
}

/// Applies the session's list. To be called while the process has a single thread.
pub fn apply(session: &Session) -> Outcome {
    if session.patch_count() == 0 {
        return Outcome::Nothing;
    }
    match list_of(session).and_then(|list| apply_all(&list).map(|copies| (list, copies))) {
        Some((list, copies)) => {
            go_past(&list, &copies);
            Outcome::Applied
        }
        None => Outcome::Refused,
    }
}

/// The list, if all of it makes sense.
fn list_of(session: &Session) -> Option<Vec<Patch>> {
    let count = session.patch_count();
    let list = (0..count.min(MOST_PATCHES)).map_while(|index| session.patch(index));
    Some(list.collect()).filter(|list: &Vec<Patch>| list.len() == count)
}

/// What we count ourselves, as the program calls malloc by that name, goes on past the hooks.
fn go_past(list: &[Patch], copies: &[usize]) {
    let mut past = |function| uncounted(function, list, copies);
    next::NEXT.replace(&mut past);
    jemalloc::replace(&mut past);
    boot::replace(&mut past);
}

/// A function that does the same as this one, of which nothing is counted.
fn uncounted(function: *mut c_void, list: &[Patch], copies: &[usize]) -> *mut c_void {
    let distance = |it: &Patch| it.address.wrapping_sub(function as u64);
    let patched = list.iter().zip(copies).find(|(it, _)| matches!(distance(it), 0 | MARK));
    if let Some((patch, &copy)) = patched {
        let is_alone = patch.shape == Shape::Free || !patch.nests;
        return if is_alone { copy as *mut c_void } else { quiet::of(copy as *mut c_void) };
    }
    let image = loader::bias_at(function as u64);
    // It may be built on functions that are patched.
    let is_akin = list.iter().any(|it| loader::bias_at(it.address) == image);
    if image.is_some() && is_akin { quiet::of(function) } else { function }
}

/// Returns where the moved instructions of each are. `None`: nothing has been changed.
fn apply_all(list: &[Patch]) -> Option<Vec<usize>> {
    let Prepared { jumps, copies } = prepare(list)?;
    for (done, (patch, jump)) in list.iter().zip(&jumps).enumerate() {
        // SAFETY: code of the program's, as has been checked; the only thread is here.
        if !unsafe { code::write(patch.address as *mut u8, jump) } {
            list[..done].iter().for_each(take_back);
            return None;
        }
    }
    Some(copies)
}

/// What a list's functions are to lead to is there.
struct Prepared {
    /// What each function is to begin with.
    jumps: Vec<[u8; JUMP]>,
    /// Where the moved instructions of each are.
    copies: Vec<usize>,
}

/// Makes ready all but the jumps; `None` if the list does not fit. To be called once.
fn prepare(list: &[Patch]) -> Option<Prepared> {
    if list.is_empty() || !list.iter().all(is_as_expected) || overlap(list) {
        return None;
    }
    let mut slots = &families::assign(list)?[..];
    let (mut jumps, mut copies) = (Vec::new(), Vec::new());
    for near in list.chunk_by(|a, b| a.address.abs_diff(b.address) < REACH) {
        let (own, others) = slots.split_at(near.len());
        slots = others;
        let island = Island::near(near)?;
        jumps.extend(island.build(near, own)?);
        copies.extend(island.copies());
        for (patch, (slot, copy)) in near.iter().zip(own.iter().zip(island.copies())) {
            slot.lead_to(copy, patch.usable_size as usize);
        }
    }
    Some(Prepared { jumps, copies })
}

fn take_back(patch: &Patch) {
    // SAFETY: it was written over with less than that a moment ago; as in `apply_all`.
    unsafe { code::write(patch.address as *mut u8, patch.original()) };
}

/// Whether there is code that is as the recorder has seen it.
fn is_as_expected(patch: &Patch) -> bool {
    let bytes = bytes(patch);
    if !modules::is_code(&bytes) {
        return false;
    }
    // SAFETY: code of a loaded module can be read, and the only thread is here.
    let there = unsafe {
        core::slice::from_raw_parts(bytes.start as *const u8, (bytes.end - bytes.start) as usize)
    };
    there == patch.original()
}

fn bytes(patch: &Patch) -> Range<u64> {
    patch.address..patch.address + u64::from(patch.length)
}

fn overlap(list: &[Patch]) -> bool {
    let mut all: Vec<Range<u64>> = list.iter().map(bytes).collect();
    all.sort_unstable_by_key(|bytes| bytes.start);
    all.windows(2).any(|pair| pair[0].end > pair[1].start)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
