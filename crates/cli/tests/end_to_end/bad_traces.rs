//! Files that are no traces, or no longer whole, given to every verb that reads one.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::fixture;
use crate::support::run::{Outcome, Target, lifetrace_verb};

fn verbs(file: &Path, folder: &TempDir) -> Vec<(&'static str, Outcome)> {
    let file = file.to_str().unwrap();
    let copy = folder.path().join("copy.ctf");
    let copy = copy.to_str().unwrap();
    let outcomes = vec![
        ("report", lifetrace_verb(&["report", file])),
        ("info", lifetrace_verb(&["info", file])),
        ("dump", lifetrace_verb(&["dump", file])),
        ("convert", lifetrace_verb(&["convert", file, copy])),
    ];
    let _ = fs::remove_file(copy);
    outcomes
}

/// Every verb must fail, name the file and say `words`.
fn refused(folder: &TempDir, file: &Path, words: &[&str]) {
    for (verb, outcome) in verbs(file, folder) {
        let told = outcome.stderr_text();
        assert!((1..=125).contains(&outcome.code) && outcome.code != 101, "{verb}: {outcome:?}");
        assert!(told.contains(file.to_str().unwrap()), "{verb}: {outcome:?}");
        assert!(words.iter().all(|word| told.contains(word)), "{verb}: {words:?} in {outcome:?}");
    }
}

fn file_of(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("bad.ctf");
    fs::write(&path, bytes).unwrap();
    path
}

/// A good trace of some packets.
fn good() -> Vec<u8> {
    let recording = Target::new(&[&fixture::cpp("exceptions")])
        .record(&["--rate", "1", "--format", "memtrace"]);
    fs::read(recording.trace_of("exceptions")).unwrap()
}

#[test]
fn files_that_are_no_traces() {
    let folder = tempfile::tempdir().unwrap();
    refused(&folder, &file_of(&folder, b""), &["empty"]);
    refused(&folder, &file_of(&folder, b"once upon a time there was a text of some length\n"), &[]);
    refused(&folder, &file_of(&folder, &[0; 100_000]), &[]);
    refused(&folder, Path::new("/bin/true"), &["ELF"]);
    refused(&folder, folder.path(), &["directory"]);
    refused(&folder, &folder.path().join("missing.ctf"), &["No such file"]);
}

#[test]
fn a_trace_of_a_version_to_come() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = good();
    // The version is the last of a packet header's first 30 bytes.
    assert_eq!(bytes[28..30], [3, 0]);
    bytes[28] = 99;
    refused(&folder, &file_of(&folder, &bytes), &["version", "99"]);
}

#[test]
fn a_trace_that_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let whole = good();
    for length in [1, 20, 60, whole.len() / 2, whole.len() - 1] {
        refused(&folder, &file_of(&folder, &whole[..length]), &[]);
    }
}

/// What was before the damage is used all the same.
#[test]
fn a_cut_trace_gives_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let whole = good();
    let file = file_of(&folder, &whole[..whole.len() - 1]);
    let outcome = lifetrace_verb(&["report", file.to_str().unwrap()]);
    assert!(outcome.stdout_text().contains("hazard_throw"), "{outcome:?}");
    assert_ne!(outcome.code, 0);
}

/// Every byte of a trace changed in turn: whatever the verb makes of it, it ends in order.
#[test]
fn a_trace_with_a_changed_byte() {
    let folder = tempfile::tempdir().unwrap();
    let whole = good();
    for position in (0..whole.len()).step_by(whole.len() / 60 + 1) {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x55;
        let file = file_of(&folder, &bytes);
        let outcome = lifetrace_verb(&["report", file.to_str().unwrap()]);
        assert!(
            (0..=125).contains(&outcome.code) && outcome.code != 101,
            "byte {position}: {outcome:?}"
        );
    }
}
