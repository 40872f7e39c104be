//! `syscall`: the number in rax, arguments in rdi, rsi, rdx, r10, r8 and r9. \[UNSAFE\]

use core::ffi::c_long;

/// The kernel's answer.
///
/// # Safety
/// What the call does with these arguments is sound where it is made.
#[inline(always)]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: by contract; the kernel changes rax, rcx and r11 alone, and uses no user stack.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}
