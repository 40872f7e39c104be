//! The runtime's functions and variables, as the linker has found them. \[UNSAFE\]
//!
//! A static executable cannot be asked for what it has by name. So there is a table of references, weak
//! ones: what this version of the runtime does not have is 0 there.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

macro_rules! table {
    ($($name:literal)*) => {
        const NAMES: &[&str] = &[$($name),*];

        core::arch::global_asm!(
            ".pushsection .data.rel.ro.lifetrace_runtime,\"aw\"",
            ".globl lifetrace_runtime",
            ".hidden lifetrace_runtime",
            ".type lifetrace_runtime,@object",
            ".p2align 3",
            "lifetrace_runtime:",
            $(concat!(".weak ", $name, "\n.quad ", $name),)*
            ".popsection",
        );
    };
}

lifetrace_ocaml::for_runtime_names!(table);

unsafe extern "C" {
    static lifetrace_runtime: [Option<NonNull<c_void>>; NAMES.len()];
}

/// What is linked into the program by this name.
pub(crate) fn find(name: &CStr) -> Option<NonNull<c_void>> {
    let index = NAMES.iter().position(|known| known.as_bytes() == name.to_bytes())?;
    // SAFETY: as many words as there are names, written by nobody but the loader.
    unsafe { lifetrace_runtime[index] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_linked_is_not_found() {
        for name in [c"caml_memprof_start", c"caml_frametable", c"main", c"nobody_asks_for_this"] {
            assert_eq!(find(name), None, "{name:?}");
        }
    }
}
