//! Objects that pass before the next one is hit. Whoever counts has the machine's lock.

use core::sync::atomic::{AtomicU64, Ordering};

static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// So many objects pass before the next one is hit.
pub(crate) fn set(objects: u64) {
    LEFT.store(objects, Ordering::Relaxed);
}

/// Passes an object; false if it is hit.
#[inline(always)]
pub(crate) fn pass() -> bool {
    let left = LEFT.load(Ordering::Relaxed);
    if left > 0 {
        LEFT.store(left - 1, Ordering::Relaxed);
    }
    left > 0
}

/// Does `work`, whose objects are not the program's.
pub(crate) fn aside(work: impl FnOnce()) {
    let left = LEFT.swap(u64::MAX, Ordering::Relaxed);
    work();
    LEFT.store(left, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_aside_does_not_count() {
        set(2);
        aside(|| assert!((0..100).all(|_| pass())));
        assert_eq!([pass(), pass(), pass(), pass()], [true, true, false, false]);
    }
}
