//! amd64. \[UNSAFE\]

/// The argument is in rax, the result goes there. OCaml 4 has r14 and r15 for itself, which C preserves.
/// rbx keeps the top of the stack while the stack is ours.
macro_rules! thunk_4 {
    ($name:ident, $callback:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "mov rdi, rax",
                "mov rbx, qword ptr [rip + {top}]",
                "mov qword ptr [rip + {top}], 0",
                "test rbx, rbx",
                "cmovnz rsp, rbx",
                "and rsp, -16",
                "call {callback}",
                "mov qword ptr [rip + {top}], rbx",
                "mov rsp, rbp",
                "pop rbp",
                "ret",
                top = sym crate::stack::TOP,
                callback = sym $callback,
            )
        }
    };
}

/// In the place of a function of C with up to four arguments and no result; rbx is the caller's.
macro_rules! thunk_memprof {
    ($name:ident, $function:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rbx",
                "mov rbx, qword ptr [rip + {top}]",
                "mov qword ptr [rip + {top}], 0",
                "test rbx, rbx",
                "cmovnz rsp, rbx",
                "and rsp, -16",
                "call {function}",
                "mov qword ptr [rip + {top}], rbx",
                "mov rbx, qword ptr [rbp - 8]",
                "mov rsp, rbp",
                "pop rbp",
                "ret",
                top = sym crate::stack::TOP,
                function = sym $function,
            )
        }
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
                "mov rax, qword ptr [rip + {marks}]",
                "mov rcx, qword ptr [rip + {marks} + 8]",
                "mov rdx, qword ptr [rip + {marks} + 16]",
                "mov rsi, qword ptr [rip + {marks} + 24]",
                "mov rax, qword ptr [rax]",
                "cmp rax, qword ptr [rcx]",
                "jb 3f",
                "cmp rax, qword ptr [rdx]",
                "jae 3f",
                "cmp dword ptr [rsi], 0",
                "je {sample}",
                "3:",
                "push rbp",
                "mov rbp, rsp",
                "push rbx",
                "sub rsp, 40",
                "mov rdi, rsp",
                "mov rbx, qword ptr [rip + {top}]",
                "mov qword ptr [rip + {top}], 0",
                "test rbx, rbx",
                "cmovnz rsp, rbx",
                "and rsp, -16",
                "call {function}",
                "mov qword ptr [rip + {top}], rbx",
                "mov rax, qword ptr [rbp - 48]",
                "mov rdi, qword ptr [rbp - 40]",
                "mov rsi, qword ptr [rbp - 32]",
                "mov rdx, qword ptr [rbp - 24]",
                "mov rcx, qword ptr [rbp - 16]",
                "mov rbx, qword ptr [rbp - 8]",
                "mov rsp, rbp",
                "pop rbp",
                "test rax, rax",
                "jnz 2f",
                "ret",
                "2:",
                "jmp rax",
                marks = sym crate::memprof::minor_heap::MARKS,
                top = sym crate::stack::TOP,
                sample = sym $sample,
                function = sym $function,
            )
        }
    };
}

/// `caml_c_call` wants the function in rax, and C's arguments where C has them.
macro_rules! thunk_5 {
    ($name:ident, $callback:path) => {
        // SAFETY: nothing but a jump to `caml_c_call`, which returns to the caller. Called by the runtime alone.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rdi, rax",
                "lea rax, [rip + {callback}]",
                "jmp qword ptr [rip + {c_call}]",
                callback = sym $callback,
                c_call = sym crate::thunks::C_CALL,
            )
        }
    };
}

pub(super) use {thunk_4, thunk_5, thunk_memprof, thunk_onward};
