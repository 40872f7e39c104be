//! Memory that the program has from the system itself: `mmap` and its like. \[UNSAFE\]
//!
//! The recorder is told of each call, as long as it wants to know; what is anonymous, and which calls undo which, is
//! its affair. Nothing is kept here. What ends is said before the call, and what begins after it, so that no message
//! about a place comes too late for the next one about the same place, whichever thread that is of.
//!
//! ```text
//! by name (here) ─────────────────┐
//!                                 ├──> calls ──> next: what C does
//! first instructions (patched) ───┘        └───> saying: to the recorder
//! ```
//!
//! Calls within libc (of its malloc, for the stacks of threads), of the dynamic linker, and system calls that the
//! program makes itself come by nobody's function, and are not heard. Where a function's first instructions are a jump
//! to us, calls within libc come by as well, and are told by where they return to.

mod calls;
mod next;
#[cfg_attr(not(target_arch = "x86_64"), path = "patched_elsewhere.rs")]
pub(crate) mod patched;
mod saying;

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::session::Session;
use lifetrace_transport::patch::Patch;

pub(crate) use next::resolve;

/// Whether the recorder wants to be told.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// A session begins.
pub(crate) fn begin(session: &Session) {
    IS_HEARD.store(session.header.settings().sources.has_mappings(), Ordering::Relaxed);
}

/// A function whose first instructions are to be a jump goes on in this copy of them; of other shapes than these functions
/// nothing is kept. Nobody runs it by that jump yet.
pub(crate) fn go_on_at(patch: &Patch, copy: usize) {
    if patch.shape.is_of_mappings() {
        next::go_on_at(patch.shape, copy);
        patched::take_note(patch.address);
    }
}

#[inline(always)]
fn is_heard() -> bool {
    IS_HEARD.load(Ordering::Relaxed)
}

/// The functions under C's names.
macro_rules! by_name {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As C's; what is variadic there may be anything where it is not asked for.
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the caller's contract is the callee's.
            unsafe { calls::$name(is_heard(), $($argument),*) }
        }
    )*};
}

by_name! {
    mmap(
        address: *mut u8, bytes: usize, access: c_int, flags: c_int, descriptor: c_int, offset: i64
    ) -> *mut u8;
    munmap(address: *mut u8, bytes: usize) -> c_int;
    mremap(
        old: *mut u8, old_bytes: usize, bytes: usize, flags: c_int, new: *mut u8
    ) -> *mut u8;
    mprotect(address: *mut u8, bytes: usize, access: c_int) -> c_int;
    pkey_mprotect(address: *mut u8, bytes: usize, access: c_int, key: c_int) -> c_int;
    brk(end: *mut u8) -> c_int;
    sbrk(more: isize) -> *mut u8;
}
