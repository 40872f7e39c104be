//! What terms about lives mean, at every boundary.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{Bytes, ThreadId, Timestamp};

use super::super::*;
use super::filter;

/// From 1000 to 1999, so that `end` is 2000.
const BOUNDS: Bounds<'static> = Bounds {
    start: Timestamp(1000),
    end: Some(Timestamp(1999)),
    peak: Some(Timestamp(1500)),
    clock: &[],
};

const SURVIVOR: Life<'static> = Life {
    born: Timestamp(1200),
    died: None,
    promoted: None,
    bytes: Bytes(100),
    source: Source::External,
    sampler: None,
    thread: None,
    thread_name: None,
};

fn lived(born: u64, died: u64) -> Life<'static> {
    Life { born: Timestamp(born), died: Some(Timestamp(died)), ..SURVIVOR }
}

fn survivor(born: u64) -> Life<'static> {
    Life { born: Timestamp(born), ..SURVIVOR }
}

fn check_in(bounds: &Bounds<'_>, text: &str, life: Life<'_>, expected: bool) {
    let matches = |text: &str| filter(text).resolve(bounds).unwrap().matches(&life);
    assert_eq!(matches(text), expected, "{text}: {life:?}");
    assert_eq!(matches(&format!("not {text}")), !expected, "not {text}: {life:?}");
}

fn check(text: &str, life: Life<'_>, expected: bool) {
    check_in(&BOUNDS, text, life, expected);
}

#[test]
fn births_are_half_open() {
    for (born, before, at, after) in
        [(1299, true, false, false), (1300, false, true, true), (1301, false, false, true)]
    {
        check("allocated before 300us", survivor(born), before);
        check("allocated at 300us", survivor(born), at);
        check("allocated after 300us", survivor(born), after);
    }
    for (born, expected) in [(1299, false), (1300, true), (1399, true), (1400, false)] {
        check("allocated 300us..400us", survivor(born), expected);
    }
}

#[test]
fn deaths_are_half_open() {
    for (died, before, at, after) in
        [(1299, true, false, false), (1300, false, true, true), (1301, false, false, true)]
    {
        check("freed before 300us", lived(1200, died), before);
        check("freed at 300us", lived(1200, died), at);
        check("freed after 300us", lived(1200, died), after);
        check("freed", lived(1200, died), true);
    }
    for text in ["freed", "freed before end", "freed after start", "freed at 300us"] {
        check(text, SURVIVOR, false);
    }
}

#[test]
fn a_block_lives_from_its_birth_up_to_and_without_its_death() {
    for (moment, expected) in [(199, false), (200, true), (299, true), (300, false)] {
        check(&format!("alive at {moment}us"), lived(1200, 1300), expected);
    }
    check("alive at 200us", lived(1200, 1200), false);
    check("alive 0s..end", lived(1200, 1200), false);
    check("alive at 199us", SURVIVOR, false);
    check("alive at 200us", SURVIVOR, true);
}

#[test]
fn living_between_is_living_at_some_moment() {
    for (range, expected) in [
        ("100us..200us", false),
        ("100us..201us", true),
        ("210us..220us", true),
        ("100us..400us", true),
        ("299us..400us", true),
        ("300us..400us", false),
    ] {
        check(&format!("alive {range}"), lived(1200, 1300), expected);
    }
    check("alive before 200us", lived(1200, 1300), false);
    check("alive before 201us", lived(1200, 1300), true);
    check("alive after 299us", lived(1200, 1300), true);
    check("alive after 300us", lived(1200, 1300), false);
    check("alive after 1h", SURVIVOR, true);
}

#[test]
fn every_event_is_between_start_and_end() {
    for born in [1000, 1999] {
        check("allocated start..end", survivor(born), true);
        check("allocated 0%..100%", survivor(born), true);
        check("alive at end", survivor(born), true);
    }
    check("freed start..end", lived(1200, 1999), true);
    check("alive at end", lived(1200, 1999), false);
    check("alive at end-1us", lived(1200, 1999), false);
    check("alive at end-2us", lived(1200, 1999), true);
    check("allocated after end", survivor(1999), false);
}

#[test]
fn times_before_the_start_and_after_the_end() {
    check("allocated before start", survivor(1000), false);
    check("allocated after start", survivor(1000), true);
    check("alive at start", survivor(1000), true);
    check("alive at start-1us", survivor(1000), false);
    check("allocated after start-1h", survivor(1000), true);
    check("allocated before start-1h", survivor(0), false);
    // A clock that was set back: before the start, and still judged.
    check("allocated before start", survivor(999), true);
    check("alive at start-1us", survivor(999), true);
    check("alive at end+1h", SURVIVOR, true);
    check("alive at end+1h", lived(1200, 1300), false);
}

