//! Changing the program's code. \[UNSAFE\]

use core::ptr::NonNull;

use crate::sys;

const PAGE: usize = 4096;

/// Writes over code, which can be executed meanwhile but for these bytes: other threads may run other functions
/// of the same page. False if the kernel does not let it be changed; then it is as it was.
///
/// # Safety
/// There is code of the program's at `place`, as long as `code`; nobody runs these bytes now.
pub unsafe fn write(place: *mut u8, code: &[u8]) -> bool {
    let offset = place as usize & (PAGE - 1);
    let Some(start) = NonNull::new(place.wrapping_sub(offset)) else { return false };
    let protect = |access| {
        // SAFETY: pages of the program's code, which keep being readable and executable.
        unsafe { sys::protect(start, offset + code.len(), access) }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return false;
    }
    for (index, byte) in code.iter().enumerate() {
        // SAFETY: writable now, and nobody runs it.
        unsafe { place.add(index).write_volatile(*byte) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: makes the new code seen, which may lie in two lines of the caches.
    unsafe {
        core::arch::asm!(
            "dc cvau, {first}",
            "dc cvau, {last}",
            "dsb ish",
            "ic ivau, {first}",
            "ic ivau, {last}",
            "dsb ish",
            "isb",
            first = in(reg) place,
            last = in(reg) place.add(code.len() - 1),
        )
    };
    #[cfg(target_arch = "x86_64")]
    forget_translation(place, code.len());
    protect(libc::PROT_READ | libc::PROT_EXEC)
}

/// Has valgrind, if the program runs in it, translate that code anew: it keeps translations of code that came from a
/// file, and does not look whether it has changed. On aarch64 the instructions for the caches tell it.
#[cfg(target_arch = "x86_64")]
fn forget_translation(place: *const u8, length: usize) {
    const DISCARD_TRANSLATIONS: u64 = 0x1002;
    ask_valgrind([DISCARD_TRANSLATIONS, place as u64, length as u64, 0, 0, 0]);
}

/// Whether valgrind runs the program; on aarch64 nobody asks.
pub fn is_run_by_valgrind() -> bool {
    const RUNNING_ON_VALGRIND: u64 = 0x1001;
    cfg!(target_arch = "x86_64") && ask_valgrind([RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn ask_valgrind(_: [u64; 6]) -> u64 {
    0
}

/// A request of valgrind's and its answer, which is 0 where there is no valgrind: the sequence of instructions that it knows
/// and a processor does nothing by (`valgrind.h`).
#[cfg(target_arch = "x86_64")]
fn ask_valgrind(request: [u64; 6]) -> u64 {
    let mut answer = 0;
    // SAFETY: the rotations add up to none, and a register changes places with itself; valgrind reads `request`, and writes
    // an answer.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}
