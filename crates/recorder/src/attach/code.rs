//! The instructions that are written into a process: what a borrowed thread runs, and the worker that it starts. \[UNSAFE\]
//!
//! Both are followed by words that the recorder fills in ([`Borrow`], [`Work`]): they lie in the padding behind a module's
//! code, which the process cannot write to.
//!
//! The borrowed thread maps memory at a place that has been chosen for it, starts the worker there with a stack of its own,
//! and goes back. Its stack is never touched: below its stack pointer may be what it needs. When it has its own stack
//! pointer again it lets signals in, below the red zone, as the kernel does; a handler may leave by longjmp.

/// The memory that a borrowed thread maps, in bytes: a page for letters, vectors, and a stack.
pub(super) const DATA_BYTES: u64 = 96 << 10;

/// Where in it the processor's vectors are kept.
const VECTORS: u64 = 4096;

/// Words at the beginning of that memory.
pub(super) mod letter {
    /// 1 when the borrowed thread needs the memory no more.
    pub(in super::super) const RETURNED: u64 = 0;
    /// What `pthread_create` has returned.
    pub(in super::super) const ERROR: u64 = 4;
    /// Whose turn it is.
    pub(in super::super) const TURN: u64 = 16;
    /// What the worker is to call, with six arguments behind it, and then the result.
    pub(in super::super) const FUNCTION: u64 = 24;
    /// What the function has returned.
    pub(in super::super) const RESULT: u64 = 80;
    /// Free for arguments that are longer.
    pub(in super::super) const ROOM: u64 = 256;
}

/// It is the worker's turn.
pub(super) const ASKED: u32 = 1;
/// It is the recorder's.
pub(super) const ANSWERED: u32 = 2;
/// The worker is to end.
pub(super) const END: u32 = 3;

