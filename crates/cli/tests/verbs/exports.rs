//! What `export` writes: against golden files, and that its numbers are those of reports.

use crate::*;

/// All of them.
const FORMATS: [&str; 5] = ["collapsed", "firefox", "pprof", "speedscope", "svg"];

/// The bytes of an export that nobody complains about, but for a note of a trace that is an import.
pub(crate) fn export(format: &str, trace: &str, more: &[&str]) -> Vec<u8> {
    let output = run(&[&["export", "-F", format, trace], more].concat());
    let said = text(&output.stderr);
    let is_note = |line: &str| line.contains("note: ") && line.contains(": imported from ");
    assert!(said.lines().all(is_note), "{format} {trace} {more:?}: {said}");
    assert_eq!(output.status.code(), Some(0), "{format} {trace} {more:?}");
    output.stdout
}

/// A trace of seven samples that has one of everything.
pub(crate) fn small() -> Scratch {
    let scratch = Scratch::new(b"");
    let path = scratch.path();
    stdout(&["slice", SAMPLE, "--time", "0s-1200us", "-f", "-o", argument(&path)]);
    scratch
}

/// What `report` says: a total, and which part of it.
pub(crate) fn total(trace: &str, field: &str, part: &str) -> f64 {
    json(&["report", trace, "--json"])["totals"][field][part].as_f64().unwrap()
}

/// With the keys of objects in their order, whatever crates made of that.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Without the command's version, which changes.
pub(crate) fn unversioned(text: &str) -> String {
    text.replace(concat!("lifetrace ", env!("CARGO_PKG_VERSION")), "lifetrace VERSION")
}

/// The numbers at the ends of lines.
fn sum(collapsed: &str) -> u64 {
    collapsed.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn collapsed() {
    let found = export("collapsed", "server-1e-5.ctf", &["--metric", "live"]);
    check_golden("collapsed.txt", &text(&found));
}

#[test]
fn speedscope_and_firefox() {
    let trace = small();
    for (format, golden) in [("speedscope", "speedscope.json"), ("firefox", "firefox.json")] {
        let found = export(format, argument(&trace.path()), &[]);
        let found: Value = serde_json::from_slice(&found).unwrap();
        check_golden(golden, &unversioned(&format!("{:#}\n", sorted(found))));
    }
}

#[test]
fn collapsed_numbers_add_up() {
    for (metric, field, part) in [
        ("allocated", "allocated", "bytes"),
        ("live", "live_at_end", "bytes"),
        ("peak", "peak", "bytes"),
        ("allocated-objects", "allocated", "objects"),
        ("live-objects", "live_at_end", "objects"),
        ("peak-objects", "peak", "objects"),
    ] {
        let expected = total(SMALL, field, part);
        let found = sum(&text(&export("collapsed", SMALL, &["--metric", metric])));
        assert!((found as f64 - expected).abs() <= 0.5, "{metric}: {found} for {expected}");
    }
    assert_eq!(sum(&text(&export("collapsed", SMALL, &["--metric", "samples"]))), 1676);
}

#[test]
fn firefox_numbers_add_up() {
    let profile: Value = serde_json::from_slice(&export("firefox", SMALL, &[])).unwrap();
    let events = &profile["threads"][0]["nativeAllocations"];
    let weights: Vec<i64> = events["weight"]
        .as_array()
        .unwrap()
        .iter()
        .map(|weight| weight.as_i64().unwrap())
        .collect();
    let allocated: i64 = weights.iter().filter(|&&weight| weight > 0).sum();
    assert!((allocated as f64 - total(SMALL, "allocated", "bytes")).abs() <= 0.5, "{allocated}");
    // Each live block is rounded by itself.
    let live = total(SMALL, "live_at_end", "samples");
    let retained: i64 = weights.iter().sum();
    assert!((retained as f64 - total(SMALL, "live_at_end", "bytes")).abs() <= live, "{retained}");
    assert_eq!(weights.len(), 1676 + 1566);
}

#[test]
fn speedscope_numbers_add_up() {
    let file: Value = serde_json::from_slice(&export("speedscope", SMALL, &[])).unwrap();
    for (name, field, part) in [
        ("bytes allocated", "allocated", "bytes"),
        ("bytes live at the end", "live_at_end", "bytes"),
        ("objects live at the peak", "peak", "objects"),
    ] {
        let profiles = file["profiles"].as_array().unwrap();
        let profile = profiles.iter().find(|profile| profile["name"] == name).unwrap();
        let (found, expected) = (profile["endValue"].as_f64().unwrap(), total(SMALL, field, part));
        assert!((found - expected).abs() <= 0.5, "{name}: {found} for {expected}");
    }
}

#[test]
fn the_metric_is_the_one_that_speedscope_shows_first() {
    let file = export("speedscope", SMALL, &["--metric", "peak"]);
    let file: Value = serde_json::from_slice(&file).unwrap();
    let active = file["activeProfileIndex"].as_u64().unwrap() as usize;
    assert_eq!(file["profiles"][active]["name"], "bytes live at the peak");
}

#[test]
fn the_same_trace_gives_the_same_file_whether_piped_or_not() {
    for format in FORMATS {
        let piped = run_on(&traces().join(SMALL), &["export", "-F", format, "-"]);
        assert!(piped.stdout == export(format, SMALL, &[]), "{format}");
    }
}

#[test]
fn every_trace_can_be_exported() {
    for entry in fs::read_dir(traces()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "lt" || suffix == "ctf") {
            for format in FORMATS {
                assert!(!export(format, argument(&path), &[]).is_empty(), "{format} {path:?}");
            }
        }
    }
}

