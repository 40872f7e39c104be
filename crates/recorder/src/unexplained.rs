//! Whether a process has had far more memory of its own than was observed: then an allocator must be at
//! work that we do not know, or the program maps memory by itself.
//!
//! It is a net for what nobody has recognised, so it is coarse. What is compared is anonymous resident
//! memory, as the kernel has it ten times a second, with all that was ever observed to be allocated.

use lifetrace_trace::ids::Bytes;

/// A process has that much beside: stacks, data, what the C library keeps.
const USUAL: u64 = 16 << 20;

/// What was observed may be an estimate that is too low by this factor, or fill memory badly.
const FACTOR: f64 = 2.0;

/// So many intervals may go by without a hit, if only once in nine million times.
const GAPS: f64 = 16.0;

/// Most bytes that the agent and an allocator keep for a sampled block.
const PER_SAMPLE: u64 = 256;

/// What was observed of a process's allocations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    /// Bytes that a hit stands for, where that is most.
    pub(crate) interval: f64,
    /// Bytes that all hits stand for.
    pub(crate) allocated: u64,
    pub(crate) samples: u64,
}

/// Whether so much memory, at its highest, cannot be what was observed. Before anything was observed the process
/// had `inherited`.
pub(crate) fn is_too_much(highest: Bytes, inherited: Bytes, observed: Observed) -> bool {
    let expected = FACTOR * observed.allocated as f64 + GAPS * observed.interval;
    let usual = USUAL.saturating_add(observed.samples.saturating_mul(PER_SAMPLE));
    let own = highest.0.saturating_sub(inherited.0).saturating_sub(usual);
    own as f64 > expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(megabytes: u64, hits: u64, interval: f64, expected: bool) {
        let allocated = (hits as f64 * interval) as u64;
        let observed = Observed { interval, allocated, samples: hits };
        let (highest, inherited) = (Bytes((megabytes + 3) << 20), Bytes(3 << 20));
        assert_eq!(
            is_too_much(highest, inherited, observed),
            expected,
            "{megabytes} MiB, {observed:?}"
        );
    }

    #[test]
    fn memory_that_nobody_has_heard_of() {
        let usual = 524_288.0;
        check(50, 0, usual, true);
        check(20, 0, usual, false);
        check(50, 60, usual, false);
        check(500, 60, usual, true);
        check(50, 1 << 20, 8.0, false);
        check(50, 100, 8.0, true);
    }

    #[test]
    fn impossible_figures_do_no_harm() {
        let observed = Observed { interval: f64::INFINITY, allocated: u64::MAX, samples: u64::MAX };
        assert!(!is_too_much(Bytes(u64::MAX), Bytes(0), observed));
        assert!(!is_too_much(Bytes(0), Bytes(u64::MAX), observed));
    }
}