core::arch::global_asm!(
    ".pushsection .rodata.lifetrace_attach, \"a\", @progbits",
    ".macro lifetrace_as_before",
    "push qword ptr [rip + lifetrace_borrow_words + 8 * {flags}]",
    "popfq",
    "mov rbx, qword ptr [rip + lifetrace_borrow_words + 8 * {rbx}]",
    "mov rcx, qword ptr [rip + lifetrace_borrow_words + 8 * {rcx}]",
    "mov rdx, qword ptr [rip + lifetrace_borrow_words + 8 * {rdx}]",
    "mov rsi, qword ptr [rip + lifetrace_borrow_words + 8 * {rsi}]",
    "mov rdi, qword ptr [rip + lifetrace_borrow_words + 8 * {rdi}]",
    "mov rbp, qword ptr [rip + lifetrace_borrow_words + 8 * {rbp}]",
    "mov r8, qword ptr [rip + lifetrace_borrow_words + 8 * {r8}]",
    "mov r9, qword ptr [rip + lifetrace_borrow_words + 8 * {r9}]",
    "mov r10, qword ptr [rip + lifetrace_borrow_words + 8 * {r10}]",
    "mov r11, qword ptr [rip + lifetrace_borrow_words + 8 * {r11}]",
    "mov r12, qword ptr [rip + lifetrace_borrow_words + 8 * {r12}]",
    "mov r13, qword ptr [rip + lifetrace_borrow_words + 8 * {r13}]",
    "mov r14, qword ptr [rip + lifetrace_borrow_words + 8 * {r14}]",
    "mov r15, qword ptr [rip + lifetrace_borrow_words + 8 * {r15}]",
    "mov rsp, qword ptr [rip + lifetrace_borrow_words + 8 * {rsp}]",
    ".endm",
    ".p2align 3",
    ".globl lifetrace_borrow_begin",
    ".hidden lifetrace_borrow_begin",
    "lifetrace_borrow_begin:",
    // mmap(data, DATA_BYTES, read and write, private | anonymous | fixed, not in place of anything)
    "mov eax, 9",
    "mov rdi, qword ptr [rip + lifetrace_borrow_words]",
    "mov esi, {bytes}",
    "mov edx, 3",
    "mov r10d, 0x100022",
    "mov r8, -1",
    "xor r9d, r9d",
    "syscall",
    "cmp rax, qword ptr [rip + lifetrace_borrow_words]",
    "je 1f",
    "cmp rax, -4095",
    "jae 2f",
    // An old kernel has taken the place for a hint.
    "mov rdi, rax",
    "mov esi, {bytes}",
    "mov eax, 11",
    "syscall",
    "jmp 2f",
    "1:",
    "mov rbx, rax",
    "lea rsp, [rax + {bytes} - 64]",
    "push 0x202",
    "popfq",
    "mov eax, -1",
    "mov edx, -1",
    "xsave64 [rbx + {vectors}]",
    "call qword ptr [rip + lifetrace_borrow_words + 8 * 1]",
    "mov r12, rax",
    "mov r13d, dword ptr [rax]",
    "lea rdi, [rbx + 8]",
    "xor esi, esi",
    "mov rdx, qword ptr [rip + lifetrace_borrow_words + 8 * 2]",
    "mov rcx, rbx",
    "call qword ptr [rip + lifetrace_borrow_words + 8 * 3]",
    "mov dword ptr [rbx + {error}], eax",
    "mov dword ptr [r12], r13d",
    "mov eax, -1",
    "mov edx, -1",
    "xrstor64 [rbx + {vectors}]",
    "mov rsp, qword ptr [rip + lifetrace_borrow_words + 8 * {rsp}]",
    "mov dword ptr [rbx], 1",
    "2:",
    "mov rsp, qword ptr [rip + lifetrace_borrow_words + 8 * {rsp}]",
    "lea rsp, [rsp - 256]",
    // rt_sigpending: is there a signal that a handler is to get?
    "mov eax, 127",
    "mov rdi, rsp",
    "mov esi, 8",
    "syscall",
    "mov rbx, qword ptr [rsp]",
    "and rbx, qword ptr [rip + lifetrace_borrow_words + 8 * 4]",
    // rt_sigprocmask(set, blocked)
    "mov eax, 14",
    "mov edi, 2",
    "lea rsi, [rip + lifetrace_borrow_words + 8 * 5]",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "test rbx, rbx",
    "jnz 3f",
    "mov rax, qword ptr [rip + lifetrace_borrow_words + 8 * {rax}]",
    "lifetrace_as_before",
    "jmp qword ptr [rip + lifetrace_borrow_words + 8 * {rip}]",
    "3:",
    "mov rax, qword ptr [rip + lifetrace_borrow_words + 8 * 6]",
    "lifetrace_as_before",
    "jmp qword ptr [rip + lifetrace_borrow_words + 8 * 7]",
    ".p2align 3",
    ".globl lifetrace_borrow_words",
    ".hidden lifetrace_borrow_words",
    "lifetrace_borrow_words:",
    ".popsection",
    bytes = const DATA_BYTES,
    vectors = const VECTORS,
    error = const letter::ERROR,
    rax = const BEFORE + 10,
    rbx = const BEFORE + 5,
    rcx = const BEFORE + 11,
    rdx = const BEFORE + 12,
    rsi = const BEFORE + 13,
    rdi = const BEFORE + 14,
    rbp = const BEFORE + 4,
    r8 = const BEFORE + 9,
    r9 = const BEFORE + 8,
    r10 = const BEFORE + 7,
    r11 = const BEFORE + 6,
    r12 = const BEFORE + 3,
    r13 = const BEFORE + 2,
    r14 = const BEFORE + 1,
    r15 = const BEFORE,
    rip = const BEFORE + 16,
    flags = const BEFORE + 18,
    rsp = const BEFORE + 19,
);

