//! What `record` refuses, before the program starts, and with which words and code.
//!
//! 125 is our own failure, 126 a program that cannot be executed, 127 one that is not there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::fixture;
use crate::support::run::{Outcome, Target, files};

/// A folder, and a program that leaves a mark in it.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn marker(&self) -> Target {
        Target::new(&["touch", "mark"]).folder(self.folder.path())
    }

    /// Checks that `options` are refused, with these words, and that nothing has been done.
    fn refuses(&self, options: &[&str], words: &[&str]) {
        let before = files(self.folder.path());
        expect(&self.marker().record_as(options), 125, words);
        assert_eq!(files(self.folder.path()), before, "{options:?}");
    }
}

fn expect(outcome: &Outcome, code: i32, words: &[&str]) {
    let told = outcome.stderr_text();
    assert_eq!(outcome.code, code, "{outcome:?}");
    assert!(words.iter().all(|word| told.contains(word)), "{words:?} in {outcome:?}");
    assert!(!told.contains("panicked"), "{outcome:?}");
}

fn run(program: &Path) -> Outcome {
    let scene = Scene::new();
    Target::new(&[program]).folder(scene.folder.path()).record_as(&["-q"])
}

#[test]
fn names_that_promise_something_else() {
    let scene = Scene::new();
    scene.refuses(&["-o", "-"], &["-o ./-", "standard output is the command's"]);
    scene.refuses(&["-o", "x.pb.gz"], &["lifetrace export -F pprof x.lt -o x.pb.gz"]);
    scene.refuses(&["-o", "x.json"], &["-o x.lt works", "--format lt"]);
    let outcome = scene.marker().record_as(&["-q", "-o", "x.json", "--format", "lt"]);
    expect(&outcome, 0, &[]);
    assert!(scene.path("x.json").exists());
}

#[test]
fn intervals_that_make_no_sense() {
    let scene = Scene::new();
    for value in
        ["0", "-1", "3.5", "potato", "", "0KiB", "1e3", "KiB", "99999999999999999999", "NaN"]
    {
        scene.refuses(&[&format!("--interval={value}")], &["--interval"]);
    }
}

#[test]
fn rates_that_make_no_sense() {
    let scene = Scene::new();
    for value in ["0", "-1", "3.5", "1.0001", "potato", "", "NaN", "inf", "-0.0"] {
        scene.refuses(&[&format!("--rate={value}")], &["--rate"]);
    }
}

#[test]
fn options_that_contradict_or_do_not_exist() {
    let scene = Scene::new();
    for sources in ["native", "ocaml"] {
        let both = ["--rate", "1", "--interval", "4KiB", "--sources", sources];
        scene.refuses(&both, &["--rate", "--interval"]);
    }
    scene.refuses(&["--sources", "all", "-o", "x.ctf"], &["Memtrace", "--sources"]);
    scene.refuses(
        &["--sources", "rubin"],
        &["--sources", "auto, native, ocaml, ruby, mmap and all"],
    );
    for limit in ["0", "1", "12289", "potato"] {
        scene.refuses(&["--stack-limit", limit], &["--stack-limit"]);
    }
    scene.refuses(&["--no-such-option"], &["--no-such-option"]);
    scene.refuses(&["--seed", "potato"], &["--seed"]);
}

#[test]
fn no_program_at_all() {
    let scene = Scene::new();
    let nothing: [&str; 0] = [];
    expect(&Target::new(&nothing).folder(scene.folder.path()).record_as(&["-q"]), 125, &[]);
}

#[test]
fn a_program_that_is_not_there() {
    expect(&run(Path::new("no-such-program-anywhere")), 127, &["no-such-program-anywhere"]);
    expect(&run(Path::new("/no/such/program")), 127, &["/no/such/program"]);
}

#[test]
fn a_program_that_cannot_be_executed() {
    let scene = Scene::new();
    let text = scene.path("text");
    fs::write(&text, "not a program\n").unwrap();
    expect(&run(&text), 126, &[text.to_str().unwrap()]);
    expect(&run(scene.folder.path()), 126, &[scene.folder.path().to_str().unwrap()]);
}

#[test]
fn a_statically_linked_program() {
    let program = fixture::c_static("ending");
    expect(&run(&program), 125, &[program.to_str().unwrap(), "static"]);
}

#[test]
fn a_setuid_program_of_another_user() {
    let scene = Scene::new();
    let program = scene.path("setuid");
    fs::copy("/bin/true", &program).unwrap();
    if chown(&program, Some(12345), None).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    expect(&run(&program), 125, &[program.to_str().unwrap(), "setuid"]);
}

#[test]
fn an_output_that_exists() {
    let scene = Scene::new();
    fs::write(scene.path("taken.ctf"), "precious").unwrap();
    scene.refuses(&["-o", "taken.ctf"], &["taken.ctf", "-f"]);
    assert_eq!(fs::read(scene.path("taken.ctf")).unwrap(), b"precious");
    let outcome = scene.marker().record_as(&["-f", "-o", "taken.ctf"]);
    expect(&outcome, 0, &["taken.ctf"]);
    assert_ne!(fs::read(scene.path("taken.ctf")).unwrap(), b"precious");
}

#[test]
fn an_output_that_cannot_be_written() {
    let scene = Scene::new();
    scene.refuses(&["-o", "no/such/folder/x.ctf"], &["no/such/folder"]);
    scene.refuses(&["-f", "-o", "."], &["."]);
    scene.refuses(&["-o", "%z.ctf"], &["%z"]);
}

/// The program is not to blame for the disk, and must not notice.
#[test]
fn a_full_disk() {
    let target = Target::new(&[&fixture::c("cross_thread_free")]);
    let outcome = target.record_as(&["-f", "-o", "/dev/full", "--rate", "1"]);
    assert_eq!(outcome.stdout, target.bare().stdout);
    expect(&outcome, 125, &["/dev/full", "No space left"]);
}
