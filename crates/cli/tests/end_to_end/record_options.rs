//! What `record` leaves as it is, and what its options do.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::fixture;
use crate::support::profile::{assert_complete, read_through};
use crate::support::run::{Outcome, Target, file_name, files, lifetrace};

fn shell(script: &str) -> Target {
    Target::new(&["sh", "-c", script])
}

fn same(target: &Target) {
    let bare = target.bare();
    assert_eq!(target.record(&[]).outcome, bare, "recorded (left) and bare (right)");
}

#[test]
fn the_exit_code_is_the_programs() {
    for code in [0, 1, 42, 125, 255] {
        let target = shell(&format!("exit {code}"));
        assert_eq!(target.record(&[]).outcome.code, code);
    }
    for signal in [1, 2, 9, 11, 15] {
        let target = shell(&format!("kill -{signal} $$"));
        assert_eq!(target.record(&[]).outcome.code, 128 + signal);
    }
}

#[test]
fn both_output_streams_are_the_programs() {
    same(&shell("echo to stdout; echo to stderr >&2; echo again"));
    let five_megabytes = "print 'x' x 79, \"\\n\" for 1..65536; warn 'y' x 1000 for 1..500";
    same(&Target::new(&["perl", "-e", five_megabytes]));
}

#[test]
fn standard_input_is_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    fs::write(&file, "line\n".repeat(100_000)).unwrap();
    let target = Target::new(&["cksum"]).stdin(&file);
    same(&target);
    assert!(target.record(&[]).outcome.stdout_text().contains("500000"));
}

#[test]
fn the_working_directory_is_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    same(&Target::new(&["pwd"]).folder(folder.path()));
}

#[test]
fn a_script_is_recorded_with_what_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\nperl -e 'print 1'; perl -e 'print 2'; exit 3\n").unwrap();
    make_executable(&script);
    let recording = Target::new(&[&script]).record(&[]);
    assert_eq!((recording.outcome.code, recording.outcome.stdout_text().as_str()), (3, "12"));
    let traces = recording.traces();
    let of_perl = traces.iter().filter(|path| file_name(path).starts_with("perl.")).count();
    assert_eq!((traces.len(), of_perl), (3, 2), "{traces:?}");
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_children_leaves_one_trace() {
    for program in ["fork", "exec"] {
        let target = Target::new(&[&fixture::c(program)]).arguments(&["spawn"]);
        let recording = target.record(&["--no-children", "--rate", "1"]);
        assert_eq!(recording.outcome, target.bare());
        assert_eq!(recording.traces().len(), 1, "{:?}", recording.traces());
    }
}

#[test]
fn the_default_name_has_program_and_process() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = Target::new(&["perl", "-e", "print $$"]).folder(folder.path()).record_as(&["-q"]);
    let names: Vec<String> = files(folder.path()).iter().map(|path| file_name(path)).collect();
    assert_eq!(names, [format!("lifetrace.perl.{}.lt", outcome.stdout_text())]);
}

#[test]
fn a_name_may_hold_a_percent_sign() {
    let folder = tempfile::tempdir().unwrap();
    Target::new(&["true"]).folder(folder.path()).record_as(&["-q", "-o", "a%%%e.ctf"]);
    assert_eq!(files(folder.path()), [folder.path().join("a%true.ctf")]);
}

#[test]
fn the_summary_names_the_file_and_the_next_command() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&[&fixture::c("cross_thread_free")]).folder(folder.path());
    let outcome = target.record_as(&["-o", "x.ctf"]);
    let told = outcome.stderr_text();
    assert_eq!(outcome.code, 0);
    for word in ["x.ctf", "samples", "allocated", "live", "±", "lifetrace report x.ctf"] {
        assert!(told.contains(word), "{word:?} in {outcome:?}");
    }
    assert!(!told.contains('\x1b'), "colours on what is no terminal: {outcome:?}");
}

#[test]
fn quiet_is_quiet() {
    let outcome = shell("exit 0").record(&[]).outcome;
    assert_eq!((outcome.stdout, outcome.stderr), (vec![], vec![]));
}

#[test]
fn the_report_comes_with_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&[&fixture::c("big")]).folder(folder.path());
    let outcome = target.record_as(&["--report", "-o", "x.ctf"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let told = outcome.stdout_text() + &outcome.stderr_text();
    assert!(told.contains("hazard_big") && told.contains("big.c"), "{outcome:?}");
}

/// Twice the same seed, twice the same samples; another seed, others.
#[test]
fn a_seed_makes_a_run_repeatable() {
    let target = Target::new(&[&fixture::c("realloc")]);
    let hits = |seed: &str| {
        let recording = target.record(&["--interval", "16KiB", "--seed", seed]);
        let summary = read_through(&recording.trace_of("realloc"));
        (summary.samples, summary.hits)
    };
    assert_eq!(hits("7"), hits("7"));
    assert_ne!(hits("7"), hits("8"));
}

/// Runs `lifetrace record` under a shell that has closed one of the standard streams.
fn with_closed(stream: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("exec {stream}; exec \"$0\" record -o x.ctf -- sh -c 'exit 5'");
    let outcome = Outcome::of(
        Command::new("sh").args(["-c", &script, lifetrace()]).current_dir(folder.path()),
    );
    read_through(&folder.path().join("x.ctf"));
    outcome
}

#[test]
fn closed_standard_streams_are_no_obstacle() {
    for stream in ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"] {
        assert_eq!(with_closed(stream).code, 5, "{stream}");
    }
}

/// The terminal sends Ctrl-C to the command as well, which decides what it means.
#[test]
fn an_interrupt_does_not_end_the_recording() {
    let recording = shell("kill -INT $PPID; exit 7").record(&[]);
    assert_eq!(recording.outcome.code, 7, "{:?}", recording.outcome);
    recording.traces().iter().for_each(|trace| assert_complete(trace));
}

#[test]
fn a_request_to_terminate_is_passed_on() {
    let script = "trap 'echo caught; exit 9' TERM; kill -TERM $PPID; while :; do :; done";
    let outcome = shell(script).record(&[]).outcome;
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (9, "caught\n"), "{outcome:?}");
}

/// What the command leaves behind is recorded to its end.
#[test]
fn a_child_that_outlives_the_command_is_recorded() {
    let recording =
        shell("perl -e '$x .= q(longer and longer) for 1 .. 1e6; print 1' & exit 4").record(&[]);
    assert_eq!((recording.outcome.code, recording.outcome.stdout_text().as_str()), (4, "1"));
    assert!(read_through(&recording.trace_of("perl")).samples > 0);
}
