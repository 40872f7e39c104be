//! Objects that pass before the next one is hit. Whoever counts has the machine's lock.

use core::sync::atomic::{AtomicU64, Ordering};

/// After so many objects one stops in any case, to look what the recorder wants.
const STAGE: u64 = 1_000;

static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// What is still to be passed after those.
static LATER: AtomicU64 = AtomicU64::new(0);

/// So many objects pass before the next one is hit.
pub(crate) fn set(objects: u64) {
    let stage = if objects == u64::MAX { objects } else { objects.min(STAGE) };
    LEFT.store(stage, Ordering::Relaxed);
    LATER.store(objects - stage, Ordering::Relaxed);
}

/// Where [`pass`] has stopped: passes the object, if it is not hit; whether it is not.
pub(crate) fn goes_on() -> bool {
    let later = LATER.load(Ordering::Relaxed);
    if later > 0 {
        set(later - 1);
    }
    later > 0
}

/// Passes an object; false if it is hit, or one is to look.
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
    fn a_long_gap_is_passed_in_stages() {
        set(3 * STAGE + 7);
        let mut passed = 0;
        while pass() || goes_on() {
            passed += 1;
        }
        assert_eq!(passed, 3 * STAGE + 7);
        assert!(!pass() && !goes_on());
    }

    #[test]
    fn what_is_done_aside_does_not_count() {
        set(2);
        aside(|| assert!((0..100).all(|_| pass())));
        assert_eq!([pass(), pass(), pass(), pass()], [true, true, false, false]);
    }
}
