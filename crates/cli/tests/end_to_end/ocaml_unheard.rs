//! OCaml programs whose heap cannot be sampled, or not all the time: they run as they do bare, and we say why.

use std::path::Path;

use crate::support::ocaml;
use crate::support::profile::assert_complete;
use crate::support::run::{Outcome, Target};

/// Runs it bare and recorded; standard error is ours then, and has `words`.
fn told(target: &Target, words: &[&str]) -> Outcome {
    let bare = target.bare();
    assert_ne!(bare.code, 99, "the fixture itself is wrong: {bare:?}");
    let recording = target.record(&["--interval", "4KiB"]);
    let outcome = recording.outcome;
    assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
    let said = outcome.stderr_text();
    assert!(words.iter().all(|word| said.contains(word)), "{words:?} in {outcome:?}");
    outcome
}

#[test]
fn bytecode() {
    told(&Target::new(&[&ocaml::bytecode("plain")]), &["bytecode"]);
    told(&Target::new(&[&ocaml::custom_bytecode("plain")]), &["bytecode"]);
}

#[test]
fn a_c_program_that_keeps_its_symbols_to_itself() {
    told(&Target::new(&[&ocaml::embedded("embedding", "embedded", false)]), &["-rdynamic"]);
}

#[test]
fn a_static_program() {
    let program = ocaml::native_with("plain", "plain-static", &["-ccopt", "-static"]);
    let outcome = Target::new(&[&program]).record_as(&["-q"]);
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr_text().contains("statically linked"), "{outcome:?}");
}

/// It hears all that it would hear without us.
#[test]
fn a_program_that_samples_its_own_heap() {
    check_own_memprof(&ocaml::native("own_memprof"));
}

pub fn check_own_memprof(program: &Path) {
    for how in ["stopped", "unstopped", "again", "twice", "late"] {
        let target = Target::new(&[program]).arguments(&[how]);
        told(&target, &["Gc.Memprof"]);
        for trace in target.record(&["--rate", "1"]).traces() {
            assert_complete(&trace);
        }
    }
}
