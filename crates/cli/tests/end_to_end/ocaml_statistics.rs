//! What is sampled of OCaml programs is what the runtime counts, within the bounds that sampling has.

use std::collections::HashMap;
use std::path::Path;

use lifetrace_analysis::estimate::Estimate;
use lifetrace_trace::event::Source;

use crate::support::births;
use crate::support::blocks::{self, Block};
use crate::support::profile::read_through;
use crate::support::run::{Recording, Target};
use crate::support::{deviation, fixture, ocaml};

/// One in two million estimates is further off.
const SIGMAS: f64 = 5.0;

/// A run of the fixture `ledger`, and what the collector has counted in it.
fn ledger(options: &[&str]) -> (Recording, HashMap<String, f64>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    let target = Target::new(&[&ocaml::native("ledger")]).arguments(&[file.to_str().unwrap()]);
    let recording = target.record(options);
    assert_eq!(recording.outcome.code, 0, "{:?}", recording.outcome);
    (recording, counters(&file))
}

fn bare_counters() -> HashMap<String, f64> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    let target = Target::new(&[&ocaml::native("ledger")]).arguments(&[file.to_str().unwrap()]);
    assert_eq!(target.bare().code, 0);
    counters(&file)
}

/// `name=number` in one line.
fn counters(file: &Path) -> HashMap<String, f64> {
    let text = std::fs::read_to_string(file).unwrap();
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

/// The words of those blocks that are wanted, headers included.
fn words(blocks: &[Block], wanted: impl Fn(&Block) -> bool) -> f64 {
    blocks.iter().filter(|block| wanted(block)).map(|block| block.units() as f64).sum()
}

/// Sampling needs words of the heap itself, which only a bare run is without.
#[test]
fn everything_is_what_the_collector_counts() {
    let (exact, _) = ledger(&["--rate", "1"]);
    let (blocks, counted) = (blocks::of(&exact.traces()[0]), bare_counters());
    let minor = words(&blocks, |block| block.source == Source::Minor);
    let promoted = words(&blocks, |block| block.source == Source::Minor && block.is_promoted);
    let major = words(&blocks, |block| block.source == Source::Major);
    let near = |what: &str, heard: f64, counted: f64| {
        assert!((heard - counted).abs() < 0.005 * counted, "{what}: {heard}, counted {counted}");
    };
    near("minor words", minor, counted["minor_words"]);
    near("promoted words", promoted, counted["promoted_words"]);
    near("major words", major + promoted, counted["major_words"]);
}

#[test]
fn estimates_lie_in_their_intervals() {
    let (exact, _) = ledger(&["--rate", "1"]);
    let blocks = blocks::of(&exact.traces()[0]);
    let bytes = |block: &Block| 8.0 * block.units() as f64;
    let live = |block: &Block| if block.is_live { bytes(block) } else { 0.0 };
    for rate in ["0.1", "0.01", "0.001"] {
        let (sampled, _) = ledger(&["--rate", rate]);
        let summary = read_through(&sampled.traces()[0]);
        assert!(summary.samples > 200 && summary.promotions > 50, "{summary:?}");
        let inside = |what: &str, estimate: Estimate, count: &dyn Fn(&Block) -> f64| {
            let expected = deviation::expect(&blocks, summary.sampling.rate(), count);
            let off = (estimate.value - expected.exact).abs();
            // What is alive at the end, and what printing takes, is not the same to the word.
            let slack = 0.002 * expected.exact;
            assert!(
                off <= SIGMAS * expected.deviation + slack,
                "{what} at {rate}: {estimate:?}, {expected:?}"
            );
        };
        inside("bytes", summary.allocated.bytes, &bytes);
        inside("objects", summary.allocated.objects, &|_| 1.0);
        inside("live bytes", summary.live.bytes, &live);
    }
}

/// What the recorded run's own counter says; memory outside the heap is not in it.
#[test]
fn promoted_words_are_those_that_the_collector_counts() {
    let (sampled, counted) = ledger(&["--rate", "0.01"]);
    let trace = &sampled.traces()[0];
    let rate = read_through(trace).sampling.rate();
    let births = births::of(trace);
    let promoted = births.iter().filter(|it| it.is_promoted && it.source == Source::Minor);
    let (mut words, mut variance) = (0.0, 0.0);
    for birth in promoted {
        let units = (birth.words + 1) as f64;
        let included = 1.0 - (1.0 - rate).powf(units);
        words += units / included;
        variance += (1.0 - included) * (units / included).powi(2);
    }
    let off = (words - counted["promoted_words"]).abs();
    assert!(off < SIGMAS * variance.sqrt(), "{words} ± {}, {counted:?}", variance.sqrt());
}

/// Of two blocks that are allocated at once, one of two words and one of three, each with a place of its own.
#[test]
fn blocks_that_the_compiler_combines() {
    let target = Target::new(&[&ocaml::native("comballoc")]);
    for (rate, exact) in [("1", true), ("0.01", false)] {
        let births = births::of(&target.record(&["--rate", rate]).traces()[0]);
        let hits = |words: u64, text: &str| {
            let of = births.iter().filter(|birth| birth.words == words && stands_at(birth, text));
            of.map(|birth| birth.hits).sum::<u64>() as f64
        };
        let (two, three) = (hits(1, "(ref number)"), hits(2, "(number, number)"));
        let (all, share) = (two + three, two / (two + three));
        if exact {
            assert_eq!((two, three), (400_000.0, 600_000.0));
        } else {
            let deviation = (0.4 * 0.6 / all).sqrt();
            assert!(all > 5_000.0 && (share - 0.4).abs() < SIGMAS * deviation, "{two} and {three}");
        }
    }
}

/// Whether the source has `text` where the birth's innermost place says.
fn stands_at(birth: &births::Birth, text: &str) -> bool {
    birth.place().is_some_and(|place| source_text(place) == text)
}

/// What stands in the source at a place.
fn source_text(place: &lifetrace_trace::event::Location) -> String {
    let source = std::fs::read_to_string(fixture::source(&format!("ocaml/{}", place.filename)));
    let Ok(source) = source else { return String::new() };
    let line = source.lines().nth(place.line as usize - 1).unwrap_or_default();
    line.get(place.start_char as usize..place.end_char as usize).unwrap_or_default().to_owned()
}

/// A frame that stands for three functions names all, with the places in the source, outermost first.
#[test]
fn functions_that_were_inlined() {
    let recording = Target::new(&[&ocaml::native("inlined")]).record(&["--rate", "1"]);
    let births = births::of(&recording.traces()[0]);
    let first = births.iter().filter(|it| it.functions().last() == Some("Inlined.hazard_first"));
    let frames: Vec<_> = first.map(|birth| birth.frames.last().unwrap()).collect();
    assert_eq!(frames.len(), 100);
    let described = |frame: &[lifetrace_trace::event::Location]| {
        let each = frame.iter().map(|place| (place.defname.to_string(), source_text(place)));
        each.collect::<Vec<_>>()
    };
    let expected = [
        ("Inlined.hazard_third", "(hazard_second number)"),
        ("Inlined.hazard_second", "hazard_first (number * 2)"),
        ("Inlined.hazard_first", "ref (number + 1)"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(described(frames[0]), expected);
}

#[test]
fn functions_in_functors_functions_and_classes() {
    let recording = Target::new(&[&ocaml::native("inlined")]).record(&["--rate", "1"]);
    let births = births::of(&recording.traces()[0]);
    for (name, text, count) in [
        ("Inlined.Made.hazard_in_functor", "Array.make Length.length 'x'", 100),
        ("Inlined.outer.hazard_local", "ref (number + other)", 200),
        ("Inlined.counter#hazard_method", "ref (!count + 1)", 100),
    ] {
        let of = |it: &&births::Birth| it.functions().any(|one| one == name) && stands_at(it, text);
        assert_eq!(births.iter().filter(of).count(), count, "{name}");
    }
}

#[test]
fn a_deterministic_program_gives_the_same_samples_twice() {
    let target = Target::new(&[&ocaml::native("deterministic")]);
    let [first, second] =
        [(); 2].map(|()| births::of(&target.record(&["--rate", "0.001"]).traces()[0]));
    assert!(first.len() > 3_000, "{}", first.len());
    assert!(first == second, "{} and {} samples", first.len(), second.len());
}

/// As the runtime counts them: words, collections, the size of the heap.
#[test]
fn collections_are_those_of_a_bare_run() {
    let target = Target::new(&[&ocaml::native("deterministic")])
        .environment(&[("OCAMLRUNPARAM", "v=0x400")]);
    let bare = target.bare();
    assert!(bare.stderr_text().contains("promoted_words:"), "{bare:?}");
    // While it is recorded, and after that.
    let ended = ["--rate", "0.1", "--duration", "50ms"];
    for options in [&["--rate", "0.001"][..], &["--rate", "1"], &ended] {
        assert_eq!(target.record(options).outcome, bare, "{options:?}");
    }
}
