//! Programs that are checked while they are recorded: by valgrind, and by what compilers put in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, check};
use crate::support::run::Target;

/// The agent asks the kernel whether memory is readable by a system call that is to fail. It is no
/// fault of the program's, nor of ours; valgrind cannot know.
const PROBES: &str = "\
{
   the kernel is asked whether memory is readable
   Memcheck:Param
   rt_sigprocmask(set)
   ...
   obj:*/liblifetrace.so
}
";

/// What a run under valgrind ends with if there is an error, of the agent's or the program's.
const ERRORS: i32 = 77;

/// Without a malloc of its own: it checks what there is, the agent included.
#[test]
fn valgrind_finds_no_fault_in_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let suppressions = folder.path().join("probes");
    fs::write(&suppressions, PROBES).unwrap();
    for name in ["realloc", "longjmp", "fork", "cross_thread_free", "coroutines"] {
        let valgrind = [
            "valgrind",
            "-q",
            "--trace-children=yes",
            "--soname-synonyms=somalloc=nosuchlib",
            &format!("--error-exitcode={ERRORS}"),
            &format!("--suppressions={}", suppressions.display()),
        ];
        let target = Target::new(&valgrind).arguments(&[fixture::c(name).to_str().unwrap()]);
        for options in [EXACT, SHORT_INTERVAL] {
            let recording = target.record(options);
            assert_eq!(recording.outcome.code, 0, "{name}: {:?}", recording.outcome);
        }
    }
}

/// With its own malloc in the place of all others there is nothing to hear, and it says so.
#[test]
fn valgrinds_own_malloc_is_noticed() {
    let program = fixture::c("cross_thread_free");
    let target = Target::new(&["valgrind", "-q"]).arguments(&[program.to_str().unwrap()]);
    let (bare, recorded) = (target.bare(), target.record(SHORT_INTERVAL).outcome);
    assert_eq!((bare.code, &bare.stdout), (recorded.code, &recorded.stdout), "{recorded:?}");
    assert!(recorded.stderr_text().contains("brings an allocator of its own"), "{recorded:?}");
}

#[test]
fn undefined_behaviour_is_still_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    check(&sanitized(folder.path(), &["-fsanitize=undefined"]), &[], 1);
}

/// The address sanitizer's malloc in the program itself goes before ours.
#[test]
fn a_static_address_sanitizer_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-fsanitize=address", "-static-libasan"];
    let target = Target::new(&[&sanitized(folder.path(), &options)]);
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    for options in [EXACT, SHORT_INTERVAL] {
        let recorded = target.record(options).outcome;
        assert_eq!((bare.code, &bare.stdout), (recorded.code, &recorded.stdout), "{recorded:?}");
    }
}

/// A fixture, with instructions to check itself.
fn sanitized(folder: &Path, options: &[&str]) -> PathBuf {
    let program = folder.join("cross_thread_free");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g", "-w", "-pthread", "-fno-inline", "-fno-builtin"]).args(options);
    let source = fixture::source("c/cross_thread_free.c");
    let status = compiler.arg(source).arg("-o").arg(&program).status().unwrap();
    assert!(status.success(), "{compiler:?}");
    program
}
