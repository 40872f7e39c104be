//! What traces of OCaml programs tell beside the lives of blocks, and what their backtraces tell beside places.

use std::collections::HashMap;
use std::path::Path;

use lifetrace_trace::event::{DESERIALISED_NAME, LEFT_OUT_NAME, Source};
use lifetrace_trace::fact::{Collector, Fact, Generation};

use crate::support::births::{self, Birth};
use crate::support::ocaml;
use crate::support::profile::facts_of;
use crate::support::run::Target;

/// The program writes its counters just before it ends, so the trace's last ones are the same but for that.
#[test]
fn the_collectors_counters_and_cycles() {
    check_counters(&ocaml::native("ledger"), 0);
}

/// The collector's, as they were told last.
pub fn last_counters(facts: &[Fact]) -> &Collector {
    let told = facts.iter().rev().find_map(|fact| match fact {
        Fact::Collector(collector) => Some(collector),
        _ => None,
    });
    told.expect("the collector's counters are told")
}

/// Words of the major heap may be `behind` by so many.
pub fn check_counters(ledger: &Path, behind: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    let target = Target::new(&[ledger]).arguments(&[file.to_str().unwrap()]);
    let facts = facts_of(&target.record(&["--rate", "1e-6"]).traces()[0]);
    let text = std::fs::read_to_string(&file).unwrap();
    let own: HashMap<&str, u64> = text
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, number)| (name, number.parse().unwrap()))
        .collect();
    let told = last_counters(&facts);
    for (name, told, slack) in [
        ("minor_words", told.minor_words, 2_000),
        ("promoted_words", told.promoted_words, 2_000),
        ("major_words", told.major_words.map(|words| words + behind), behind + 2_000),
        ("minor_collections", told.minor_collections, 1),
        ("major_collections", told.major_collections, 1),
        ("compactions", told.compactions, 0),
        ("young_heap_words", told.young_heap_words, 0),
    ] {
        let (told, own) = (told.unwrap(), own[name]);
        assert!((own..=own + slack).contains(&told), "{name}: told {told}, the program's {own}");
    }
    let cycles = |generation: Generation| {
        facts.iter().filter_map(move |fact| match fact {
            Fact::Cycle(cycle) if cycle.generation == generation => Some(cycle.number),
            _ => None,
        })
    };
    for (name, generation) in
        [("minor_collections", Generation::Minor), ("major_collections", Generation::Major)]
    {
        let own = own[name];
        assert!(cycles(generation).is_sorted(), "{name}");
        let last = cycles(generation).next_back();
        assert!(
            last.is_some_and(|last| (own..=own + 1).contains(&last)),
            "{name}: {last:?}, {own}"
        );
    }
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

/// Of a backtrace that is too deep both ends are kept, and what is missing is marked. The rate is one at which
/// the runtime's own walk is bounded to more frames than the stack has.
#[test]
fn a_limit_of_frames() {
    const LIMIT: usize = 500;
    let target = Target::new(&[&ocaml::native("deep")]).arguments(&["80000"]);
    let recording = target.record(&["--rate", "1e-4", "--stack-limit", "500"]);
    let births = births::of(&recording.traces()[0]);
    let in_deep = |birth: &&Birth| birth.functions().last() == Some("Deep.hazard_deep");
    let deep: Vec<&Birth> = births.iter().filter(in_deep).collect();
    assert!(deep.len() > 5, "{}", deep.len());
    for birth in deep {
        let outermost = birth.functions().next().unwrap();
        let cuts = birth.functions().filter(|name| *name == LEFT_OUT_NAME).count();
        let frames = birth.frames.len();
        assert_eq!((cuts, frames), (1, LIMIT), "{outermost}");
        assert!(!["Deep.hazard_deep", LEFT_OUT_NAME].contains(&outermost), "{outermost}");
    }
}

/// Blocks whose callbacks come after a fork are born twice: they are the parent's.
#[test]
fn blocks_of_c_code_that_forks() {
    let target = Target::new(&[&ocaml::native("fork_in_c")]);
    let (bare, recording) = (target.bare(), target.record(&["--rate", "1"]));
    assert_eq!(recording.outcome, bare);
    let births: Vec<Vec<Birth>> = recording.traces().iter().map(|it| births::of(it)).collect();
    let is_of_c = |birth: &&Birth| birth.functions().last() == Some("Fork_in_c.hazard_in_c");
    let mut of_c: Vec<usize> =
        births.iter().map(|births| births.iter().filter(is_of_c).count()).collect();
    of_c.sort_unstable();
    assert_eq!(of_c, [0, 5]);
    let mut functions = births.iter().flatten().flat_map(Birth::functions);
    assert!(functions.all(|name| !name.contains("unnamed")));
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
        // They are called as in the backtraces of OCaml's own blocks.
        assert!(!functions.iter().any(|name| name.starts_with("camlStubs")), "{functions:?}");
    }
}
