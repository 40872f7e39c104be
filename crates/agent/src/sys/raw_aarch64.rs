//! `svc #0`: the number in x8, arguments in x0 to x5. \[UNSAFE\]

use core::ffi::c_long;

/// The kernel's answer.
///
/// # Safety
/// What the call does with these arguments is sound where it is made.
#[inline(always)]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: by contract; the kernel changes x0 alone, and uses no user stack.
    unsafe {
        core::arch::asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            in("x5") sixth,
            options(nostack),
        );
    }
    result
}
