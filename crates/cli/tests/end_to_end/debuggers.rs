//! Programs that others look into while they are recorded.

use std::process::Command;

use crate::support::fixture;
use crate::support::hazard::{EXACT, check_totals, same_ledger};
use crate::support::run::Target;

#[test]
fn a_debugger_that_attaches() {
    for recording in check_totals(&Target::new(&[&fixture::c("debugged")])) {
        recording.trace_of("debugged");
    }
}

/// The debugger is the command, and starts the program itself; it stops inside allocating functions.
#[test]
fn a_debugger_that_runs_the_program() {
    let program = fixture::c("cross_thread_free");
    let words =
        ["gdb", "-batch", "-nx", "-ex", "set pagination off", "-ex", "set startup-with-shell off"];
    let target = Target::new(&words).arguments(&[
        "-ex",
        "break main",
        "-ex",
        "run",
        "-ex",
        "tbreak malloc",
        "-ex",
        "continue",
        "-ex",
        "finish",
        "-ex",
        "delete",
        "-ex",
        "continue",
        program.to_str().unwrap(),
    ]);
    let recording = target.record(EXACT);
    assert_eq!(recording.outcome.code, target.bare().code, "{:?}", recording.outcome);
    same_ledger(&Target::new(&[&program]).bare(), &recording);
}

/// It reports nothing of ours as an error of the program's.
#[test]
fn a_checker_of_memory() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return println!("skipped: no valgrind");
    }
    let target = Target::new(&["valgrind", "-q", "--error-exitcode=99", "ls"]);
    let outcome = target.record_as(EXACT);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!outcome.stderr_text().contains("lifetrace_agent"), "{outcome:?}");
}

#[test]
fn a_tracer_of_system_calls() {
    let target = Target::new(&["strace", "-f", "-o", "/dev/null"]);
    for program in ["cross_thread_free", "fork"] {
        let program = fixture::c(program);
        check_totals(&target.clone().arguments(&[program.to_str().unwrap()]));
    }
}
