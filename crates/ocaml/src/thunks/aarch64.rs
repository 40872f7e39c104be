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

/// In the place of a function of C with up to four arguments and no result: as above, as these are where they were.
macro_rules! thunk_memprof {
    ($name:ident, $function:path) => {
        thunk_4!($name, $function);
    };
}

/// In the place of `caml_garbage_collection`: where nothing but a sample has come, `$sample` is called as if by our
/// caller. Otherwise the function writes into five words what the runtime is to go on with, if anything, and that is.
macro_rules! thunk_onward {
    ($name:ident, $function:path, $sample:path) => {
        // SAFETY: as above.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "adrp x9, {marks}",
                "add x9, x9, :lo12:{marks}",
                "ldp x10, x11, [x9]",
                "ldp x12, x13, [x9, #16]",
                "ldr x10, [x10]",
                "ldr x11, [x11]",
                "cmp x10, x11",
                "b.lo 4f",
                "ldr x12, [x12]",
                "cmp x10, x12",
                "b.hs 4f",
                "ldr w13, [x13]",
                "cbnz w13, 4f",
                "b {sample}",
                "4:",
                "stp x29, x30, [sp, #-64]!",
                "mov x29, sp",
                "add x0, sp, #16",
                "adrp x9, {top}",
                "ldr x10, [x9, :lo12:{top}]",
                "str x10, [x29, #56]",
                "cbz x10, 2f",
                "str xzr, [x9, :lo12:{top}]",
                "mov sp, x10",
                "2:",
                "bl {function}",
                "adrp x9, {top}",
                "ldr x10, [x29, #56]",
                "str x10, [x9, :lo12:{top}]",
                "mov sp, x29",
                "ldr x16, [sp, #16]",
                "ldp x0, x1, [sp, #24]",
                "ldp x2, x3, [sp, #40]",
                "ldp x29, x30, [sp], #64",
                "cbnz x16, 3f",
                "ret",
                "3:",
                "br x16",
                marks = sym crate::memprof::minor_heap::MARKS,
                top = sym crate::stack::TOP,
                sample = sym $sample,
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

pub(super) use {thunk_4, thunk_5, thunk_memprof, thunk_onward};
