//! How much memory the heap keeps without using it.
//!
//! Memory that was just freed is the best place for what comes next, so idle pages stay resident as
//! long as that makes the heap no larger than it was in use lately. What counts as lately is told
//! by the program's own allocation, sampled or not: the remembered peak sinks towards what is in use
//! by one e-th for each [`MEMORY`] bytes. A program that frees `d` bytes of samples and fills others instead
//! has thus at most `d · exp(-d / MEMORY)` more than without us: never above 1.5 MiB.

use super::page::PAGE;

/// The program's allocation, in bytes, after which a peak counts a third.
const MEMORY: u64 = 4 * 1024 * 1024;

/// Pages that may always be idle: 256 KiB.
const FLOOR: u32 = pages_of(256 * 1024);

/// Pages that may be idle at most: 32 MiB. glibc gives back blocks above that at once, too.
const CEILING: u32 = pages_of(32 * 1024 * 1024);

/// Memory is given back in no smaller amount at a time: 256 KiB.
const BULK: u32 = pages_of(256 * 1024);

/// Counts pages.
#[derive(Debug, Default)]
pub(super) struct Budget {
    used: u32,
    idle: u32,
    peak: u32,
}

impl Budget {
    pub(super) const fn new() -> Self {
        Budget { used: 0, idle: 0, peak: 0 }
    }

    /// So many pages are in use from now on, or no more.
    pub(super) fn use_changes(&mut self, from: u32, to: u32) {
        self.used = self.used - from + to;
        self.peak = self.peak.max(self.used);
    }

    /// So many pages are idle but resident from now on, or no more.
    pub(super) fn idle_changes(&mut self, from: u32, to: u32) {
        self.idle = self.idle - from + to;
    }

    /// The program has allocated so many bytes since this was last said.
    pub(super) fn age(&mut self, bytes: usize) {
        let idle_since = u64::from(self.peak - self.used);
        self.peak -= (idle_since * (bytes as u64).min(MEMORY) / MEMORY) as u32;
    }

    /// How many idle pages are to be given back now.
    #[inline]
    pub(super) fn excess(&self) -> u32 {
        let allowed = (self.peak - self.used).clamp(FLOOR, CEILING);
        let excess = self.idle.saturating_sub(allowed);
        if excess < BULK { 0 } else { excess }
    }

    /// Pages in use, and pages that are idle but resident.
    pub(super) fn pages(&self) -> (u32, u32) {
        (self.used, self.idle)
    }

    /// The kernel does not take pages back, because they are locked: asks again only when there are more.
    pub(super) fn keep_all(&mut self) {
        self.peak = self.peak.max(self.used + self.idle);
    }
}

const fn pages_of(bytes: usize) -> u32 {
    (bytes / PAGE) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A budget after a peak of so many pages, all of them idle now.
    fn after_a_peak_of(peak: u32) -> Budget {
        let mut budget = Budget::new();
        budget.use_changes(0, peak);
        budget.use_changes(peak, 0);
        budget.idle_changes(0, peak);
        budget
    }

    #[test]
    fn what_was_in_use_may_stay() {
        assert_eq!(after_a_peak_of(CEILING).excess(), 0);
        assert_eq!(after_a_peak_of(CEILING + BULK).excess(), BULK);
    }

    #[test]
    fn what_is_not_used_again_goes() {
        let mut budget = after_a_peak_of(4096);
        for _ in 0..1000 {
            budget.age(64 * 1024);
            let excess = budget.excess();
            assert!(excess == 0 || excess >= BULK);
            budget.idle_changes(excess, 0);
        }
        assert!(budget.idle < FLOOR + BULK);
    }

    /// The bound that the module states, with room for what is given back in bulk only.
    #[test]
    fn a_program_that_turns_to_other_memory_has_little_more_than_before() {
        const STEP: usize = 64 * 1024;
        for peak in [256, 512, 1024, 2048, 8192] {
            let mut budget = after_a_peak_of(peak);
            let mut most = 0;
            for other in (0..2 * peak).step_by(STEP / PAGE) {
                let with_us = other + budget.idle;
                most = most.max(with_us.saturating_sub(other.max(peak)));
                budget.age(STEP);
                let excess = budget.excess();
                budget.idle_changes(excess, 0);
            }
            let bound = pages_of(3 * 1024 * 1024 / 2) + BULK;
            assert!(most <= bound, "{most} pages more than a peak of {peak}");
        }
    }
}
