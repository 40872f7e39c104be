//! Finding out from a backtrace that a signal handler is at work. \[UNSAFE\]
//!
//! A handler returns to a trampoline, which makes the system call that ends it. Its code is fixed by the
//! kernel's interface, and debuggers know it by that.

use lifetrace_agent::sys;

/// `mov $15, %rax; syscall`.
#[cfg(target_arch = "x86_64")]
const TRAMPOLINE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];

/// `mov x8, #139; svc #0`.
#[cfg(target_arch = "aarch64")]
const TRAMPOLINE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];

/// Bytes that [`sys::is_readable`] speaks for.
const WORD: usize = 8;

/// Whether one of these return addresses is that of a trampoline.
pub(crate) fn is_among(frames: &[u64]) -> bool {
    frames.iter().any(|&frame| is_trampoline(frame))
}

fn is_trampoline(address: u64) -> bool {
    let rest = (TRAMPOLINE.len() - WORD) as u64;
    if !sys::is_readable(address) || !sys::is_readable(address.wrapping_add(rest)) {
        return false;
    }
    // SAFETY: found out to be readable just now; a module that is unloaded while one of its functions
    // is on the stack is the program's own crash.
    unsafe { (address as *const [u8; TRAMPOLINE.len()]).read_unaligned() == TRAMPOLINE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trampoline_is_known_by_its_code() {
        let code = [&[0x90; 3], &TRAMPOLINE[..], &[0x90; 8]].concat();
        let at = |offset: usize| code.as_ptr() as u64 + offset as u64;
        assert!(is_among(&[at(0), at(3)]) && !is_among(&[at(0), at(4)]));
        assert!(!is_among(&[0, 8, u64::MAX - 3]));
    }
}
