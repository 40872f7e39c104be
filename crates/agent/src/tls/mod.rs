//! The two thread-local words of the agent: the countdown and the thread's state. \[UNSAFE\]
//!
//! `thread_local!` in a shared library calls `__tls_get_addr` at every use. Here the symbol is
//! defined in assembly and addressed through its initial-exec GOT entry: one load and one
//! `fs:`-relative access. The price is 16 bytes of the loader's static TLS surplus, which matters
//! only to a library that is loaded by dlopen.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod arch;

core::arch::global_asm!(
    ".pushsection .tbss.lifetrace_tls,\"awT\",@nobits",
    ".globl lifetrace_tls",
    ".hidden lifetrace_tls",
    ".type lifetrace_tls,@object",
    ".size lifetrace_tls,16",
    ".p2align 4",
    "lifetrace_tls:",
    ".zero 16",
    ".popsection",
);

/// Takes `bytes` from the countdown; whether it went below zero, so a word among them is hit.
#[inline(always)]
pub fn take(bytes: usize) -> bool {
    arch::take(bytes)
}

/// Bytes that pass before the next hit; negative after [`take`] said so.
#[inline]
pub fn countdown() -> i64 {
    // SAFETY: the block is this thread's own, and a signal handler reads or writes it whole.
    unsafe { (*arch::block()).countdown }
}

/// Restarts the countdown.
#[inline]
pub fn set_countdown(bytes: i64) {
    // SAFETY: as above.
    unsafe { (*arch::block()).countdown = bytes }
}

/// The thread's state, as [`crate::thread`] encodes it; 0 in a fresh thread.
#[inline]
pub fn state() -> usize {
    // SAFETY: as above.
    unsafe { (*arch::block()).state }
}

/// Sets the thread's state.
#[inline]
pub fn set_state(state: usize) {
    // SAFETY: as above.
    unsafe { (*arch::block()).state = state }
}

#[repr(C)]
struct Block {
    countdown: i64,
    state: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own() {
        set_countdown(20);
        assert!(!take(16));
        std::thread::spawn(|| {
            assert_eq!((countdown(), state()), (0, 0));
            set_state(7);
            assert!(take(8));
            assert_eq!(countdown(), -8);
        })
        .join()
        .unwrap();
        assert!(!take(4));
        assert!(take(1));
        assert_eq!((countdown(), state()), (-1, 0));
    }
}
