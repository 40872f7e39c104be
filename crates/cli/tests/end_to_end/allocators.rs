//! Programs that bring an allocator of their own, and what sampled blocks cost in memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, check, check_target};
use crate::support::profile::assert_complete;
use crate::support::run::{Outcome, Target};

/// A library of Debian's, if it is installed; CI must have it.
fn library(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "CI must have {name}");
    eprintln!("skipped: no {name}");
    None
}

/// Checks programs, and how many traces each leaves, with a library preloaded.
fn check_with(name: &str, programs: &[(PathBuf, usize)]) {
    let Some(path) = library(name) else { return };
    for (program, traces) in programs {
        let brought = [("LD_PRELOAD", path.as_os_str())];
        check_target(&Target::new(&[program]).environment(&brought), *traces);
    }
}

/// Those that do not depend on what only glibc does.
fn programs() -> Vec<(PathBuf, usize)> {
    vec![
        (fixture::c("realloc"), 1),
        (fixture::c("cross_thread_free"), 1),
        (fixture::c("fork"), 5),
        (fixture::cpp("exceptions"), 1),
        (fixture::cpp("teardown"), 1),
    ]
}

#[test]
fn jemalloc_preloaded() {
    check_with("libjemalloc.so.2", &programs());
    check_with("libjemalloc.so.2", &[(fixture::cpp("operators"), 1)]);
}

#[test]
fn tcmalloc_preloaded() {
    check_with("libtcmalloc_minimal.so.4", &programs());
    check_with("libtcmalloc_minimal.so.4", &[(fixture::cpp("operators"), 1)]);
}

#[test]
fn mimalloc_preloaded() {
    check_with("libmimalloc.so.2", &programs());
}

/// Sampled blocks come to jemalloc's own functions, and those allocate.
#[test]
fn a_program_that_is_linked_with_jemalloc() {
    if library("libjemalloc.so").is_some() {
        check(&fixture::c_with_installed_library("jemalloc", "jemalloc"), &[], 1);
    }
}

/// A program finds no allocator that it does not have, and what it finds works.
#[test]
fn who_asks_for_jemalloc_does_not_find_it() {
    check(&fixture::c("probe"), &[], 1);
}

/// tcmalloc has one of the functions.
#[test]
fn who_has_some_of_jemallocs_functions_keeps_them() {
    check_with("libtcmalloc_minimal.so.4", &[(fixture::c("one_of_them"), 1)]);
}

/// Samples are no reason for an allocator to need more memory: at the default interval at most 2 MiB
/// and 2 % more, whatever the program does with its blocks.
#[test]
fn resident_memory() {
    const PHASES: [&str; 6] =
        ["nothing", "many_small", "few_large", "one_then_the_other", "one_that_grows", "slabs"];
    for phase in PHASES {
        is_frugal(&Target::new(&[&fixture::c("resident")]).arguments(&[phase]));
    }
}

/// What is read of the program's own file does not add up.
#[test]
fn resident_memory_with_large_unwind_tables() {
    let program = fixture::c("large_tables");
    leave_the_cache(&program);
    is_frugal(&Target::new(&[&program]));
}

/// A file that was just written may be cached in pieces of 2 MiB, which the kernel maps whole, as no
/// installed program's is.
fn leave_the_cache(program: &Path) {
    let file = File::open(program).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

/// A target that prints its peak has at most 2 MiB and 2 % more when it is recorded.
fn is_frugal(target: &Target) {
    let bare = peak(&target.bare());
    let recording = target.record(&["--seed", "1"]);
    let recorded = peak(&recording.outcome);
    assert!(recorded <= bare + bare / 50 + 2048, "{recorded} KiB for {bare} KiB: {target:?}");
    recording.traces().iter().for_each(|trace| assert_complete(trace));
}

/// With every block a sample, a block that grows moves no more often than it must.
#[test]
fn a_block_that_grows_is_not_held_twice() {
    let target = Target::new(&[&fixture::c("resident")]).arguments(&["one_that_grows"]);
    let bare = peak(&target.bare());
    for options in [EXACT, SHORT_INTERVAL] {
        let recorded = peak(&target.record(options).outcome);
        assert!(recorded <= bare + bare / 20 + 2048, "{recorded} KiB for {bare} KiB");
    }
}

/// What `resident.c` says of itself, in KiB.
fn peak(outcome: &Outcome) -> u64 {
    let text = outcome.stdout_text();
    let number = text.strip_prefix("peak ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{outcome:?}"))
}