// It is called with the memory's address. Every fifty microseconds it looks whether it is asked for something; when nobody
// has asked for ten seconds, the recorder is gone, and it ends by itself. At its end it gives the memory back.
core::arch::global_asm!(
    ".pushsection .rodata.lifetrace_attach, \"a\", @progbits",
    ".p2align 3",
    ".globl lifetrace_work_begin",
    ".hidden lifetrace_work_begin",
    "lifetrace_work_begin:",
    "endbr64",
    "push rbx",
    "push r12",
    "sub rsp, 24",
    "mov rbx, rdi",
    "call qword ptr [rip + lifetrace_work_words]",
    "mov rdi, rax",
    "call qword ptr [rip + lifetrace_work_words + 8]",
    "1:",
    "mov r12d, {patience}",
    "2:",
    "mov eax, dword ptr [rbx + {turn}]",
    "cmp eax, {asked}",
    "je 3f",
    "cmp eax, {end}",
    "je 4f",
    "dec r12d",
    "jz 4f",
    "mov qword ptr [rsp], 0",
    "mov qword ptr [rsp + 8], 50000",
    "mov eax, 35",
    "mov rdi, rsp",
    "xor esi, esi",
    "syscall",
    "jmp 2b",
    "3:",
    "mov rdi, qword ptr [rbx + {function} + 8]",
    "mov rsi, qword ptr [rbx + {function} + 16]",
    "mov rdx, qword ptr [rbx + {function} + 24]",
    "mov rcx, qword ptr [rbx + {function} + 32]",
    "mov r8, qword ptr [rbx + {function} + 40]",
    "mov r9, qword ptr [rbx + {function} + 48]",
    "xor eax, eax",
    "call qword ptr [rbx + {function}]",
    "mov qword ptr [rbx + {result}], rax",
    "mov dword ptr [rbx + {turn}], {answered}",
    "jmp 1b",
    "4:",
    "mov rdi, rbx",
    "mov esi, {bytes}",
    "mov eax, 11",
    "syscall",
    "add rsp, 24",
    "pop r12",
    "pop rbx",
    "xor eax, eax",
    "ret",
    ".p2align 3",
    ".globl lifetrace_work_words",
    ".hidden lifetrace_work_words",
    "lifetrace_work_words:",
    ".popsection",
    bytes = const DATA_BYTES,
    turn = const letter::TURN,
    function = const letter::FUNCTION,
    result = const letter::RESULT,
    asked = const ASKED,
    answered = const ANSWERED,
    end = const END,
    patience = const PATIENCE,
);

/// Times fifty microseconds, and what a sleep takes beside that.
const PATIENCE: u32 = 100_000;

/// Where among its words the borrowed thread's registers begin.
const BEFORE: usize = 8;

unsafe extern "C" {
    static lifetrace_borrow_begin: u8;
    static lifetrace_borrow_words: u8;
    static lifetrace_work_begin: u8;
    static lifetrace_work_words: u8;
}

/// What the borrowed thread needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Borrow {
    /// Where it is to map memory.
    pub(super) data: u64,
    /// `__errno_location`
    pub(super) errno: u64,
    /// Where the worker begins.
    pub(super) worker: u64,
    /// `pthread_create`
    pub(super) create: u64,
    /// Signals at which its call fails as interrupted: those that have handlers and are not blocked.
    pub(super) handled: u64,
    /// How it goes on.
    pub(super) onward: crate::stop::Onward,
}

/// What the worker needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// `pthread_self`
    pub(super) this: u64,
    /// `pthread_detach`
    pub(super) detach: u64,
}

impl Borrow {
    /// The code and its words.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Borrow { data, errno, worker, create, handled, onward } = self;
        let (code, result) = onward.interrupted.unwrap_or_default();
        let handled = if onward.interrupted.is_some() { handled & !onward.blocked } else { 0 };
        let words = [data, errno, worker, create, handled, onward.blocked, result, code];
        // SAFETY: two symbols of this file, in one section, in this order.
        let code = unsafe {
            between(&raw const lifetrace_borrow_begin, &raw const lifetrace_borrow_words)
        };
        let words = words.into_iter().chain(onward.registers);
        code.iter().copied().chain(words.flat_map(u64::to_le_bytes)).collect()
    }

    /// How many bytes there will be.
    pub(super) fn length() -> usize {
        // SAFETY: as above.
        let code = unsafe {
            between(&raw const lifetrace_borrow_begin, &raw const lifetrace_borrow_words)
        };
        code.len() + 8 * (BEFORE + crate::stop::GENERAL)
    }
}

impl Work {
    /// The code and its words.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        // SAFETY: two symbols of this file, in one section, in this order.
        let code =
            unsafe { between(&raw const lifetrace_work_begin, &raw const lifetrace_work_words) };
        let words = [self.this, self.detach].into_iter().flat_map(u64::to_le_bytes);
        code.iter().copied().chain(words).collect()
    }
}

/// # Safety
/// Both are of one section of this program, the first not after the second.
unsafe fn between(begin: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(begin, end.offset_from(begin) as usize) }
}
