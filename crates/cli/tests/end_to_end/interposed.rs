//! Programs in which other libraries stand before libc's functions, or that hold the dynamic linker's lock: the
//! agent calls nothing of the program's, and waits for nothing.
//!
//! A program that hangs is killed after [`support::run`](crate::support::run)'s patience, and fails the test by
//! its exit code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, same, same_ledger};
use crate::support::profile::{assert_complete, read_through};
use crate::support::run::{Recording, Target};

/// With the interval that a user has who asks for none.
const DEFAULT: &[&str] = &[];

/// Checks a program of which `name` leaves a trace; returns these, of which the first is exact.
fn check(target: &Target, name: &str) -> [PathBuf; 3] {
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    let recordings = [EXACT, SHORT_INTERVAL, DEFAULT].map(|options| target.record(options));
    for recording in &recordings {
        same(&bare, recording);
        recording.traces().iter().for_each(|trace| assert_complete(trace));
    }
    same_ledger(&bare, &recordings[0]);
    recordings.map(|recording| kept(&recording, name))
}

/// The trace, in a place where it outlives the recording's folder.
fn kept(recording: &Recording, name: &str) -> PathBuf {
    let trace = recording.trace_of(name);
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
    std::fs::copy(trace, &path).unwrap();
    path
}

fn forget(traces: [PathBuf; 3]) {
    traces.iter().for_each(|trace| std::fs::remove_file(trace).unwrap());
}

/// A program of Debian's that preloads a library; CI must have it.
fn is_there(program: &str) -> bool {
    let is_there = Path::new("/usr/bin").join(program).exists();
    assert!(is_there || std::env::var_os("CI").is_none(), "CI must have {program}");
    if !is_there {
        eprintln!("skipped: no {program}");
    }
    is_there
}

/// By an exact walk, a lookup of modules, or a new module: whatever takes the dynamic linker's lock inside
/// malloc waits for ever here.
#[test]
fn a_thread_that_allocates_while_another_holds_the_dynamic_linkers_lock() {
    forget(check(&Target::new(&[&fixture::c("loader_lock")]), "loader_lock"));
}

#[test]
fn every_function_that_an_agent_may_call_allocates() {
    let library = fixture::c_library("interposer");
    let target = Target::new(&[&fixture::c("interposed")]);
    forget(check(&target.environment(&[("LD_PRELOAD", library)]), "interposed"));
}

#[test]
fn sockets_and_system_calls_that_are_torsocks() {
    if is_there("torsocks") {
        let program = fixture::c("interposed");
        forget(check(&Target::new(&["torsocks", program.to_str().unwrap()]), "interposed"));
    }
}

#[test]
fn writes_that_are_eatmydatas() {
    if is_there("eatmydata") {
        let program = fixture::c("interposed");
        forget(check(&Target::new(&["eatmydata", program.to_str().unwrap()]), "interposed"));
    }
}

/// The program's clock stands at the beginning of a century, the agent's where the recorder's does.
#[test]
fn a_clock_that_is_faketimes() {
    const LONGER_THAN_ANY_TEST: Duration = Duration::from_secs(24 * 3600);
    if is_there("faketime") {
        let program = fixture::c("interposed");
        let words = ["faketime", "-f", "@2000-01-01 00:00:00", program.to_str().unwrap()];
        let traces = check(&Target::new(&words), "interposed");
        for trace in &traces {
            let summary = read_through(trace);
            assert!(summary.duration < LONGER_THAN_ANY_TEST, "{:?}", summary.duration);
            let peak = summary.peak.time;
            assert!(peak < LONGER_THAN_ANY_TEST, "{peak:?}");
        }
        forget(traces);
    }
}
