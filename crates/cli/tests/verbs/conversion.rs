//! `convert`.

use std::fs;

use tempfile::TempDir;

use crate::*;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        argument(&self.0.path().join(name)).to_owned()
    }
}

#[test]
fn a_copy_has_the_same_bytes() {
    let place = Place::new();
    let copy = place.path("copy.ctf");
    for trace in [SMALL, "server-1e-5.ctf"] {
        stdout(&["convert", "-f", trace, &copy]);
        assert!(fs::read(traces().join(trace)).unwrap() == fs::read(&copy).unwrap(), "{trace}");
    }
}

#[test]
fn older_versions_have_the_same_events() {
    let place = Place::new();
    for version in ["1", "2"] {
        let old = place.path(version);
        stdout(&["convert", SMALL, &old, "--memtrace-version", version]);
        assert_eq!(json(&["info", &old, "--json"])["trace"]["format_version"].to_string(), version);
        assert!(stdout(&["dump", SMALL]) == stdout(&["dump", &old]), "version {version}");
    }
}

fn check_refused(arguments: &[&str], complaint: &str) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(text(&output.stderr).contains(complaint), "{}", text(&output.stderr));
}

#[test]
fn nothing_is_overwritten_unasked() {
    let place = Place::new();
    let target = place.path("precious");
    fs::write(&target, "data").unwrap();
    check_refused(&["convert", SMALL, &target], "use -f");
    assert_eq!(fs::read(&target).unwrap(), b"data");
    stdout(&["convert", SMALL, &target, "-f"]);
    assert_eq!(fs::read(&target).unwrap().len(), 137_067);
}

#[test]
fn a_trace_is_not_converted_onto_itself() {
    let place = Place::new();
    let (trace, hard, soft) = (place.path("trace"), place.path("hard"), place.path("soft"));
    fs::copy(traces().join(SMALL), &trace).unwrap();
    fs::hard_link(&trace, &hard).unwrap();
    std::os::unix::fs::symlink(&trace, &soft).unwrap();
    for alias in [&trace, &hard, &soft] {
        check_refused(&["convert", "-f", &trace, alias], "is the input itself");
    }
    assert_eq!(fs::read(&trace).unwrap().len(), 137_067);
}

#[test]
fn a_full_disk_is_reported_with_what_was_saved() {
    check_refused(
        &["convert", SMALL, "/dev/full", "-f"],
        "/dev/full: after 0 bytes: No space left",
    );
}

#[test]
fn bad_places_are_named() {
    let place = Place::new();
    check_refused(&["convert", SMALL, &place.path("no/such/folder")], "no/such/folder");
    check_refused(&["convert", SMALL, &place.path("")], "is a directory");
}

#[test]
fn what_could_be_read_of_a_damaged_trace_is_kept() {
    let place = Place::new();
    let (cut, saved) = (place.path("cut"), place.path("saved"));
    let whole = fs::read(traces().join(SMALL)).unwrap();
    fs::write(&cut, &whole[..100_000]).unwrap();
    check_refused(&["convert", &cut, &saved], "byte 100000: the file ends");
    let events = |trace: &str| text(&run(&["dump", trace]).stdout);
    assert!(events(&saved) == events(&cut));
    assert!(events(&saved).lines().count() > 1000);
}
