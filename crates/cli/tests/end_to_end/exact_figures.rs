//! Figures that are called exact are what the program says of itself, however it ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lifetrace_trace::fact::{Collector, Counters, Fact};

use crate::ocaml_facts::last_counters;
use crate::support::profile::facts_of;
use crate::support::run::{Recording, Target, file_name, lifetrace_verb};
use crate::support::{fixture, ocaml};

/// A minor heap, in words.
const MINOR_HEAP: u64 = 256 << 10;

/// Between what a program says of itself and its end, in words.
const LAST: u64 = 3_000;

/// What processes say of themselves, by their numbers.
fn said(recording: &Recording) -> Vec<HashMap<String, u64>> {
    let pair = |word: &str| {
        let (name, number) = word.split_once('=')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    let text = recording.outcome.stdout_text();
    text.lines().map(|line| line.split(' ').filter_map(pair).collect()).collect()
}

fn trace_of(recording: &Recording, process: &HashMap<String, u64>) -> PathBuf {
    let name = format!("ends.{}.lt", process["pid"]);
    let found = recording.traces().into_iter().find(|path| file_name(path) == name);
    found.unwrap_or_else(|| panic!("no {name}: {:?}", recording.traces()))
}

fn record(program: &Path, way: &str) -> Recording {
    Target::new(&[program]).arguments(&[way]).record(&["--rate", "1e-3"])
}

/// Of an OCaml 4 program.
fn check_collector(own: &HashMap<String, u64>, told: &Collector, behind: u64, way: &str) {
    let minor = own["minor_words"];
    let words = told.minor_words.unwrap();
    assert!((minor - behind.min(minor)..minor + LAST).contains(&words), "{way}: {told:?}, {own:?}");
    for (name, told) in [
        ("minor_collections", told.minor_collections),
        ("major_collections", told.major_collections),
    ] {
        // The last collection of the minor heap is followed by the end of the major ones that `full_major` makes.
        let later = if behind > 0 && name == "major_collections" { 3 } else { 0 };
        let least = own[name].saturating_sub(later);
        assert!((least..=own[name]).contains(&told.unwrap()), "{way}: {name} {told:?}, {own:?}");
    }
    assert_eq!(told.promoted_words.unwrap(), own["promoted_words"], "{way}");
}

#[test]
fn the_collectors_are_of_the_whole_process_or_say_until_when() {
    for way in ["exit", "_exit", "exec", "no_exec", "kill", "crash"] {
        let recording = record(&ocaml::native("ends"), way);
        let own = &said(&recording)[0];
        let facts = facts_of(&trace_of(&recording, own));
        let told = last_counters(&facts);
        let is_sudden = ["kill", "crash", "no_exec"].contains(&way);
        assert_eq!((told.is_behind, told.has_samplers_share), (is_sudden, false), "{way}");
        check_collector(own, told, if is_sudden { MINOR_HEAP } else { 0 }, way);
        let report = lifetrace_verb(&["report", trace_of(&recording, own).to_str().unwrap()]);
        let text = report.stdout_text().replace('\n', " ");
        assert_eq!(text.contains("up to the last minor collection"), is_sudden, "{way}: {text}");
        assert!(text.contains("Exactly"), "{way}: {text}");
    }
}

/// By exit and by `_exit`.
#[test]
fn the_collectors_of_a_forked_process_are_its_own() {
    let recording = record(&ocaml::native("ends"), "fork");
    let all = said(&recording);
    assert_eq!(all.len(), 3);
    for own in &all {
        let facts = facts_of(&trace_of(&recording, own));
        let told = last_counters(&facts);
        assert!(!told.is_behind, "{told:?}");
        check_collector(own, told, 0, "fork");
    }
}

#[test]
fn collections_are_counted_from_the_first() {
    let recording = record(&ocaml::native("ends"), "exit");
    let own = &said(&recording)[0];
    let trace = trace_of(&recording, own);
    let report = lifetrace_verb(&["report", "--view", "gc", "--json", trace.to_str().unwrap()])
        .stdout_text();
    let page: serde_json::Value = serde_json::from_str(&report).unwrap();
    let collections = page["collections"].as_array().unwrap_or_else(|| panic!("{page}"));
    for (generation, name) in [("minor", "minor_collections"), ("major", "major_collections")] {
        let of = collections.iter().find(|it| it["generation"] == generation).unwrap();
        assert_eq!(of["count"].as_u64(), Some(own[name]), "{of}");
    }
}

/// The highest of the process's memory that the trace has.
fn most_resident(facts: &[Fact]) -> u64 {
    let most = facts.iter().filter_map(|fact| match fact {
        Fact::Counters(Counters { most_resident, .. }) => *most_resident,
        _ => None,
    });
    most.max().expect("the memory is told").0
}

/// The kernel counts pages by processor, and adds up now and then.
#[test]
fn the_most_memory_is_the_kernels_own() {
    const SLACK_KIB: u64 = 1024;
    for way in ["exit", "_exit", "exec", "kill", "fork"] {
        let recording = record(&fixture::c("ends"), way);
        let all = said(&recording);
        assert_eq!(all.len(), if way == "fork" { 2 } else { 1 });
        for own in all {
            let told = most_resident(&facts_of(&trace_of(&recording, &own))) >> 10;
            let expected = own["peak"];
            assert!(told.abs_diff(expected) < SLACK_KIB, "{way}: told {told}, {expected} KiB");
        }
    }
}