#[test]
fn shares_and_the_peak() {
    check("allocated before 50%", survivor(1499), true);
    check("allocated before 50%", survivor(1500), false);
    check("allocated before 0.1%", survivor(1000), true);
    check("allocated before 0.0999%", survivor(1000), false);
    check("alive at peak", lived(1500, 1501), true);
    check("alive at peak", lived(1400, 1500), false);
    check("allocated peak-10us..peak", survivor(1490), true);
    check("allocated peak-10us..peak", survivor(1500), false);
    check("peak", lived(1500, 1501), true);
}

#[test]
fn a_range_that_turns_out_reversed_has_nothing_in_it() {
    for life in [lived(1200, 1300), SURVIVOR, survivor(1500)] {
        check("allocated peak..10%", life, false);
        check("alive peak..10%", life, false);
        check("lifetime=100ms..1%", life, false);
    }
}

#[test]
fn dates_go_by_the_wall_clock() {
    let reading = |at, shows| ClockReading { at: Timestamp(at), shows: Timestamp(shows) };
    let moved = [reading(1100, 1100), reading(1200, 5200), reading(1300, 1250)];
    let date = |text: &str| format!("allocated before 1970-01-01T00:00:00.{text}");
    let check = |text: &str, first: u64, clock: &[ClockReading]| {
        let bounds = Bounds { clock, ..BOUNDS };
        check_in(&bounds, &date(text), survivor(first - 1), true);
        check_in(&bounds, &date(text), survivor(first), false);
    };
    check("001050", 1050, &moved);
    check("001199", 1199, &moved);
    // Skipped when the clock was set forward: then it is past it.
    check("003000", 1200, &moved);
    check("005250", 1250, &moved);
    // Shown again after it was set back: the first time counts.
    check("001150", 1150, &moved);
    check("006000", 6050, &moved);
    check("001400", 1400, &[]);
}

#[test]
fn sizes() {
    for (bytes, expected) in [
        (99, [false, true, true, false, false, false, false]),
        (100, [true, false, true, false, true, true, true]),
        (101, [false, false, false, true, true, true, false]),
        (102, [false, false, false, true, true, false, false]),
    ] {
        let terms = ["=100", "<100", "<=100", ">100", ">=100", " 100..102", "=100..101"];
        for (term, expected) in terms.into_iter().zip(expected) {
            let life = Life { bytes: Bytes(bytes), ..SURVIVOR };
            check(&format!("size{term}"), life, expected);
        }
    }
    check("size<=18446744073709551615", Life { bytes: Bytes(u64::MAX), ..SURVIVOR }, true);
}

#[test]
fn lifetimes() {
    for (term, expected) in [
        ("=100us", true),
        ("=99us", false),
        ("<100us", false),
        ("<101us", true),
        ("<=100us", true),
        (">99us", true),
        (">100us", false),
        (">=100us", true),
        (" 100us..101us", true),
        (" 99us..100us", false),
        (">=10%", true),
        ("<10%", false),
        (">10%", false),
    ] {
        check(&format!("lifetime{term}"), lived(1200, 1300), expected);
    }
    check("lifetime=0", lived(1200, 1200), true);
    // Its clock was set back.
    check("lifetime=0", lived(1200, 1100), true);
}

#[test]
fn a_survivor_lives_at_least_up_to_the_end() {
    for (term, expected) in [
        (">=800us", true),
        (">=801us", false),
        (">799us", true),
        (">800us", false),
        ("=800us", false),
        ("<1h", false),
        ("<=1h", false),
        ("=1us..1h", false),
        (">=80%", true),
        (">=80.1%", false),
    ] {
        check(&format!("lifetime{term}"), SURVIVOR, expected);
    }
    check("lifetime>=0", survivor(5000), true);
}

#[test]
fn promotions() {
    let promoted = Life { promoted: Some(Timestamp(1300)), ..SURVIVOR };
    check("promoted", promoted, true);
    check("promoted", SURVIVOR, false);
    check("promoted before 300us", promoted, false);
    check("promoted at 300us", promoted, true);
    check("promoted 300us..301us", promoted, true);
    check("promoted after 301us", promoted, false);
    check("promoted before end", SURVIVOR, false);
}

#[test]
fn presets_are_negated_as_a_whole() {
    let premature = Life { promoted: Some(Timestamp(1210)), ..lived(1200, 1300) };
    check("premature", premature, true);
    check("premature", lived(1200, 1300), false);
    check("premature", Life { died: None, ..premature }, false);
    check("leaks", SURVIVOR, true);
    check("leaks", premature, false);
    check("temporary", premature, true);
    check("temporary", SURVIVOR, false);
    check("churn", premature, true);
    check("long-lived", SURVIVOR, true);
    check("long-lived", survivor(1900), false);
    check("long-lived", lived(1000, 1250), true);
    check("long-lived", lived(1000, 1249), false);
}

