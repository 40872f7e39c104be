//! Which of the types that a program declares its blocks are of.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::snapshots_of_ocaml::{at_exit, snapshots};
use crate::support::ocaml;
use crate::support::run::{Outcome, lifetrace_verb};

fn heap(snapshot: &Path, types: &Path, options: &[&str]) -> Outcome {
    let [snapshot, types] = [snapshot, types].map(|it| it.to_str().unwrap());
    let words = [&["heap", snapshot, "--types-from", types], options].concat();
    lifetrace_verb(&words)
}

/// As many blocks of each type as `typed.ml` says there are have its name, and no others have.
pub fn check_typed(program: &Path, types: &Path) {
    let recording = at_exit(program);
    let [ref snapshot] = snapshots(&recording)[..] else { panic!("{:?}", recording.traces()) };
    let answer = heap(snapshot, types, &["--view", "types", "--top", "1000", "--json"]);
    assert_eq!((answer.code, &*answer.stderr_text()), (0, ""));
    let document: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let named = |it: &&Value| it["by_shape"].is_u64();
    let found: BTreeMap<&str, u64> = document["types"]
        .as_array()
        .unwrap()
        .iter()
        .filter(named)
        .map(|it| (it["type"].as_str().unwrap(), it["objects"].as_u64().unwrap()))
        .filter(|(name, _)| name.contains("Typed."))
        .collect();
    let printed = recording.outcome.stdout_text();
    let truth: BTreeMap<&str, u64> = printed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(number, name)| (name, number.parse().unwrap()))
        .filter(|&(_, number)| number > 0)
        .collect();
    assert!(truth.len() > 8, "{printed}");
    assert_eq!(found, truth);
    check_block(snapshot, types);
}

/// One of them is shown with its fields' names, and with how it is known.
fn check_block(snapshot: &Path, types: &Path) {
    let block = heap(snapshot, types, &["--view", "block", "--class", "Typed.wallet"]);
    let text = block.stdout_text();
    assert!(text.starts_with("Typed.wallet  0x"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "By its shape it is: Typed.wallet. No other of ",
        "Its fields: owner, total, first, rest, notes.",
        "Typed.named ",
        "field 0 (owner)",
        "field 3 (rest)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let holding = heap(snapshot, types, &["--view", "holding", "--class", "Typed.named"]);
    assert!(holding.stdout_text().contains("field 0 (owner)"), "{}", holding.stdout_text());
}

#[test]
fn blocks_are_called_by_the_only_type_that_they_may_be_of() {
    check_typed(&ocaml::native("typed"), ocaml::types("typed").path());
}
