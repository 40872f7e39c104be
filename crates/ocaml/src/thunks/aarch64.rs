//! aarch64. \[UNSAFE\]

/// Argument and result are in x0, as in C. OCaml 4 has x26 to x28 for itself, which C preserves.
macro_rules! thunk_4 {
    ($name:ident, $callback:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-32]!",
                "mov x29, sp",
                "adrp x9, {top}",
                "ldr x10, [x9, :lo12:{top}]",
                "str x10, [x29, #16]",
                "cbz x10, 2f",
                "str xzr, [x9, :lo12:{top}]",
                "mov sp, x10",
                "2:",
                "bl {callback}",
                "adrp x9, {top}",
                "ldr x10, [x29, #16]",
                "str x10, [x9, :lo12:{top}]",
                "mov sp, x29",
                "ldp x29, x30, [sp], #32",
                "ret",
                top = sym crate::stack::TOP,
                callback = sym $callback,
            )
        }
    };
}

/// A function of C's with four arguments, to which the stack pointer is added as the fifth.
macro_rules! thunk_c {
    ($name:ident, $function:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-32]!",
                "mov x29, sp",
                "mov x4, sp",
                "adrp x9, {top}",
                "ldr x10, [x9, :lo12:{top}]",
                "str x10, [x29, #16]",
                "cbz x10, 2f",
                "str xzr, [x9, :lo12:{top}]",
                "mov sp, x10",
                "2:",
                "bl {function}",
                "adrp x9, {top}",
                "ldr x10, [x29, #16]",
                "str x10, [x9, :lo12:{top}]",
                "mov sp, x29",
                "ldp x29, x30, [sp], #32",
                "ret",
                top = sym crate::stack::TOP,
                function = sym $function,
            )
        }
    };
}

/// Which register `caml_c_call` takes the function in has changed between versions: not supported yet,
/// and never called.
macro_rules! thunk_5 {
    ($name:ident, $callback:path) => {
        unsafe extern "C" fn $name() {}
    };
}

pub(super) use {thunk_4, thunk_5, thunk_c};
