//! A traced program that executes an untraced one: its trace ends there, whoever comes after.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use lifetrace_trace::fact::{Exit, Fact};

use crate::support::fixture;
use crate::support::profile::{facts_of, read_through};
use crate::support::root::only_root_can;
use crate::support::run::{Target, lifetrace_verb};

/// What the other program has for itself is more.
const MOST_OF_OURS: u64 = 32 << 20;

/// Records `becomes HOW PROGRAM wait FILE` and lets the other program end only when the trace is whole.
fn becomes(how: &str, program: &Path, notice: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let [trace, file] = ["x.lt", "go"].map(|name| folder.path().join(name));
    let target = Target::new(&[&fixture::c("becomes")]).arguments(&[
        how,
        program.to_str().unwrap(),
        "wait",
        file.to_str().unwrap(),
    ]);
    let outcome = std::thread::scope(|scope| {
        let recording =
            scope.spawn(|| target.record_as(&["--rate", "1", "-o", trace.to_str().unwrap()]));
        while !recording.is_finished() && lifetrace_verb(&[Path::new("check"), &trace]).code != 0 {}
        fs::write(&file, "").unwrap();
        recording.join().unwrap()
    });
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (0, "1\n"), "{outcome:?}");
    let said = format!("becomes executed {}, which is not traced: ", program.display());
    assert!(outcome.stderr_text().contains(&said), "{outcome:?}");

    let summary = read_through(&trace);
    assert_eq!(summary.samples - summary.collections, 1);
    let facts = facts_of(&trace);
    let is_theirs = |fact: &&Fact| match fact {
        Fact::Counters(it) => it.resident.is_some_and(|bytes| bytes.0 > MOST_OF_OURS),
        Fact::ThreadName(it) => &*it.name == "other",
        _ => false,
    };
    assert_eq!(facts.iter().find(is_theirs), None);
    assert!(facts.contains(&Fact::Exit(Exit::Exec)), "{facts:?}");
    let notice = Fact::Notice(format!("{notice}:{}", program.display()).into());
    assert!(facts.contains(&notice), "{facts:?}");
}

#[test]
fn without_an_environment_for_us() {
    becomes("unaware", &fixture::c("becomes"), "became-unaware");
}

#[test]
fn that_is_static() {
    becomes("aware", &fixture::c_static("becomes"), "became-static");
}

#[test]
fn with_other_rights() {
    if only_root_can("give files away") {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("privileged");
        fs::copy(fixture::c("becomes"), &program).unwrap();
        chown(&program, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
        becomes("aware", &program, "became-privileged");
    }
}

#[test]
fn of_another_c_library() {
    becomes("aware", &fixture::c_musl("becomes"), "became-foreign");
}
