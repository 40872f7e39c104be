//! Functions of the program's that become jumps to hooks. \[UNSAFE\]
//!
//! The recorder has worked out what is to be written where. Nothing is taken on trust that can be checked:
//! a list is applied as a whole, if every function of it is code of the program's, is as the recorder has seen
//! it, and has a hook; else nothing is changed.
//!
//! ```text
//! function: jmp ──▶ island: jmp ──▶ hook ──▶ island: moved instructions ──▶ rest of the function
//! ```

mod island;

use core::ops::Range;

use alloc::vec::Vec;
use lifetrace_agent::code;
use lifetrace_agent::session::Session;
use lifetrace_transport::patch::{MOST_PATCHES, Patch};

use crate::families::{self, Slot};
use crate::modules;
use island::Island;

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
    let count = session.patch_count();
    if count == 0 {
        return Outcome::Nothing;
    }
    let list = (0..count.min(MOST_PATCHES)).map_while(|index| session.patch(index));
    let list: Vec<Patch> = list.collect();
    let is_applied = list.len() == count && apply_all(&list).is_some();
    if is_applied { Outcome::Applied } else { Outcome::Refused }
}

/// `None`: nothing has been changed.
fn apply_all(list: &[Patch]) -> Option<()> {
    if !list.iter().all(is_as_expected) || overlap(list) {
        return None;
    }
    let slots = families::assign(list)?;
    let island = Island::near(list)?;
    let jumps = island.build(list, &slots)?;
    for (patch, (slot, copy)) in list.iter().zip(slots.iter().zip(island.copies())) {
        slot.lead_to(copy, patch.usable_size as usize);
    }
    for (done, (patch, jump)) in list.iter().zip(&jumps).enumerate() {
        // SAFETY: code of the program's, as has been checked; the only thread is here.
        if !unsafe { code::write(patch.address as *mut u8, jump) } {
            list[..done].iter().for_each(take_back);
            return None;
        }
    }
    Some(())
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

/// For the hooks of a patch: where they go on.
pub(crate) type Slots = Vec<&'static Slot>;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
