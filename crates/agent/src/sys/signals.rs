//! Which signals a thread hears, and what would become of them. \[UNSAFE\]

use core::ffi::c_int;

use super::raw;

/// A set of signals as the kernel has it: signal 1 is the lowest bit.
pub type Signals = u64;

/// What the kernel knows of a signal's handling.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: Signals,
}

/// Blocks all signals for this thread; those that were blocked before.
pub fn block_signals() -> Option<Signals> {
    let (all, mut before): (Signals, Signals) = (Signals::MAX, 0);
    let (new, old) = (&raw const all as usize, &raw mut before as usize);
    let arguments = [libc::SIG_SETMASK as usize, new, old, size_of::<Signals>()];
    // SAFETY: reads and writes a mask.
    unsafe { raw::call(libc::SYS_rt_sigprocmask, arguments) }.ok()?;
    Some(before)
}

/// Blocks these and no others.
pub fn block_these_signals(signals: Signals) {
    let arguments =
        [libc::SIG_SETMASK as usize, &raw const signals as usize, 0, size_of::<Signals>()];
    // SAFETY: reads a mask.
    let _ = unsafe { raw::call(libc::SYS_rt_sigprocmask, arguments) };
}

/// Whether a signal waits that the program handles as soon as no others than `blocked` are blocked; one whose handler has
/// system calls begun again counts only if `always`.
pub fn will_be_handled(blocked: Signals, always: bool) -> bool {
    let mut waiting: Signals = 0;
    let arguments = [&raw mut waiting as usize, size_of::<Signals>()];
    // SAFETY: writes a set.
    let _ = unsafe { raw::call(libc::SYS_rt_sigpending, arguments) };
    waiting &= !blocked;
    (1..=64).filter(|signal| waiting >> (signal - 1) & 1 == 1).any(|signal| {
        let action = action(signal);
        let is_handled = action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN;
        is_handled && (always || action.flags & libc::SA_RESTART as u64 == 0)
    })
}

fn action(signal: c_int) -> Action {
    let mut action = Action::default();
    let arguments = [signal as usize, 0, &raw mut action as usize, size_of::<Signals>()];
    // SAFETY: writes what is known.
    let _ = unsafe { raw::call(libc::SYS_rt_sigaction, arguments) };
    action
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one thread: the harness's others hear other signals.
    #[test]
    fn a_signal_that_waits_is_seen_if_it_will_be_handled() {
        extern "C" fn handler(_: c_int) {}
        let before = block_signals().unwrap();
        // SAFETY: a handler that does nothing, of a signal that nobody else uses here; and this thread's own signal.
        let send = |flags: c_int, signal: c_int| unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = flags;
            libc::sigaction(signal, &action, core::ptr::null_mut());
            libc::pthread_kill(libc::pthread_self(), signal);
        };
        assert!(!will_be_handled(before, true));
        send(libc::SA_RESTART, libc::SIGUSR1);
        let (usr1, usr2) = (1 << (libc::SIGUSR1 - 1), 1 << (libc::SIGUSR2 - 1));
        assert!(will_be_handled(before, true) && !will_be_handled(before, false));
        assert!(!will_be_handled(before | usr1, true));
        send(0, libc::SIGUSR2);
        assert!(will_be_handled(before, false) && !will_be_handled(before | usr2, false));
        block_these_signals(before);
        assert!(!will_be_handled(before, true));
    }
}
