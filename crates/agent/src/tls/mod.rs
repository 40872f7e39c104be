//! The five thread-local words of the agent: the countdown, the thread's state, the rate and the epoch that the
//! countdown is of, and whether the thread is outside a managed runtime. \[UNSAFE\]
//!
//! `thread_local!` in a shared library calls `__tls_get_addr` at every use. Here the symbol is
//! defined in assembly and addressed through its initial-exec GOT entry: one load and one
//! `fs:`-relative access. The price is 48 bytes of the loader's static TLS surplus, which matters
//! only to a library that is loaded by dlopen.
//!
//! A program that has the agent linked in starts and ends sessions, and changes their rates, while its
//! threads have countdowns of before. Nobody writes to another thread's words: each such change begins
//! an *epoch*, and a thread that meets a later one than its own draws anew ([`take_of`]).

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod arch;

core::arch::global_asm!(
    ".pushsection .tbss.lifetrace_tls,\"awT\",@nobits",
    ".globl lifetrace_tls",
    ".hidden lifetrace_tls",
    ".type lifetrace_tls,@object",
    ".size lifetrace_tls,48",
    ".p2align 4",
    "lifetrace_tls:",
    ".zero 48",
    ".popsection",
);

/// Takes `bytes` from the countdown; whether it went below zero, so a word among them is hit.
#[inline(always)]
pub fn take(bytes: usize) -> bool {
    arch::take(bytes)
}

/// Takes `bytes` from the countdown if it is of this `epoch`; whether it is not, or went below zero.
#[inline(always)]
pub fn take_of(epoch: usize, bytes: usize) -> bool {
    arch::take_of(epoch, bytes)
}

/// The rate at which the countdown was drawn: the probability of a word, as the bits of a double. 0: that which its
/// session had first. A rate may change while threads have countdowns of the one before ([`Draw`](crate::countdown::Draw)).
#[inline]
pub fn rate() -> u64 {
    // SAFETY: the block is this thread's own, and a signal handler reads or writes it whole.
    unsafe { (*arch::block()).rate }
}

/// Sets the rate at which the countdown was drawn.
#[inline]
pub fn set_rate(bits: u64) {
    // SAFETY: as above.
    unsafe { (*arch::block()).rate = bits }
}

/// The epoch that the countdown is of; 0 in a fresh thread, and without epochs.
#[inline]
pub fn epoch() -> usize {
    // SAFETY: the block is this thread's own, and a signal handler reads or writes it whole.
    unsafe { (*arch::block()).epoch }
}

/// Sets the epoch that the countdown is of.
#[inline]
pub fn set_epoch(epoch: usize) {
    // SAFETY: as above.
    unsafe { (*arch::block()).epoch = epoch }
}

/// Does `work`, of which nothing is sampled or counted.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    aside_in(epoch(), work)
}

/// Does `work`, of which nothing is sampled or counted, in a thread that may not have come to this `epoch` yet: what
/// `work` allocates does not make it draw.
pub fn aside_in<T>(in_epoch: usize, work: impl FnOnce() -> T) -> T {
    const FAR: i64 = 1 << 40;
    let (countdown, epoch) = (countdown(), epoch());
    set_epoch(in_epoch);
    set_countdown(FAR);
    let result = work();
    set_countdown(countdown);
    // Whatever has begun meanwhile, the countdown is of that.
    set_epoch(epoch);
    result
}

/// What no other thread's is while this one lives.
pub fn identity() -> usize {
    arch::block() as usize
}

/// How far from a thread's pointer its countdown is, and behind that its state, and its rate: the same in all threads.
pub fn distance() -> i64 {
    (arch::block() as usize).wrapping_sub(arch::thread_pointer()) as i64
}

/// This thread's word that is so far from its pointer.
///
/// # Safety
/// The program has a variable there of which each thread has its own.
pub unsafe fn word_at(distance: i64) -> u64 {
    // SAFETY: by contract.
    unsafe { (arch::thread_pointer() as *const u8).offset(distance as isize).cast::<u64>().read() }
}

/// Bytes that pass before the next hit; negative after [`take`] said so.
#[inline]
pub fn countdown() -> i64 {
    // SAFETY: as above.
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

/// Where a thread is, as far as it has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Whereabouts {
    /// It has said nothing yet.
    Unknown = 0,
    /// Outside a managed runtime, which others may use meanwhile.
    Outside = 1,
    /// Inside again.
    Inside = 2,
}

/// Where this thread is.
#[inline]
pub fn whereabouts() -> Whereabouts {
    // SAFETY: as above.
    match unsafe { (*arch::block()).whereabouts } {
        1 => Whereabouts::Outside,
        2 => Whereabouts::Inside,
        _ => Whereabouts::Unknown,
    }
}

/// Says where this thread is.
#[inline]
pub fn set_whereabouts(whereabouts: Whereabouts) {
    // SAFETY: as above.
    unsafe { (*arch::block()).whereabouts = whereabouts as usize }
}

#[repr(C)]
struct Block {
    countdown: i64,
    state: usize,
    rate: u64,
    epoch: usize,
    whereabouts: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_of_another_epoch_is_left_as_it_is() {
        set_countdown(20);
        set_epoch(3);
        assert!(take_of(4, 8) && take_of(2, 8));
        assert!(!take_of(3, 20));
        assert_eq!((countdown(), epoch()), (0, 3));
        assert!(take_of(3, 8));
        assert_eq!(countdown(), -8);
        aside(|| {
            assert!(!take_of(3, 1 << 30));
            set_epoch(4);
        });
        assert_eq!((countdown(), epoch()), (-8, 3));
    }

    #[test]
    fn every_thread_has_its_own() {
        set_countdown(20);
        assert!(!take(16));
        std::thread::spawn(|| {
            assert_eq!((countdown(), state()), (0, 0));
            set_state(7);
            assert_eq!(whereabouts(), Whereabouts::Unknown);
            set_whereabouts(Whereabouts::Outside);
            assert_eq!(whereabouts(), Whereabouts::Outside);
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
