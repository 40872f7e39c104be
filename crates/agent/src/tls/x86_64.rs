//! Initial-exec access on x86-64: `fs:[symbol@GOTTPOFF]`. \[UNSAFE\]

use super::Block;

/// This thread's block.
#[inline(always)]
pub fn block() -> *mut Block {
    let block: *mut Block;
    // SAFETY: computes an address and touches nothing; fs:[0] holds the thread pointer by the ABI.
    unsafe {
        core::arch::asm!(
            "mov {block}, qword ptr [rip + lifetrace_tls@GOTTPOFF]",
            "add {block}, qword ptr fs:[0]",
            block = out(reg) block,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// What this thread's variables are found by.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: fs:[0] holds it by the ABI.
    unsafe {
        core::arch::asm!(
            "mov {pointer}, qword ptr fs:[0]",
            pointer = out(reg) pointer,
            options(pure, readonly, nostack),
        );
    }
    pointer
}

/// Subtracts from the countdown, the block's first word; whether the result is negative.
#[inline(always)]
pub fn take(bytes: usize) -> bool {
    // SAFETY: one read-modify-write of this thread's own word.
    unsafe {
        core::arch::asm!(
            "mov {offset}, qword ptr [rip + lifetrace_tls@GOTTPOFF]",
            "sub qword ptr fs:[{offset}], {bytes}",
            "js {hit}",
            offset = out(reg) _,
            bytes = in(reg) bytes,
            hit = label { return true },
            options(nostack),
        );
    }
    false
}

/// Subtracts from the countdown if the block's fourth word is `epoch`; whether it is not, or the result is
/// negative.
#[inline(always)]
pub fn take_of(epoch: usize, bytes: usize) -> bool {
    // SAFETY: reads and writes this thread's own words, each at once.
    unsafe {
        core::arch::asm!(
            "mov {offset}, qword ptr [rip + lifetrace_tls@GOTTPOFF]",
            "cmp qword ptr fs:[{offset} + {of}], {epoch}",
            "jne {hit}",
            "sub qword ptr fs:[{offset}], {bytes}",
            "js {hit}",
            offset = out(reg) _,
            of = const core::mem::offset_of!(Block, epoch),
            epoch = in(reg) epoch,
            bytes = in(reg) bytes,
            hit = label { return true },
            options(nostack),
        );
    }
    false
}
