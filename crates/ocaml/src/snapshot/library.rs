//! The program's thread library, by where its code is. \[UNSAFE\]

use core::ffi::c_void;

use crate::symbols::{Symbols, typed};

/// Where its code is, if the program has it.
pub(super) fn of(symbol: &Symbols<'_>) -> Option<u64> {
    // SAFETY: a function, of which the address is wanted.
    let function: *const c_void = unsafe { typed(symbol, c"caml_thread_initialize").ok()? };
    Some(function as u64)
}

/// Whether it is OCaml's library whose code a function is that tells of other threads' stacks, and not that of somebody who
/// has taken its place: its functions are near one another.
pub(super) fn has(library: Option<u64>, function: u64) -> bool {
    const NEAR: u64 = 1 << 14;
    library.is_some_and(|library| library.abs_diff(function) < NEAR)
}
