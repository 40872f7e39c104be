//! A lock that never waits for ever: who doesn't get it within the patience goes without.
//!
//! The holder may be preempted, stopped by a debugger, or a thread that a fork left behind in the
//! parent; a waiter spins a little, yields, and gives up.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// A spin lock that never waits for ever: who doesn't get it within its patience goes without.
#[derive(Debug, Default)]
pub struct Lock {
    held: AtomicU32,
}

/// The lock is held until this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    lock: &'a Lock,
}

/// How long to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all.
    None,
    /// Up to about 100 ms.
    Short,
    /// Up to about 5 s: for exact recording, where nothing may be lost to a busy machine.
    Long,
}

impl Patience {
    /// Upper bound of the wait, in milliseconds.
    pub const fn millis(self) -> u64 {
        match self {
            Patience::None => 0,
            Patience::Short => 100,
            Patience::Long => 5_000,
        }
    }
}

const SPINS: u32 = 100;
const YIELDS_BEFORE_SLEEP: u32 = 50;

/// For who tells [what a thread is at](crate::context), and is asked on several threads at once; free in a forked child.
pub static CONTEXT: Lock = Lock::new();

impl Lock {
    /// Free.
    pub const fn new() -> Self {
        Lock { held: AtomicU32::new(0) }
    }

    /// Takes the lock, or gives up.
    #[inline]
    pub fn acquire(&self, patience: Patience) -> Option<Held<'_>> {
        if self.take() { Some(Held { lock: self }) } else { self.acquire_slowly(patience) }
    }

    /// Forgets a holder that does not exist any more, in a forked child.
    pub fn reset(&self) {
        self.held.store(0, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn acquire_slowly(&self, patience: Patience) -> Option<Held<'_>> {
        if patience == Patience::None {
            return None;
        }
        let deadline = sys::now().0 + patience.millis() * 1_000_000;
        for round in 0u32.. {
            for _ in 0..SPINS {
                if self.held.load(Ordering::Relaxed) == 0 && self.take() {
                    return Some(Held { lock: self });
                }
                core::hint::spin_loop();
            }
            if sys::now().0 > deadline {
                return None;
            }
            if round < YIELDS_BEFORE_SLEEP { sys::yield_now() } else { sys::sleep_micros(200) }
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.held.store(0, Ordering::Release);
    }
}
