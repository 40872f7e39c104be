//! Programs that start another one in such a way that it is not recorded: the program's own code counts, and why is told.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::root::only_root_can;
use crate::support::run::{Target, lifetrace_verb};
use crate::support::running::Running;

/// How soon the other program ends must make no difference: a recorder that looks too late knows less, and no more.
#[test]
fn an_emptied_environment_is_no_failure() {
    for _ in 0..20 {
        let target = Target::new(&["env", "-i", "/bin/sh", "-c", "exit 0"]);
        let outcome = target.record_as(&["-o", "/dev/null"]);
        let told = outcome.stderr_text();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(!told.contains("no process has loaded"), "{told}");
        assert!(!told.contains("next: "), "{told}");
    }
    let code = Target::new(&["env", "-i", "/bin/sh", "-c", "exit 7"]).record_as(&["-q"]).code;
    assert_eq!(code, 7);
}

/// A folder with a shell and its libraries, to be a root directory.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let told = Command::new("ldd").arg("/bin/sh").output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let libraries = told.split_whitespace().filter(|word| word.starts_with('/'));
    for file in libraries.chain(["/bin/sh"]).map(Path::new) {
        let place = root.path().join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(file, place).unwrap();
    }
    root
}

/// The library is told of by a path that is not in that root. What is in it waits for a word, so that it can be seen.
#[test]
fn another_root_directory_is_told() {
    if only_root_can("change roots") {
        let root = root();
        let script = "echo ready; read word; exit 3";
        let target = Target::new(&["chroot", root.path().to_str().unwrap(), "/bin/sh", "-c"]);
        let mut running = Running::start(&target.arguments(&[script]), &[]);
        let stderr = running.recorder.stderr.take().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(running.finish().0, Some(3));
        let told = std::io::read_to_string(stderr).unwrap();
        assert!(
            told.contains("chroot executed ") && told.contains("in its root directory"),
            "{told}"
        );
        assert!(told.contains("/liblifetrace.so; copy that there"), "{told}");
    }
}

/// It is another command that ends such a recording.
#[test]
fn who_is_recorded_from_its_start_is_not_detached_from() {
    let running = Running::start(&Target::new(&["sh", "-c", "echo ready; read word"]), &[]);
    let outcome = lifetrace_verb(&["detach", &running.pid.to_string()]);
    let told = outcome.stderr_text();
    assert_eq!(outcome.code, 1, "{told}");
    let recorder = running.recorder.id();
    let advice = format!("recorded by `lifetrace record` (process {recorder})");
    assert!(told.contains(&advice) && told.contains(&format!("kill -INT {recorder}")), "{told}");
    assert_eq!(running.finish().0, Some(1));
}

#[test]
fn a_heap_of_which_there_are_no_snapshots() {
    let outcome = Target::new(&["true"]).record_as(&["-o", "/dev/null", "--snapshot-at-exit"]);
    let told = outcome.stderr_text();
    assert!(outcome.code == 0 && told.contains("no snapshot was taken"), "{told}");
}

#[test]
fn who_is_not_there_is_said_so() {
    let nobody = "4194304";
    for words in [&["snapshot", nobody][..], &["live", "--once", nobody], &["detach", nobody]] {
        let outcome = lifetrace_verb(words);
        let told = outcome.stderr_text();
        assert!(outcome.code == 1 && told.contains("there is no"), "{words:?}: {told}");
        assert!(!told.contains("os error"), "{words:?}: {told}");
    }
}
