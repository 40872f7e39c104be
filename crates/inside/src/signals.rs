//! Threads that take no signals. \[UNSAFE\]
//!
//! A signal that is sent to the process goes to any thread that does not block it. On a thread of the
//! recorder it would not interrupt the system call that the program is waiting in, and the program might
//! wait for ever.

use std::mem::MaybeUninit;
use std::ptr;

/// Runs `start` with all signals blocked, which threads inherit, and then those of before.
pub fn without<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are written before they are read.
    let is_blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = start();
    if is_blocked {
        // SAFETY: written above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        let mut now = MaybeUninit::uninit();
        // SAFETY: asks for the mask and reads it.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn threads_inherit_the_block_and_the_caller_is_as_before() {
        let before = is_blocked(libc::SIGALRM);
        let thread = without(|| std::thread::spawn(|| is_blocked(libc::SIGALRM)));
        assert!(thread.join().unwrap());
        assert_eq!(is_blocked(libc::SIGALRM), before);
    }
}
