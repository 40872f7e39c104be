//! Ruby programs that do what a profiler of their objects trips over.
//!
//! As the [`hazards`](super::hazards), each runs bare, recorded exactly and recorded at a short interval. It must
//! look the same from outside; the exact traces must say, to the object, what the machine says itself.

use std::collections::HashMap;
use std::path::Path;

use lifetrace_trace::event::{Event, Source};
use lifetrace_trace::fact::Fact;

use crate::support::fixture;
use crate::support::hazard::same;
use crate::support::ledger::{self, Ledger, Totals};
use crate::support::profile::{assert_complete, facts_of, read_through};
use crate::support::reader::Reader;
use crate::support::run::{Recording, Target, lifetrace_verb};

const EXACT: &[&str] = &["--sources", "ruby", "--rate", "1"];
const RARE: &[&str] = &["--rate", "0.01", "--interval", "16KiB", "--seed", "1"];

/// By which Ruby makes an object of a class.
const NEW: &str = "Class#new";

fn program(name: &str) -> Target {
    let file = fixture::source(&format!("ruby/{name}.rb"));
    Target::new(&["ruby"]).arguments(&[file.to_str().unwrap()])
}

/// The objects that methods called `hazard_…` have made by [`NEW`].
fn made(trace: &Path) -> Ledger {
    let mut reader = Reader::open(trace);
    let (mut ledger, mut living) = (Ledger::new(), HashMap::new());
    while let Some(step) = reader.next() {
        match step.map(|(_, event)| event) {
            Some(Event::Allocation(allocation)) => {
                let codes = allocation.backtrace.to_vec();
                let id = allocation.id;
                assert_eq!((allocation.samples, allocation.source), (1, Source::Major));
                let mut names = codes.iter().rev().flat_map(|&code| reader.locations(code));
                let innermost = names.next().map(|it| &*it.defname);
                let hazard = names.find_map(|it| {
                    it.defname.rsplit(['#', '.', ' ']).next()?.strip_prefix("hazard_")
                });
                if let (Some(NEW), Some(hazard)) = (innermost, hazard) {
                    let name = format!("hazard_{hazard}");
                    let totals = ledger.entry(name.clone()).or_default();
                    totals.blocks += 1;
                    totals.words += 1;
                    totals.live += 1;
                    living.insert(id, name);
                }
            }
            Some(Event::Collection(id)) => {
                if let Some(name) = living.remove(&id) {
                    ledger.get_mut(&name).unwrap().live -= 1;
                }
            }
            Some(Event::Promotion(id)) => panic!("{id:?} was promoted"),
            None => {}
        }
    }
    ledger
}

/// The machine makes a few objects of its own where it first calls a method from.
fn is_near(found: &Totals, expected: &Totals) -> bool {
    const OWN: i64 = 16;
    let is_near = |found, expected| (expected..=expected + OWN).contains(&found);
    is_near(found.blocks, expected.blocks) && is_near(found.live, expected.live)
}

/// Runs a program in all three ways; returns the recorded runs.
fn check(name: &str, traces: usize) -> [Recording; 2] {
    let target = program(name);
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    let recordings = [target.record(EXACT), target.record(RARE)];
    for recording in &recordings {
        same(&bare, recording);
        assert_eq!(recording.traces().len(), traces, "{:?}", recording.traces());
        recording.traces().iter().for_each(|trace| assert_complete(trace));
    }
    let [exact, _] = &recordings;
    let mut found = Ledger::new();
    for trace in exact.traces() {
        for (name, totals) in made(&trace) {
            let sum = found.entry(name).or_default();
            sum.blocks += totals.blocks;
            sum.words += totals.words;
            sum.live += totals.live;
        }
    }
    for (function, expected) in ledger::expected(&bare.stdout_text()) {
        assert!(is_near(&found[&function], &expected), "{function}: {found:?}, {expected:?}");
    }
    recordings
}

#[test]
fn every_kind_of_method() {
    check("objects", 1);
}

#[test]
fn forks_of_a_preforking_server() {
    let [exact, _] = check("forks", 4);
    let children = exact.traces().into_iter().map(|trace| made(&trace));
    let totals: Vec<_> = children.filter_map(|it| it.get("hazard_child").copied()).collect();
    assert_eq!(totals.len(), 3);
    let expected = Totals { blocks: 2500, words: 2500, live: 1500, promoted: 0 };
    assert!(totals.iter().all(|it| is_near(it, &expected)), "{totals:?}");
}

#[test]
fn compaction_while_recording() {
    check("compaction", 1);
}

#[test]
fn threads_and_fibres() {
    check("threads", 1);
}

#[test]
fn code_that_is_made_and_dropped_and_deep_recursions() {
    check("generated", 1);
}

#[test]
fn collections_at_each_allocation_and_none_at_all() {
    check("stress", 1);
}

#[test]
fn others_who_listen_to_the_machine() {
    check("tools", 1);
}

#[test]
fn the_first_ractor_ends_the_objects() {
    let target = program("ractors");
    let bare = target.bare();
    for options in [EXACT, RARE] {
        let recording = target.record(options);
        let outcome = &recording.outcome;
        assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
        assert!(outcome.stderr_text().contains("has made a ractor"), "{outcome:?}");
        let facts = facts_of(&recording.traces()[0]);
        assert!(facts.contains(&Fact::Notice("ruby-ractors".into())));
    }
}

#[test]
fn mallocs_have_rubys_frames() {
    let target = program("mallocs");
    let bare = target.bare();
    let recording = target.record(&["--interval", "64KiB", "--rate", "0.001", "--seed", "1"]);
    same(&bare, &recording);
    let trace = recording.traces().remove(0);
    assert!(read_through(&trace).samples > 100);
    for (function, least) in
        [("hazard_string", 6e6), ("hazard_grown", 1.2e6), ("hazard_parsed", 1e5)]
    {
        let filter = format!("fn=Object#{function} and source=native");
        let page =
            lifetrace_verb(&["report", "--json", "--filter", &filter, trace.to_str().unwrap()]);
        assert_eq!(page.code, 0, "{page:?}");
        let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
        let bytes = page["totals"]["allocated"]["bytes"].as_f64().unwrap();
        assert!(bytes > 0.7 * least, "{function}: {bytes}");
    }
}

#[test]
fn a_killed_program_has_left_its_objects() {
    let code = "def hazard_kept(n) = Array.new(n) { Object.new }; k = hazard_kept(3000); \
                $stdout.write(k.size.to_s); $stdout.flush; Process.kill(:KILL, $$)";
    let target = Target::new(&["ruby"]).arguments(&["-e", code]);
    let recording = target.record(EXACT);
    assert_eq!(recording.outcome.stdout_text(), "3000");
    let summary = read_through(&recording.traces()[0]);
    assert!(summary.samples >= 3000);
}
