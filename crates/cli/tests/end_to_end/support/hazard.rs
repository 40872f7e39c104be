//! The check that most hazards pass: a program bare, recorded exactly, and recorded at a short
//! interval.

use std::path::Path;

use super::ledger::{self, Ledger};
use super::profile::assert_complete;
use super::run::{Outcome, Recording, Target};

pub const EXACT: &[&str] = &["--rate", "1"];
pub const SHORT_INTERVAL: &[&str] = &["--interval", "4KiB", "--seed", "1"];

/// What a fixture ends with when it finds its own expectations wrong.
const FIXTURE_IS_WRONG: i32 = 99;

/// Checks a program that is to leave `traces` traces.
pub fn check(program: &Path, arguments: &[&str], traces: usize) {
    check_target(&Target::new(&[program]).arguments(arguments), traces);
}

pub fn check_target(target: &Target, traces: usize) {
    for recording in check_totals(target) {
        assert_eq!(recording.traces().len(), traces, "{:?}", recording.traces());
    }
}

/// Checks a program that leaves as many traces as it may; returns the recorded runs.
pub fn check_totals(target: &Target) -> [Recording; 2] {
    check_totals_by(target, [EXACT, SHORT_INTERVAL])
}

/// Checks a program, recorded with these options, the first of which are exact; returns the recorded runs.
pub fn check_totals_by(target: &Target, [exact, sampled]: [&[&str]; 2]) -> [Recording; 2] {
    let bare = target.bare();
    assert_ne!(bare.code, FIXTURE_IS_WRONG, "the fixture itself is wrong: {bare:?}");
    let exact = target.record(exact);
    same(&bare, &exact);
    same_ledger(&bare, &exact);
    let sampled = target.record(sampled);
    same(&bare, &sampled);
    let recordings = [exact, sampled];
    for recording in &recordings {
        recording.traces().iter().for_each(|trace| assert_complete(trace));
    }
    recordings
}

/// Checks a program of which nothing need be recorded; what we say of that on stderr is ours.
pub fn check_unsampled(target: &Target) {
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    same_but_for_stderr(&bare, target);
}

/// Checks a program of which something may be lost, which we say on stderr; every trace is valid.
pub fn check_despite_losses(target: &Target) {
    let bare = target.bare();
    assert_ne!(bare.code, FIXTURE_IS_WRONG, "the fixture itself is wrong: {bare:?}");
    for recording in same_but_for_stderr(&bare, target) {
        assert!(!recording.traces().is_empty(), "{:?}", recording.outcome);
        recording.traces().iter().for_each(|trace| assert_complete(trace));
    }
}

/// Checks that the exact trace says what the program says of itself.
pub fn same_ledger(bare: &Outcome, recording: &Recording) {
    same_as_expected(bare, &ledger::recorded(&recording.traces()));
}

/// Checks that what was recorded is what the program says of itself.
pub fn same_as_expected(bare: &Outcome, recorded: &Ledger) {
    for (function, expected) in ledger::expected(&bare.stdout_text()) {
        let mut recorded =
            *recorded.get(&function).unwrap_or_else(|| panic!("{function} was not recorded"));
        // Of blocks that do not stay, those are promoted that a collection meets alive.
        assert!(recorded.promoted >= expected.promoted, "{function}: {recorded:?}, {expected:?}");
        recorded.promoted = expected.promoted;
        assert_eq!(recorded, expected, "{function}: trace (left), program (right)");
    }
}

pub fn same(bare: &Outcome, recording: &Recording) {
    assert_eq!(&recording.outcome, bare, "recorded (left) and bare (right)");
}

fn same_but_for_stderr(bare: &Outcome, target: &Target) -> [Recording; 2] {
    [EXACT, SHORT_INTERVAL].map(|options| {
        let recording = target.record(options);
        let outcome = &recording.outcome;
        assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
        recording
    })
}
