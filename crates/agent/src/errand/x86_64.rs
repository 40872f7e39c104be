//! amd64. \[UNSAFE\]

use core::arch::x86_64::{__cpuid, __cpuid_count};

use lifetrace_transport::errand::Frame;

/// Room for all that the processor keeps of a thread's vectors; AVX-512 and AMX need some 11 KiB.
const SAVED: u32 = 16 << 10;

/// Length of the instruction that makes a system call.
const CALL_BYTES: u64 = 2;

/// Where threads are to be sent; `None` if the processor cannot keep its vectors, or has more than there is room for.
pub(super) fn code() -> Option<u64> {
    const OSXSAVE: u32 = 1 << 27;
    const STATE: u32 = 0xd;
    #[allow(unused_unsafe)]
    // SAFETY: all amd64 processors have this instruction.
    let (can_save, needed) = unsafe {
        let can_save = __cpuid(0).eax >= STATE && __cpuid(1).ecx & OSXSAVE != 0;
        (can_save, if can_save { __cpuid_count(STATE, 0).ebx } else { 0 })
    };
    (can_save && needed <= SAVED).then_some(come as *const () as u64)
}

/// The call that would be made again returns that it was interrupted.
pub(super) fn fail_as_interrupted(frame: &mut Frame) {
    frame.code += CALL_BYTES;
    frame.call = -i64::from(libc::EINTR) as u64;
}

/// The frame is where the stack pointer points. A system call changes rax, rcx and r11 and nothing else; so these are free
/// both here, where one has just been left, and at the end, where it is made again.
///
/// The flag is cleared when nothing on the stack is needed any more: from then on another thread may be sent here.
#[unsafe(naked)]
unsafe extern "C" fn come() {
    core::arch::naked_asm!(
        "pushfq",
        "cld",
        "push rbp",
        "push rbx",
        "push rdi",
        "push rsi",
        "push rdx",
        "push r8",
        "push r9",
        "push r10",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rbx, rsp",
        "lea rdi, [rsp + {kept}]",
        "sub rsp, {saved}",
        "and rsp, -64",
        // Of the area for vectors the header has to be zero before it is written.
        "xor eax, eax",
        "mov qword ptr [rsp + 512], rax",
        "mov qword ptr [rsp + 520], rax",
        "mov qword ptr [rsp + 528], rax",
        "mov qword ptr [rsp + 536], rax",
        "mov qword ptr [rsp + 544], rax",
        "mov qword ptr [rsp + 552], rax",
        "mov qword ptr [rsp + 560], rax",
        "mov qword ptr [rsp + 568], rax",
        "mov eax, -1",
        "mov edx, -1",
        "xsave64 [rsp]",
        "call {arrive}",
        "mov eax, -1",
        "mov edx, -1",
        "xrstor64 [rsp]",
        "mov rsp, rbx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rbx",
        "pop rbp",
        "popfq",
        "mov rcx, qword ptr [rsp + {code}]",
        "mov rax, qword ptr [rsp + {call}]",
        "mov r11, qword ptr [rsp + {flag}]",
        "mov rsp, qword ptr [rsp]",
        "mov dword ptr [r11], 0",
        "jmp rcx",
        kept = const 13 * 8,
        saved = const SAVED,
        code = const core::mem::offset_of!(Frame, code),
        call = const core::mem::offset_of!(Frame, call),
        flag = const core::mem::offset_of!(Frame, flag),
        arrive = sym super::arrive,
    )
}

const _: () = assert!(core::mem::offset_of!(Frame, stack_pointer) == 0);
