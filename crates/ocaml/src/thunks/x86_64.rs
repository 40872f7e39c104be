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

/// In the place of `caml_collect_current_callstack`: puts a ticket into the array where Memprof asks for the
/// stack of a block whose callback comes at once. For all else the function is called, with the stack pointer as its
/// fifth argument; rbx is the caller's.
macro_rules! thunk_collect {
    ($name:ident, $function:path) => {
        // SAFETY: nothing but assembly, which keeps what its caller's convention has kept, and returns on
        // the caller's stack. Called by the runtime alone, whose array has room if it has a length.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp rdx, {mark}",
                "jne 2f",
                // As a number without sign: of C's blocks, which have none, it is the greatest.
                "cmp ecx, {last_block}",
                "ja 2f",
                "mov rax, rdi",
                "sub rax, rsp",
                "cmp rax, {near}",
                "jbe 2f",
                "cmp qword ptr [rsi], 0",
                "jle 2f",
                "mov rax, qword ptr [rdi]",
                "mov ecx, ecx",
                "lea rcx, [rcx + rcx + {first_wanted}]",
                "mov qword ptr [rax], rcx",
                "mov eax, 1",
                "ret",
                "2:",
                "push rbp",
                "mov rbp, rsp",
                "push rbx",
                "mov r8, rsp",
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

pub(super) use {thunk_4, thunk_5, thunk_collect};
