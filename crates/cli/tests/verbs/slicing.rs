//! `slice`.

use std::fs;

use crate::conversion::{Folder, check_refused};
use crate::*;

fn total(trace: &str, what: &str) -> u64 {
    json(&["info", trace, "--json"])["trace"][what].as_u64().unwrap()
}

/// The trace lasts 852 ms.
#[test]
fn neighbouring_slices_are_the_whole() {
    let place = Folder::new();
    let (first, second) = (place.path("first.ctf"), place.path("second.ctf"));
    stdout(&["slice", SMALL, "--time", "-400ms", "-o", &first]);
    stdout(&["slice", SMALL, "--time", "400ms-", "-o", &second]);
    let both = |what| total(&first, what) + total(&second, what);
    assert_eq!(both("collections"), total(SMALL, "collections"));
    let living = total(&first, "samples") - total(&first, "collections");
    assert!(living > 10);
    assert_eq!(both("samples"), total(SMALL, "samples") + living);
    assert_eq!(total(&first, "duration_us"), 400_000);
    assert_eq!(both("duration_us"), total(SMALL, "duration_us"));
    let live = |trace: &str| json(&["report", trace, "--json"])["totals"]["live_at_end"].clone();
    assert_eq!(live(&second), live(SMALL));
}

#[test]
fn all_formats_and_pipes() {
    let place = Folder::new();
    let (lt, a, b) = (place.path("t.lt"), place.path("a.ctf"), place.path("b.ctf"));
    stdout(&["convert", SMALL, &lt]);
    stdout(&["slice", SMALL, "--time", "100ms-300ms", "-o", &a]);
    stdout(&["slice", &lt, "--time", "100ms-300ms", "-o", &b]);
    assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap());
    let mut command = lifetrace(&["slice", "-", "--time", "100ms-300ms", "-o", "-"]);
    let input = fs::File::open(traces().join(SMALL)).unwrap();
    let output = command.stdin(input).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert!(output.stdout == fs::read(&a).unwrap());
}

#[test]
fn times_that_make_no_sense() {
    let place = Folder::new();
    let output = place.path("t.ctf");
    for time in ["10s", "-", "20s-10s", "1-2"] {
        let refused = run(&["slice", SMALL, "--time", time, "-o", &output]);
        assert_eq!(refused.status.code(), Some(2), "{time}");
    }
    let arguments = ["slice", SMALL, "--time", "2s-", "-o", &output];
    check_refused(&arguments, "ends before that\n  the trace lasts 852 ms");
    assert_eq!(place.len(), 0);
}

#[test]
fn a_damaged_trace_is_sliced_as_far_as_it_can_be_read() {
    let place = Folder::new();
    let whole = fs::read(traces().join(SMALL)).unwrap();
    let cut = place.file("cut.ctf", &whole[..100_000]);
    let output = place.path("t.ctf");
    let arguments = ["slice", &cut, "--time", "100ms-", "-o", &output];
    check_refused(&arguments, "cut.ctf: byte 100000: the file ends");
    assert!(total(&output, "samples") > 100);
}

/// The numbers of a report that do not depend on how the trace came about, and its callsites in an
/// order that does not depend on which of equal ones was met first.
fn numbers(report: &Value) -> Vec<(&'static str, Value)> {
    let mut callsites = report["callsites"].as_array().unwrap().clone();
    let place =
        |callsite: &Value| ["function", "file", "line"].map(|field| callsite[field].to_string());
    callsites.iter_mut().for_each(|callsite| callsite["hottest_backtrace"] = Value::Null);
    callsites.sort_by_key(place);
    let (trace, totals) = (&report["trace"], &report["totals"]);
    let of_trace = ["samples", "sampled_words", "promotions", "collections", "duration_us"];
    let of_trace = of_trace.map(|field| (field, trace[field].clone()));
    let of_totals = ["allocated", "promoted", "peak", "live_at_end"];
    let of_totals = of_totals.map(|field| (field, totals[field].clone()));
    let callsites = ("callsites", Value::Array(callsites));
    of_trace.into_iter().chain(of_totals).chain([callsites]).collect()
}

/// The trace of some blocks has the numbers that the whole one has with the filter.
fn check_some(trace: &str, verb: &str, filter: &str) -> u64 {
    let place = Folder::new();
    let some = place.path("some.lt");
    match verb {
        "slice" => stdout(&["slice", trace, "--filter", filter, "-o", &some]),
        _ => stdout(&["convert", trace, &some, "--filter", filter]),
    };
    let report = |trace: &str, filter| {
        json(&["report", trace, "--json", "--top", "10000", "--filter", filter])
    };
    let (filtered, found) = (report(trace, filter), report(&some, ""));
    for ((name, expected), (_, found)) in numbers(&filtered).iter().zip(numbers(&found)) {
        assert!(found == *expected, "{name}: {verb} {trace} {filter}");
    }
    if trace.ends_with(".lt") {
        let samplers = |report: &Value| report["trace"]["facts"]["samplers"].clone();
        assert_eq!(samplers(&found), samplers(&filtered));
    }
    assert_eq!(found["trace"]["facts"]["labels"]["slice.filter"], filtered["filter"]);
    assert!(stdout(&["check", &some]).contains(": ok: "));
    found["trace"]["samples"].as_u64().unwrap()
}

