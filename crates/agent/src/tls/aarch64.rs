//! Initial-exec access on aarch64: `tpidr_el0 + :gottprel:symbol`. \[UNSAFE\]

use super::Block;

/// This thread's block.
#[inline(always)]
pub fn block() -> *mut Block {
    let block: *mut Block;
    // SAFETY: computes an address and touches nothing; tpidr_el0 is the thread pointer by the ABI.
    unsafe {
        core::arch::asm!(
            "adrp {block}, :gottprel:lifetrace_tls",
            "ldr {block}, [{block}, :gottprel_lo12:lifetrace_tls]",
            "mrs {thread}, tpidr_el0",
            "add {block}, {block}, {thread}",
            block = out(reg) block,
            thread = out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// What this thread's variables are found by.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: tpidr_el0 is the thread pointer by the ABI.
    unsafe {
        core::arch::asm!(
            "mrs {pointer}, tpidr_el0",
            pointer = out(reg) pointer,
            options(pure, nomem, nostack),
        );
    }
    pointer
}

/// Subtracts from the countdown; whether the result is negative.
#[inline(always)]
pub fn take(bytes: usize) -> bool {
    // SAFETY: the block is this thread's own.
    unsafe {
        let countdown = &mut (*block()).countdown;
        *countdown = countdown.wrapping_sub(bytes as i64);
        *countdown < 0
    }
}

/// Subtracts from the countdown if it is of `epoch`; whether it is not, or the result is negative.
#[inline(always)]
pub fn take_of(epoch: usize, bytes: usize) -> bool {
    // SAFETY: the block is this thread's own.
    unsafe {
        let block = &mut *block();
        if block.epoch != epoch {
            return true;
        }
        block.countdown = block.countdown.wrapping_sub(bytes as i64);
        block.countdown < 0
    }
}
