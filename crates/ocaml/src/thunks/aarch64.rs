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

/// In the place of `caml_collect_current_callstack`: puts a ticket into the array where Memprof asks for the
/// stack of a block whose callback comes at once. For all else the function is called, with the stack pointer as its
/// fifth argument.
macro_rules! thunk_collect {
    ($name:ident, $function:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone, whose array has room if it has a length.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov x9, #({mark} & 0xffff)",
                "movk x9, #({mark} >> 16), lsl #16",
                "cmp x2, x9",
                "b.ne 2f",
                // As a number without sign: of C's blocks, which have none, it is the greatest.
                "cmp w3, #{last_block}",
                "b.hi 2f",
                "mov x9, sp",
                "sub x9, x0, x9",
                "mov x10, #{near}",
                "cmp x9, x10",
                "b.ls 2f",
                "ldr x9, [x1]",
                "cmp x9, #0",
                "b.le 2f",
                "ldr x9, [x0]",
                "mov x10, #{first_wanted}",
                "add x10, x10, w3, uxtw #1",
                "str x10, [x9]",
                "mov x0, #1",
                "ret",
                "2:",
                "stp x29, x30, [sp, #-32]!",
                "mov x29, sp",
                "mov x4, sp",
                "adrp x9, {top}",
                "ldr x10, [x9, :lo12:{top}]",
                "str x10, [x29, #16]",
                "cbz x10, 3f",
                "str xzr, [x9, :lo12:{top}]",
                "mov sp, x10",
                "3:",
                "bl {function}",
                "adrp x9, {top}",
                "ldr x10, [x29, #16]",
                "str x10, [x9, :lo12:{top}]",
                "mov sp, x29",
                "ldp x29, x30, [sp], #32",
                "ret",
                mark = const crate::callstacks::MARK,
                near = const crate::callstacks::NEAR,
                last_block = const crate::tickets::Ticket::LAST_BLOCK,
                first_wanted = const crate::tickets::Ticket::FIRST_WANTED,
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

pub(super) use {thunk_4, thunk_5, thunk_collect};
