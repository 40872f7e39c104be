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
            "svc #0",
            "cbnz x0, 2f",
            "mov x0, #0",
            "svc #0",
            "cbz x0, 2f",
            // The status tells whether there is a grandchild.
            "lsr x0, x0, #63",
            "mov x8, {exit}",
            "svc #0",
            "brk #1",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("x8") libc::SYS_clone => _,
            inlateout("x0") first => result,
            in("x1") 0usize,
            in("x2") 0usize,
            in("x3") 0usize,
            in("x4") 0usize,
        );
    }
    result
}
