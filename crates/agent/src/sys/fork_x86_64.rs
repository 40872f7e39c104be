//! A fork by way of a process in between. \[UNSAFE\]

/// The answer: 0 in the grandchild; else that of the first call, in the caller.
///
/// # Safety
/// See [`super::fork_unheard`].
#[inline(always)]
pub unsafe fn fork_twice(first: usize) -> isize {
    let result: isize;
    // SAFETY: the process in between uses registers alone, so nothing on the stack that it shares changes; the
    // grandchild goes on with its own copy of that.
    unsafe {
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov eax, {clone}",
            "xor edi, edi",
            "syscall",
            "test rax, rax",
            "jz 2f",
            // The status tells whether there is a grandchild.
            "xor edi, edi",
            "shr rax, 63",
            "mov edi, eax",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            clone = const libc::SYS_clone,
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone as isize => result,
            inlateout("rdi") first => _,
            in("rsi") 0usize,
            in("rdx") 0usize,
            in("r10") 0usize,
            in("r8") 0usize,
            out("rcx") _,
            out("r11") _,
        );
    }
    result
}
