//! `record --memtrace`, and what is said of sources that a program does not have.

use std::path::{Path, PathBuf};

use lifetrace_trace::lt;
use tempfile::TempDir;

use crate::support::fixture;
use crate::support::run::{Outcome, Target, files};

struct Scene {
    folder: TempDir,
}

fn golden() -> PathBuf {
    fixture::source("../traces/ocamlopt-1e-6.ctf")
}

impl Scene {
    fn new() -> Scene {
        Scene { folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, options: &[&str], arguments: &[&str]) -> Outcome {
        let program = fixture::c_exporting("memtrace");
        let target = Target::new(&[&program]).arguments(arguments).folder(self.folder.path());
        target.record_as(&[&["--memtrace"], options].concat())
    }

    fn files(&self) -> Vec<PathBuf> {
        files(self.folder.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn the_programs_own_trace_is_kept_in_its_format() {
    let scene = Scene::new();
    let golden = golden();
    let outcome = scene.run(&["-o", "x.ctf", "--rate", "1e-3"], &[golden.to_str().unwrap()]);
    assert_eq!((outcome.code, &*outcome.stdout), (7, &b"0.001 alone\n"[..]), "{outcome:?}");
    assert!(outcome.stderr_text().contains("lifetrace report x.ctf"), "{outcome:?}");
    assert_eq!(scene.files().len(), 1);
    assert_eq!(std::fs::read(scene.path("x.ctf")).unwrap(), std::fs::read(golden).unwrap());
}

#[test]
fn the_programs_own_trace_becomes_ours() {
    let scene = Scene::new();
    let outcome = scene.run(&["-q", "-o", "%e.lt"], &[golden().to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stderr_text().as_ref()), (7, ""), "{outcome:?}");
    assert!(outcome.stdout.starts_with(b"0.000001 "), "{outcome:?}");
    assert_eq!(scene.files().len(), 1, "{:?}", scene.files());
    let trace = std::fs::read(scene.path("memtrace.lt")).unwrap();
    let mut reader = lt::Reader::open(&trace[..]).unwrap();
    let mut items = 0;
    while reader.next().unwrap().is_some() {
        items += 1;
    }
    assert!(items > 400 && reader.is_complete());
}

#[test]
fn nothing_is_overwritten_unasked_and_nothing_is_lost() {
    let scene = Scene::new();
    std::fs::write(scene.path("x.ctf"), "precious").unwrap();
    let golden = golden();
    let outcome = scene.run(&["-o", "x.ctf"], &[golden.to_str().unwrap()]);
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr_text().contains("-f"), "{outcome:?}");
    assert_eq!(std::fs::read(scene.path("x.ctf")).unwrap(), b"precious");
    let outcome = scene.run(&["-f", "-o", "x.ctf"], &[golden.to_str().unwrap()]);
    assert_eq!(outcome.code, 7, "{outcome:?}");
    assert_eq!(std::fs::read(scene.path("x.ctf")).unwrap(), std::fs::read(golden).unwrap());
}

#[test]
fn a_program_that_writes_no_trace_is_told_of() {
    let scene = Scene::new();
    let outcome = scene.run(&["-o", "x.lt"], &[]);
    assert_eq!(outcome.code, 7, "{outcome:?}");
    assert!(outcome.stderr_text().contains("has written no trace"), "{outcome:?}");
    assert!(scene.files().is_empty());
}

#[test]
fn a_program_without_memtrace_is_refused() {
    let scene = Scene::new();
    let target = Target::new(&["touch", "mark"]).folder(scene.folder.path());
    let outcome = target.record_as(&["--memtrace", "-o", "x.lt"]);
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr_text().contains("has no Memtrace linked in"), "{outcome:?}");
    assert!(scene.files().is_empty(), "{:?}", scene.files());
}

#[test]
fn a_heap_that_is_not_there_is_told_of_in_the_trace_too() {
    let scene = Scene::new();
    let target = Target::new(&["true"]).folder(scene.folder.path());
    let told = "has no OCaml heap";
    let outcome = target.record_as(&["--sources", "ocaml", "-o", "x.lt"]);
    assert!(outcome.code == 0 && outcome.stderr_text().contains(told), "{outcome:?}");
    let report = crate::support::run::lifetrace();
    let report =
        std::process::Command::new(report).args(["report"]).arg(scene.path("x.lt")).output();
    assert!(String::from_utf8_lossy(&report.unwrap().stdout).contains(told));
    for sources in ["auto", "native", "all"] {
        let outcome = target.record_as(&["--sources", sources, "--rate", "1", "-f", "-o", "x.lt"]);
        assert!(outcome.code == 0 && !outcome.stderr_text().contains(told), "{outcome:?}");
        assert!(Path::new(&scene.path("x.lt")).is_file());
    }
}