#[test]
fn of_a_damaged_trace_all_that_can_be_read_is_exported() {
    let mut bytes = fs::read(traces().join(SAMPLE)).unwrap();
    let last = packets_of(&bytes).iter().rev().nth(4).unwrap().offset as usize;
    bytes[last + 40] ^= 0x10;
    let scratch = Scratch::new(&bytes);
    for format in FORMATS {
        let output = run(&["export", "-F", format, argument(&scratch.path())]);
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(text(&output.stderr).contains("scratch.lt"), "{}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{format}");
    }
}

#[test]
fn a_trace_without_samples_is_exported_but_cannot_be_drawn() {
    let scratch = Scratch::new(b"");
    let path = scratch.path();
    stdout(&["slice", SAMPLE, "--time", "0s-50us", "-f", "-o", argument(&path)]);
    for format in ["firefox", "pprof", "speedscope"] {
        assert!(!export(format, argument(&path), &[]).is_empty(), "{format}");
    }
    assert_eq!(text(&export("collapsed", argument(&path), &[])), "");
    let drawn = run(&["export", "-F", "svg", argument(&path)]);
    assert_eq!(drawn.status.code(), Some(1));
    assert!(text(&drawn.stderr).contains("has no bytes allocated, so there is nothing to draw"));
}

#[test]
fn what_is_exported_can_be_chosen() {
    let whole = sum(&text(&export("collapsed", SMALL, &[])));
    let check = |options: &[&str], holds: &dyn Fn(&str) -> bool| {
        let lines = text(&export("collapsed", SMALL, options));
        assert!(!lines.is_empty() && lines.lines().all(holds), "{options:?}: {lines}");
        assert!(sum(&lines) <= whole);
        let bytes = |name: &str| -> u64 {
            let file: Value = serde_json::from_slice(&export(name, SMALL, options)).unwrap();
            match name {
                "speedscope" => file["profiles"][0]["endValue"].as_u64().unwrap(),
                _ => {
                    let weights = &file["threads"][0]["nativeAllocations"]["weight"];
                    let weights = weights.as_array().unwrap().iter().filter_map(Value::as_u64);
                    weights.sum()
                }
            }
        };
        assert_eq!(bytes("speedscope"), sum(&lines), "{options:?}");
        assert!(bytes("firefox").abs_diff(sum(&lines)) <= 1, "{options:?}");
    };
    let starts = |line: &str| line.starts_with("Stdlib__set.Make.add");
    check(&["--focus", "Stdlib__set.Make.add"], &starts);
    check(&["--hide", "Stdlib__set.Make.bal"], &|line| !line.contains("Stdlib__set.Make.bal"));
    check(&["--filter", "fn:Stdlib__set"], &|line| line.contains("Stdlib__set"));
}

#[test]
fn names_for_pprof_are_for_pprof() {
    let refused = run(&["export", "-F", "svg", SMALL, "--pprof-types", "rmp"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--pprof-types: is about pprof profiles"));
}

#[test]
fn an_export_overwrites_nothing_unasked() {
    let scratch = Scratch::new(b"precious");
    let path = scratch.path();
    let arguments = ["export", "-F", "collapsed", SMALL, "-o", argument(&path)];
    let refused = run(&arguments);
    assert!(text(&refused.stderr).contains("exists already"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    stdout(&[&arguments[..], &["-f"]].concat());
    assert_eq!(fs::read(&path).unwrap(), export("collapsed", SMALL, &[]));
}

#[test]
fn a_disk_that_is_full_is_an_error_in_every_format() {
    for format in FORMATS {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = lifetrace(&["export", "-F", format, SMALL]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
    }
}
