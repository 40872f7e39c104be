//! Which OCaml this is, told by what it exports, and what differs between them.
//!
//! No symbol says the version. But each release has a function that the one before has not, in an object
//! that is always linked.

use core::ffi::CStr;

/// A runtime that can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V4_11,
    V4_12,
    V4_13,
    V4_14,
    V5_3,
    V5_4,
}

/// What an exported name tells.
const FROM_4_12: &CStr = c"caml_memprof_enter_thread";
const FROM_4_13: &CStr = c"caml_record_backtraces";
const FROM_4_14: &CStr = c"caml_terminate_signals";
const FROM_5_0: &CStr = c"caml_ml_domain_id";
const FROM_5_3: &CStr = c"caml_process_pending_actions_res";
const FROM_5_4: &CStr = c"caml_plat_mutex_reinit";

/// Where the collector's counters are in the domain's state, as an index of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    /// The first of: minor words, promoted words, major words (doubles), minor collections, major
    /// collections, heap words, top heap words, compactions (words).
    pub(crate) first: usize,
}

/// Where the state of a domain of OCaml 5 has what snapshots need, as indices of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DomainWords {
    /// What C code has told to be roots.
    pub(crate) local_roots: usize,
    /// What is known of its ephemerons.
    pub(crate) ephemerons: usize,
    /// Its number; half of that word.
    pub(crate) number: usize,
}

impl Version {
    /// By the names that `exports` knows; `None` if that runtime cannot be sampled. It has
    /// `caml_memprof_start`, as all since 4.11.
    pub(crate) fn of(exports: impl Fn(&CStr) -> bool) -> Option<Version> {
        if exports(FROM_5_0) {
            return exports(FROM_5_3)
                .then(|| if exports(FROM_5_4) { Version::V5_4 } else { Version::V5_3 });
        }
        Some(match (exports(FROM_4_14), exports(FROM_4_13), exports(FROM_4_12)) {
            (true, _, _) => Version::V4_14,
            (_, true, _) => Version::V4_13,
            (_, _, true) => Version::V4_12,
            _ => Version::V4_11,
        })
    }

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Version::V4_11 => "4.11",
            Version::V4_12 => "4.12",
            Version::V4_13 => "4.13",
            Version::V4_14 => "4.14",
            Version::V5_3 => "5.3",
            Version::V5_4 => "5.4 or later",
        }
    }

    /// Whether OCaml code runs on stacks of the runtime's own, which C code has to leave.
    pub(crate) fn has_fibers(self) -> bool {
        self >= Version::V5_3
    }

    /// Whether a location has its end's line.
    pub(crate) fn has_end_lines(self) -> bool {
        self >= Version::V5_3
    }

    /// Whether a domain takes blocks for dead that others promote (ocaml/ocaml#14057).
    pub(crate) fn misreports_domains(self) -> bool {
        self == Version::V5_3
    }

    /// `None` where a domain has counted its own part only.
    pub(crate) fn counters(self) -> Option<Counters> {
        match self {
            Version::V4_11 => Some(Counters { first: 36 }),
            Version::V4_12 | Version::V4_13 | Version::V4_14 => Some(Counters { first: 37 }),
            Version::V5_3 | Version::V5_4 => None,
        }
    }

    /// Where the domain's state has the stack pointer of the OCaml code that has called C, and after it
    /// the address to which that returns, as an index of words. `None` where stacks are not the system's.
    pub(crate) fn stack_state(self) -> Option<usize> {
        const BEFORE_COUNTERS: usize = 11;
        self.counters().map(|counters| counters.first - BEFORE_COUNTERS)
    }

    /// `None` before OCaml 5. (`runtime/caml/domain_state.tbl`)
    pub(crate) fn domain_words(self) -> Option<DomainWords> {
        match self {
            Version::V5_3 => Some(DomainWords { local_roots: 20, ephemerons: 21, number: 37 }),
            Version::V5_4 => Some(DomainWords { local_roots: 24, ephemerons: 25, number: 41 }),
            _ => None,
        }
    }

    /// Where the domain's state has the wish for a slice of a collection of the old heap, and where the limit of the young
    /// one, as indices of words; where loops look at that limit even if they do not allocate.
    pub(crate) fn slice_state(self) -> Option<(usize, usize)> {
        const BEFORE_COUNTERS: usize = 3;
        const LIMIT: usize = 0;
        let counters = self.counters().filter(|_| self >= Version::V4_13)?;
        Some((counters.first - BEFORE_COUNTERS, LIMIT))
    }

    /// Where the domain's state has the pointer to the block of the minor heap that was placed last, as an
    /// index of words. `None` where each domain has a heap of its own.
    pub(crate) fn young_pointer(self) -> Option<usize> {
        match self {
            Version::V4_11 | Version::V4_12 => Some(0),
            Version::V4_13 | Version::V4_14 => Some(1),
            Version::V5_3 | Version::V5_4 => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_by_what_it_adds() {
        let all = [FROM_4_12, FROM_4_13, FROM_4_14, FROM_5_0, FROM_5_3, FROM_5_4];
        let versions = [
            Some(Version::V4_11),
            Some(Version::V4_12),
            Some(Version::V4_13),
            Some(Version::V4_14),
            None, // 5.0 to 5.2 have a memprof that does nothing.
            Some(Version::V5_3),
            Some(Version::V5_4),
        ];
        for (count, expected) in versions.into_iter().enumerate() {
            assert_eq!(Version::of(|name| all[..count].contains(&name)), expected);
        }
        // What is gone again in a later release is not asked for there.
        assert_eq!(Version::of(|name| name == FROM_5_0 || name == FROM_5_3), Some(Version::V5_3));
    }
}
