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
use crate::support::pprof::decoded;
use crate::support::profile::{assert_complete, facts_of, read_through};
use crate::support::reader::Reader;
use crate::support::ruby::ruby;
use crate::support::run::{Recording, Target, lifetrace_verb};

const EXACT: &[&str] = &["--sources", "ruby", "--rate", "1"];
const RARE: &[&str] = &["--rate", "0.01", "--interval", "16KiB", "--seed", "1"];

/// By which Ruby makes an object of a class, and of which class the fixtures' own are.
const NEW: &str = "Class#new";
const THING: &str = "[class Thing]";

fn program(name: &str) -> Target {
    let file = fixture::source(&format!("ruby/{name}.rb"));
    ruby().arguments(&[file.to_str().unwrap()])
}

/// The things that methods called `hazard_…` have made by [`NEW`].
fn made(trace: &Path) -> Ledger {
    let mut reader = Reader::open(trace);
    let (mut ledger, mut living) = (Ledger::new(), HashMap::new());
    while let Some(step) = reader.next() {
        match step.map(|(_, event)| event) {
            Some(Event::Allocation(allocation)) => {
                let codes = allocation.backtrace.to_vec();
                let id = allocation.id;
                assert_eq!((allocation.samples, allocation.source), (1, Source::Minor));
                let mut names = codes.iter().rev().flat_map(|&code| reader.locations(code));
                let mut next = || names.next().map(|it| &*it.defname);
                let is_thing = next() == Some(THING) && next() == Some(NEW);
                let hazard = names.find_map(|it| {
                    it.defname.rsplit(['#', '.', ' ']).next()?.strip_prefix("hazard_")
                });
                if let (true, Some(hazard)) = (is_thing, hazard) {
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
            Some(Event::Promotion(id)) => {
                if let Some(name) = living.get(&id) {
                    ledger.get_mut(name).unwrap().promoted += 1;
                }
            }
            None => {}
        }
    }
    ledger
}

/// All births are there, and all deaths but of what a stack may still refer to. What lives to the end has survived the
/// collections that a fixture asks for, so most of it is old.
fn is_as_expected(found: &Totals, expected: &Totals) -> bool {
    let is_alive = (expected.live..=expected.live + 2).contains(&found.live);
    found.blocks == expected.blocks && is_alive && found.promoted <= found.blocks
}

fn check(name: &str, traces: usize) -> [Recording; 2] {
    check_target(&program(name), traces)
}

/// Runs a program in all three ways; returns the recorded runs.
fn check_target(target: &Target, traces: usize) -> [Recording; 2] {
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
        assert!(
            is_as_expected(&found[&function], &expected),
            "{function}: {found:?}, {expected:?}"
        );
    }
    recordings
}

#[test]
fn every_kind_of_method() {
    check("objects", 1);
}

/// What Ruby's objects are estimated to be, from and to, and what Ruby itself has counted of them.
fn estimated_and_counted(trace: &Path) -> ([f64; 2], f64) {
    let page = |filter: &str| -> serde_json::Value {
        let page =
            lifetrace_verb(&["report", "--json", "--filter", filter, trace.to_str().unwrap()]);
        serde_json::from_str(&page.stdout_text()).unwrap()
    };
    let page = page("source=ruby");
    let bound = |name: &str| page["totals"]["allocated"][name].as_f64().unwrap();
    let counted = &page["trace"]["facts"]["runtime_counts"]["total_allocated_objects"];
    let counted = counted["last"].as_f64().unwrap() - counted["first"].as_f64().unwrap();
    ([bound("objects_low95"), bound("objects_high95")], counted)
}

#[test]
fn what_ruby_has_counted_is_within_the_interval() {
    let target = program("objects");
    let sampled = target.record(&["--sources", "ruby", "--rate", "0.02", "--seed", "1"]);
    let ([low, high], counted) = estimated_and_counted(&sampled.traces()[0]);
    assert!(low < counted && counted < high, "{low} {counted} {high}");
    // What is made to name frames is counted by Ruby alone.
    let exact = target.record(EXACT);
    let ([found, _], counted) = estimated_and_counted(&exact.traces()[0]);
    assert!(found <= counted && counted < 1.05 * found, "{found} {counted}");
}

#[test]
fn what_objects_took_in_the_end_is_told_to_the_byte() {
    let target = program("sizes");
    let bare = target.bare();
    let recording = target.record(EXACT);
    same(&bare, &recording);
    let trace = recording.traces().remove(0);
    for line in bare.stdout_text().lines() {
        let [function, objects, bytes] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let class = match function.split('_').next().unwrap() {
            "strings" => "String",
            "arrays" => "Array",
            "hashes" => "Hash",
            _ => "Pair",
        };
        let filter = format!("fn=Object#{function} class={class}");
        let view = ["--view", "classes", "--json", "--no-machinery", "--filter", &filter];
        let page = lifetrace_verb(&[&["report", trace.to_str().unwrap()], &view[..]].concat());
        let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
        let held = &page["classes"][0]["held"];
        let found = ["objects", "bytes"].map(|name| held[name].as_f64().unwrap());
        let mut expected = [objects, bytes].map(|number| number.parse::<f64>().unwrap());
        // The array that they are in.
        if class == "Array" {
            expected[0] += 1.0;
            expected[1] = found[1].clamp(expected[1], expected[1] + 4096.0);
        }
        assert_eq!(found, expected, "{function}: {page}");
        let export = ["export", trace.to_str().unwrap(), "-F", "pprof", "-o", "-"];
        let rmp = ["--pprof-types", "rmp", "--filter", &filter];
        let profile = decoded(&lifetrace_verb(&[&export[..], &rmp].concat()).stdout);
        let retained = [0, 1].map(|at| profile.sample.iter().map(|it| it.value[at]).sum::<i64>());
        let is_dropped = function.ends_with("_dropped");
        let expected = if is_dropped { [0, 0] } else { found.map(|number| number as i64) };
        assert_eq!(retained, expected, "{function}");
    }
}

#[test]
fn forks_of_a_preforking_server() {
    let [exact, _] = check("forks", 4);
    let children = exact.traces().into_iter().map(|trace| made(&trace));
    let totals: Vec<_> = children.filter_map(|it| it.get("hazard_child").copied()).collect();
    assert_eq!(totals.len(), 3);
    let expected = Totals { blocks: 2500, words: 2500, live: 1500, promoted: 0 };
    assert!(totals.iter().all(|it| is_as_expected(it, &expected)), "{totals:?}");
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
fn old_objects_that_die() {
    let [exact, _] = check("generations", 1);
    let totals = made(&exact.traces()[0]);
    assert!(totals["hazard_old"].promoted >= 2000, "{totals:?}");
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
fn finalisers_weak_references_signals_and_what_is_left_to_the_end() {
    check("weak", 1);
}

#[test]
fn a_program_in_c_that_has_a_ruby() {
    // Others than the system's are not there to be linked to.
    if std::env::var_os("LIFETRACE_RUBY").is_none() {
        check_target(&Target::new(&[&fixture::c_with_ruby("embedded")]), 1);
    }
}

#[test]
fn a_child_that_is_not_recorded_is_left_alone() {
    let target = program("unfollowed");
    let bare = target.bare();
    assert_eq!(bare.stdout_text(), "400000\n7\n");
    let recording = target.record(&[EXACT, &["--no-children"]].concat());
    same(&bare, &recording);
    assert_eq!(recording.traces().len(), 1);
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
    let recording = target.record(&["--interval", "1KiB", "--rate", "0.001", "--seed", "1"]);
    same(&bare, &recording);
    let trace = recording.traces().remove(0);
    assert!(read_through(&trace).samples > 1000);
    for (function, least) in
        [("hazard_string", 6e6), ("hazard_grown", 1.2e6), ("hazard_parsed", 1.5e6)]
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
fn the_interpreters_own_frames_are_shown_when_asked_for() {
    let target = program("mallocs");
    let options = ["--interval", "4KiB", "--seed", "1"];
    let has_own = |more: &[&str]| {
        let recording = target.record(&[&options[..], more].concat());
        let trace = recording.traces().remove(0);
        let filter = "fn=Object#hazard_string module:libruby";
        let page =
            lifetrace_verb(&["report", "--json", "--filter", filter, trace.to_str().unwrap()]);
        let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
        page["totals"]["allocated"]["bytes"].as_f64().unwrap() > 1e6
    };
    assert!(!has_own(&[]) && has_own(&["--native-frames"]));
}

#[test]
fn frames_of_a_ruby_that_compiles_come_once() {
    let file = fixture::source("ruby/mallocs.rb");
    let target = ruby().arguments(&["--yjit", file.to_str().unwrap()]);
    if target.bare().code != 0 {
        eprintln!("skipped: this Ruby cannot compile");
        return;
    }
    let recording = target.record(&["--interval", "4KiB", "--seed", "1"]);
    let trace = recording.traces().remove(0);
    let filter = "fn=Object#hazard_string source=native";
    let page = lifetrace_verb(&["report", "--json", "--filter", filter, trace.to_str().unwrap()]);
    let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
    let frames = page["callsites"][0]["hottest_backtrace"]["frames"].as_array().unwrap();
    let names: Vec<_> = frames.iter().map(|frame| frame["function"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["String#*", "Object#hazard_string"], "{names:?}");
}

/// It keeps translations of the machine's code, whose beginning we change and put back.
#[test]
fn in_valgrind() {
    if std::env::var_os("LIFETRACE_RUBY").is_none() {
        let code = "def hazard(n) = Array.new(n) { Object.new }; puts hazard(100).size";
        let words = ["valgrind", "--tool=none", "-q", "ruby", "--disable-gems", "-e", code];
        let recording = Target::new(&words).record(&["--rate", "1", "--sources", "ruby"]);
        let outcome = &recording.outcome;
        assert_eq!((outcome.code, &*outcome.stdout_text()), (0, "100\n"), "{outcome:?}");
    }
}

#[test]
fn the_leak_of_a_server_is_named_at_its_line() {
    // A verdict rests on collections of old objects, of which there are few: so it takes many visits.
    let recording = program("shop").arguments(&["60000"]).record(&[
        "--rate",
        "0.02",
        "--interval",
        "32KiB",
        "--seed",
        "1",
    ]);
    assert_eq!(recording.outcome.stdout_text(), "closed\n");
    let trace = recording.traces().remove(0);
    let page = lifetrace_verb(&["report", "--json", "--view", "leaks", trace.to_str().unwrap()]);
    let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
    let (verdict, leak) = (&page["verdict"], &page["callsites"][0]);
    assert_eq!((verdict, &leak["kind"]), (&"leaks".into(), &"leak".into()), "{page:#}");
    assert_eq!((&leak["function"], &leak["line"]), (&"Object#remember".into(), &8.into()));
    assert!(leak["file"].as_str().unwrap().ends_with("ruby/shop.rb"), "{leak}");
}

#[test]
fn a_killed_program_has_left_its_objects() {
    let code = "def hazard_kept(n) = Array.new(n) { Object.new }; k = hazard_kept(3000); \
                $stdout.write(k.size.to_s); $stdout.flush; Process.kill(:KILL, $$)";
    let target = ruby().arguments(&["-e", code]);
    let recording = target.record(EXACT);
    assert_eq!(recording.outcome.stdout_text(), "3000");
    let summary = read_through(&recording.traces()[0]);
    assert!(summary.samples >= 3000);
}