#[test]
fn some_blocks_have_the_numbers_of_a_filter() {
    for trace in ["native-python.lt", SMALL] {
        let all = total(trace, "samples");
        for filter in [
            "size>=1KiB",
            "leaks",
            "alive at peak",
            "temporary not size<64",
            "freed before 50%",
            "innermost fn~(?i)list",
        ] {
            let some = check_some(trace, "slice", filter);
            assert_eq!(check_some(trace, "convert", filter), some);
            assert!(some < all, "{trace} {filter}");
        }
    }
    assert!(check_some("native-python.lt", "slice", "module:_json") > 0);
    assert!(check_some(SMALL, "slice", "promoted") > 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]
    #[test]
    fn any_filter_has_its_numbers(
        terms in proptest::sample::subsequence(
            vec![
                "size>=64", "not size>=4KiB", "lifetime<50ms", "not freed", "alive at 40%",
                "allocated after 100ms", "not fn:json", "thread!=python3", "freed 10%..90%",
            ],
            1..=3,
        ),
    ) {
        check_some("native-python.lt", "convert", &terms.join(" "));
    }
}

/// A filter is of the whole input: what was born before the slice, and dies after it, too.
#[test]
fn some_blocks_of_a_slice() {
    let place = Folder::new();
    let (slice, both, lt) = (place.path("s.lt"), place.path("b.lt"), place.path("t.lt"));
    stdout(&["convert", SMALL, &lt]);
    stdout(&["slice", &lt, "--time", "100ms-300ms", "-o", &slice]);
    let filter = ["--filter", "lifetime>=150ms size>=16"];
    stdout(&["slice", &lt, "--time", "100ms-300ms", filter[0], filter[1], "-o", &both]);
    let lines = |trace: &str, more: &[&str]| -> Vec<(String, String)> {
        let dump = stdout(&[&["dump", trace, "--no-backtraces", "--no-facts"], more].concat());
        let events = dump.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
        events.map(|columns| (columns[1].to_owned(), columns[2].to_owned())).collect()
    };
    let chosen: std::collections::HashSet<_> = lines(&lt, &filter).into_iter().collect();
    let (all, some) = (lines(&slice, &[]), lines(&both, &[]));
    let expected: Vec<_> = all.iter().filter(|event| chosen.contains(event)).cloned().collect();
    assert_eq!(some, expected);
    assert!(some.len() > 10 && some.len() < all.len());
}

#[test]
fn a_trace_of_some_blocks_says_so() {
    let place = Folder::new();
    let (some, fewer, ctf) = (place.path("a.lt"), place.path("b.lt"), place.path("c.ctf"));
    stdout(&["slice", "native-python.lt", "--filter", "fn:json", "-o", &some]);
    stdout(&["slice", &some, "--filter", "size>1KiB", "-o", &fewer]);
    let sentence =
        "Note: the trace has some blocks only, which a filter chose: fn:json size>1KiB\n";
    assert!(stdout(&["report", &fewer]).contains(sentence));
    let facts = |trace| json(&["info", trace, "--json"])["trace"]["facts"]["labels"].clone();
    assert_eq!(facts(&some)["build"], facts("native-python.lt")["build"]);
    // There is no room for it.
    stdout(&["slice", SMALL, "--filter", "promoted", "-o", &ctf]);
    assert!(total(&ctf, "promotions") > 0);
    assert_eq!(total(&ctf, "promotions"), total(SMALL, "promotions"));
}

#[test]
fn filters_that_make_no_sense() {
    let place = Folder::new();
    let output = place.path("t.lt");
    for arguments in [
        &["slice", SMALL, "--filter", "siez>1KiB", "-o", &output][..],
        &["convert", SMALL, &output, "--filter", "siez>1KiB"],
        &["slice", SMALL, "-o", &output],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(place.len(), 0);
}

#[test]
fn some_blocks_through_a_pipe() {
    let place = Folder::new();
    let output = place.path("t.lt");
    let filter = "alive at peak size>=1KiB";
    stdout(&["convert", "native-python.lt", &output, "--filter", filter]);
    let input = traces().join("native-python.lt");
    let arguments = ["convert", "-", "-", "--format", "lt", "--filter", filter];
    let piped = run_on(&input, &arguments);
    assert_eq!(text(&piped.stderr), "");
    assert!(piped.stdout == fs::read(&output).unwrap());
}