#[test]
fn threads() {
    let life = Life { thread: Some(ThreadId(7)), thread_name: Some("worker-1"), ..SURVIVOR };
    check("thread=7", life, true);
    check("thread=8", life, false);
    check("thread=7", SURVIVOR, false);
    check("thread=\"7\"", life, false);
    check("thread=\"7\"", Life { thread_name: Some("7"), ..life }, true);
    check("thread=worker-1", life, true);
    check("thread=worker", life, false);
    check("thread:work", life, true);
    check("thread~-\\d$", life, true);
    check("thread~.", SURVIVOR, false);
}

#[test]
fn sources() {
    let native = Life { sampler: Some("malloc"), ..SURVIVOR };
    let ocaml = Life { sampler: Some("ocaml"), source: Source::Minor, ..SURVIVOR };
    let memtrace = Life { sampler: None, ..ocaml };
    let ruby = Life { sampler: Some("ruby"), source: Source::Major, ..SURVIVOR };
    let tokens = Life { sampler: Some("my pool"), ..SURVIVOR };
    let chosen = |text: &str, expected: [bool; 6]| {
        for (life, expected) in
            [native, SURVIVOR, ocaml, memtrace, ruby, tokens].into_iter().zip(expected)
        {
            check(text, life, expected);
        }
    };
    chosen("source=native", [true, true, false, false, false, false]);
    chosen("source=external", [true, true, false, false, false, true]);
    chosen("source=minor", [false, false, true, true, false, false]);
    chosen("source=major", [false, false, false, false, true, false]);
    chosen("source=ocaml", [false, false, true, true, false, false]);
    chosen("source=ruby", [false, false, false, false, true, false]);
    chosen("source=\"my pool\"", [false, false, false, false, false, true]);
    chosen("source:m", [true, false, true, false, false, true]);
}

#[test]
fn all_terms_must_hold() {
    let both = filter("size>10 freed").resolve(&BOUNDS).unwrap();
    assert!(both.matches(&lived(1200, 1300)) && !both.matches(&SURVIVOR));
    let none = filter("").resolve(&BOUNDS).unwrap();
    assert!(none.is_empty() && none.matches(&SURVIVOR));
    assert!(filter("fn=main label a").resolve(&BOUNDS).unwrap().is_empty());
}

#[test]
fn what_is_not_known_is_asked_for() {
    let unknown = Bounds { end: None, peak: None, ..BOUNDS };
    let resolve = |text: &str| filter(text).resolve(&unknown).map(drop);
    for text in ["allocated after 10s", "not freed", "lifetime<1s", "lifetime=1s..2s", "fn=f"] {
        assert_eq!(resolve(text), Ok(()), "{text}");
    }
    for text in ["alive at end", "freed before 50%", "lifetime>1s", "lifetime<10%", "long-lived"] {
        assert_eq!(resolve(text), Err(Unknown::End), "{text}");
    }
    assert_eq!(resolve("alive at peak+1s"), Err(Unknown::Peak));
    assert_eq!(
        resolve("peak").unwrap_err().to_string(),
        "the filter depends on the peak of the trace, which is not known"
    );
}

#[test]
fn what_looks_ahead() {
    for text in
        ["allocated before 10s", "size>1", "thread=1", "source=minor", "fn=f", "label a", ""]
    {
        assert!(!filter(text).looks_ahead(), "{text}");
    }
    for text in [
        "freed",
        "not freed",
        "alive at 1s",
        "lifetime<1s",
        "promoted",
        "allocated before 50%",
        "allocated after end-1s",
        "allocated after peak",
        "allocated after 2026-01-12",
        "leaks",
        "premature",
    ] {
        assert!(filter(text).looks_ahead(), "{text}");
    }
}

#[test]
fn needs() {
    let needs = |text: &str| filter(text).needs();
    let none = Needs::default();
    assert_eq!(needs("fn=f"), Needs { frames: true, ..none });
    assert_eq!(needs("label a=b"), Needs { labels: true, ..none });
    assert_eq!(needs("thread=a"), Needs { thread_name: true, ..none });
    assert_eq!(needs("thread=7"), none);
    assert_eq!(needs("premature"), Needs { death: true, promotion: true, ..none });
    assert_eq!(needs("peak"), Needs { death: true, peak: true, ..none });
    assert_eq!(needs("long-lived"), Needs { death: true, end: true, ..none });
    assert_eq!(needs("allocated after 2026-01-12"), Needs { clock: true, ..none });
}

#[test]
fn labels() {
    let labels = [("build", "release"), ("host", "a")];
    let check = |text: &str, expected: bool| {
        assert_eq!(filter(text).matches_labels(labels), expected, "{text}");
    };
    check("label build", true);
    check("label build=release", true);
    check("label build:rel", true);
    check("label build~^r.*e$", true);
    check("label build=debug", false);
    check("not label build=debug", true);
    check("label build!=release", false);
    check("label release", false);
    check("label build label host=a size>1", true);
    check("label build label host=b", false);
    check("size>1", true);
}
