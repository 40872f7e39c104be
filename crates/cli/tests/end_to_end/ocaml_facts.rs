//! What traces of OCaml programs tell beside the lives of blocks, and what their backtraces tell beside places.

use std::collections::HashMap;

use lifetrace_trace::event::{DESERIALISED_NAME, LEFT_OUT_NAME, Source};
use lifetrace_trace::fact::{Fact, Generation};

use crate::support::births::{self, Birth};
use crate::support::ocaml;
use crate::support::profile::facts_of;
use crate::support::run::Target;

/// The program writes its counters just before it ends, so the trace's last ones are the same but for that.
#[test]
fn the_collectors_counters_and_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    let target = Target::new(&[&ocaml::native("ledger")]).arguments(&[file.to_str().unwrap()]);
    let facts = facts_of(&target.record(&["--rate", "1e-6"]).traces()[0]);
    let text = std::fs::read_to_string(&file).unwrap();
    let own: HashMap<&str, u64> = text
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, number)| (name, number.parse().unwrap()))
        .collect();
    let told = facts.iter().rev().find_map(|fact| match fact {
        Fact::Collector(collector) => Some(collector),
        _ => None,
    });
    let told = told.expect("the collector's counters are told");
    for (name, told, slack) in [
        ("minor_words", told.minor_words, 2_000),
        ("promoted_words", told.promoted_words, 2_000),
        ("major_words", told.major_words, 2_000),
        ("minor_collections", told.minor_collections, 1),
        ("major_collections", told.major_collections, 1),
        ("compactions", told.compactions, 0),
    ] {
        let (told, own) = (told.unwrap(), own[name]);
        assert!((own..=own + slack).contains(&told), "{name}: told {told}, the program's {own}");
    }
    let began = |generation: Generation| {
        let begins = |fact: &&Fact| matches!(fact, Fact::Cycle(it) if it.begins && it.generation == generation);
        facts.iter().filter(begins).count() as u64
    };
    let collections = own["minor_collections"];
    assert!((collections..=collections + 1).contains(&began(Generation::Minor)), "{collections}");
}

#[test]
fn the_runtime_and_its_version() {
    for sources in ["auto", "ocaml", "all"] {
        let target = Target::new(&[&ocaml::native("plain")]);
        let recording = target.record(&["--interval", "4KiB", "--sources", sources]);
        let facts = facts_of(&recording.traces()[0]);
        let process = facts.iter().rev().find_map(|fact| match fact {
            Fact::Process(process) => Some(process),
            _ => None,
        });
        let process = process.expect("a trace tells of its process");
        let version: Vec<&str> = process.runtime_version.split('.').collect();
        assert_eq!(&*process.runtime, "ocaml", "--sources {sources}");
        assert!(["4", "5"].contains(&version[0]) && version.len() >= 2, "{version:?}");
    }
}

#[test]
fn blocks_that_were_read_say_so() {
    let recording = Target::new(&[&ocaml::native("marshal")]).record(&["--rate", "1"]);
    let births = births::of(&recording.traces()[0]);
    let count = |function: &str| {
        let is = |birth: &&Birth| {
            birth.functions().last() == Some(DESERIALISED_NAME)
                && birth.functions().any(|name| name == function)
        };
        births.iter().filter(is).count()
    };
    assert_eq!(count("Marshal.hazard_read_small"), 100 * 50);
    assert_eq!(count("Marshal.hazard_read_large"), 5 * 5_000);
    assert_eq!(count("Marshal.hazard_read_file"), 3_000);
}

/// Of a backtrace that is too deep both ends are kept, and what is missing is marked.
#[test]
fn a_limit_of_frames() {
    const LIMIT: usize = 500;
    let target = Target::new(&[&ocaml::native("deep")]).arguments(&["3000"]);
    let recording = target.record(&["--rate", "0.01", "--stack-limit", "500"]);
    let births = births::of(&recording.traces()[0]);
    let in_deep = |birth: &&Birth| birth.functions().last() == Some("Deep.hazard_deep");
    let deep: Vec<&Birth> = births.iter().filter(in_deep).collect();
    assert!(deep.len() > 20, "{}", deep.len());
    assert!(deep.iter().all(|birth| birth.frames.len() <= LIMIT + 1));
    let cut = |birth: &&&Birth| birth.functions().any(|name| name == LEFT_OUT_NAME);
    let cut: Vec<_> = deep.iter().filter(cut).collect();
    assert!(cut.len() > 10 && cut.len() < deep.len(), "{} of {}", cut.len(), deep.len());
    assert!(cut.iter().all(|birth| birth.functions().any(|name| name == "Deep")), "{:?}", cut[0]);
}

/// C code that OCaml code calls: the backtrace of its malloc runs through both.
#[test]
fn mallocs_of_c_code_that_ocaml_code_has_called() {
    let target = Target::new(&[&ocaml::native("stubs")]);
    let recording = target.record(&["--rate", "1", "--sources", "all"]);
    let births = births::of(&recording.traces()[0]);
    let of_library = |birth: &&Birth| {
        birth.source == Source::External && birth.functions().last() == Some("stub_library")
    };
    let held: Vec<&Birth> = births.iter().filter(of_library).collect();
    assert_eq!(held.len(), 200);
    for birth in held {
        let functions: Vec<&str> = birth.functions().collect();
        let at = functions.iter().position(|name| name.contains("hazard_held_by_c"));
        let stub = functions.iter().position(|name| *name == "stub_hold");
        assert!(at.is_some() && at < stub, "{functions:?}");
    }
}
