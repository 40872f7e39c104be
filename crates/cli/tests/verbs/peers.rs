//! Exports as the profilers read them whose formats they are: `heaptrack_print`, and the viewer that
//! comes with Valgrind, run by node.

use crate::exports::{export, small, total, unversioned};
use crate::imports::{imported, totals};
use crate::*;

/// What `heaptrack_print` finds in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heaptrack {
    pub calls: u64,
    pub peak: u64,
    pub leaked: u64,
}

pub(crate) fn heaptrack_print(file: &Path) -> Heaptrack {
    Heaptrack {
        calls: stacks_sum(file, "allocations"),
        peak: stacks_sum(file, "peak"),
        leaked: stacks_sum(file, "leaked"),
    }
}

/// It rounds what it prints, but not the numbers of its stacks.
fn stacks_sum(file: &Path, cost: &str) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let stacks = directory.path().join("stacks");
    let mut print = Command::new("heaptrack_print");
    print.args(["--disable-builtin-suppressions", "--disable-embedded-suppressions"]);
    print.args(["--flamegraph-cost-type", cost, "-F"]).arg(&stacks).arg(file);
    let output = print.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("failed to parse"), "{}", text(&output.stderr));
    let stacks = fs::read_to_string(stacks).unwrap();
    stacks.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

fn exported(format: &str, trace: &str) -> Scratch {
    Scratch::new(&export(format, trace, &[]))
}

/// All blocks of a program.
fn exact() -> Scratch {
    imported(&traces().join("../imports/heaptrack.sqlite3.zst"))
}

#[test]
fn heaptrack_print_finds_our_totals() {
    let trace = exact();
    let file = exported("heaptrack", argument(&trace.path()));
    assert_eq!(heaptrack_print(&file.path()), totals(&trace));
}

#[test]
fn what_was_sampled_has_as_many_bytes_as_were_estimated() {
    for trace in [SMALL, SAMPLE, "native-python.lt"] {
        let found = heaptrack_print(&exported("heaptrack", trace).path());
        for (found, field) in [(found.peak, "peak"), (found.leaked, "live_at_end")] {
            let expected = total(trace, field, "bytes");
            let blocks = total(trace, field, "samples");
            let is_near = (found as f64 - expected).abs() <= 1.0 + blocks;
            assert!(is_near, "{trace} {field}: {found} for {expected}");
        }
    }
}

#[test]
fn heaptrack_and_back() {
    let trace = exact();
    let again = imported(&exported("heaptrack", argument(&trace.path())).path());
    assert_eq!(totals(&again), totals(&trace));
    let collapsed = |trace: &Scratch| export("collapsed", argument(&trace.path()), &[]);
    assert_eq!(text(&collapsed(&again)), text(&collapsed(&trace)));
}

/// A program that rests at its end has run longer than up to its last event.
#[test]
fn heaptrack_print_knows_how_long_it_took() {
    let trace = traces().join("managed-v2.1.lt");
    let seconds = json(&["info", argument(&trace), "--json"])["trace"]["duration_us"].as_f64();
    let file = exported("heaptrack", argument(&trace));
    let output = Command::new("heaptrack_print").arg(file.path()).output().unwrap();
    let page = text(&output.stdout);
    let line = page.lines().find_map(|line| line.strip_prefix("total runtime: ")).unwrap();
    let found: f64 = line.split('s').next().unwrap().parse().unwrap();
    assert!((found - seconds.unwrap() / 1e6).abs() <= 0.001, "{line}");
    let again = imported(&file.path());
    let again = json(&["info", argument(&again.path()), "--json"])["trace"]["duration_us"].as_f64();
    assert!((again.unwrap() - seconds.unwrap()).abs() <= 1000.0);
}

#[test]
fn heaptracks_text() {
    let trace = small();
    let found = text(&export("heaptrack", argument(&trace.path()), &[]));
    // A block that stands for many is written as often.
    let mut lines: Vec<&str> = found.lines().collect();
    lines.dedup();
    check_golden("heaptrack.txt", &(lines.join("\n") + "\n"));
}

/// What Valgrind's viewer knows of the root, and the page that it shows.
fn dh_view(file: &Path) -> (Value, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/dh_view.js");
    let viewer = "/usr/libexec/valgrind/dh_view.js";
    let output = Command::new("node").arg(script).arg(viewer).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let (root, page) = shown.split_once('\n').unwrap();
    (serde_json::from_str(root).unwrap(), page.to_owned())
}

fn check_dhat(trace: &str) {
    let (root, page) = dh_view(&exported("dhat", trace).path());
    for (name, field, part) in [
        ("bytes", "allocated", "bytes"),
        ("blocks", "allocated", "objects"),
        ("peakBytes", "peak", "bytes"),
        ("peakBlocks", "peak", "objects"),
        ("endBytes", "live_at_end", "bytes"),
        ("endBlocks", "live_at_end", "objects"),
    ] {
        let (found, expected) = (root[name].as_f64().unwrap(), total(trace, field, part));
        assert!((found - expected).abs() <= 0.5, "{trace}, {name}: {found} for {expected}");
    }
    // Six of its orders are not about reads and writes.
    assert_eq!(root["orders"], 6);
    assert!(page.contains("t-gmax"), "{page}");
}

#[test]
fn valgrinds_viewer_finds_our_totals() {
    let exact = exact();
    for trace in [SMALL, SAMPLE, "native-python.lt", "server-1e-5.ctf", argument(&exact.path())] {
        check_dhat(trace);
    }
}

#[test]
fn lifetimes_are_those_of_the_trace() {
    let trace = exact();
    let csv = text(&export("events-csv", argument(&trace.path()), &[]));
    let end = json(&["info", argument(&trace.path()), "--json"])["trace"]["duration_us"]
        .as_u64()
        .unwrap();
    let column =
        |line: &str, index: usize| line.split(',').nth(index).unwrap().parse::<u64>().unwrap();
    let mut expected: u64 = 0;
    for line in csv.lines().skip(1) {
        match line.split(',').nth(1).unwrap() {
            "allocation" => expected += end - column(line, 0),
            _ => expected -= end - column(line, 0),
        }
    }
    let (root, _) = dh_view(&exported("dhat", argument(&trace.path())).path());
    assert_eq!(root["lifetimes"].as_u64().unwrap(), expected);
}

#[test]
fn dhat_and_back() {
    let original = imported(&traces().join("../imports/dhat.sqlite3.json.gz"));
    let again = imported(&exported("dhat", argument(&original.path())).path());
    let sums = |trace: &Scratch| {
        let (root, _) = dh_view(&exported("dhat", argument(&trace.path())).path());
        ["bytes", "blocks", "lifetimes", "peakBytes", "peakBlocks", "endBytes", "endBlocks"]
            .map(|name| root[name].as_u64().unwrap())
    };
    assert_eq!(sums(&again), sums(&original));
}

#[test]
fn dhats_json() {
    let trace = small();
    let found: Value =
        serde_json::from_slice(&export("dhat", argument(&trace.path()), &[])).unwrap();
    check_golden("dhat.json", &unversioned(&format!("{found:#}\n")));
}

#[test]
fn what_was_chosen_is_shown() {
    let trace = exact();
    let path = trace.path();
    let choice = ["--filter", "size >= 1KiB", "--hide", "sqlite3_initialize"];
    let report = [&["report", argument(&path), "--json"][..], &choice].concat();
    let expected = json(&report)["totals"]["allocated"]["bytes"].as_u64().unwrap();
    let of = |format| export(format, argument(&path), &choice);
    let dhat: Value = serde_json::from_slice(&of("dhat")).unwrap();
    let bytes = |point: &Value| point["tb"].as_u64().unwrap();
    assert_eq!(dhat["pps"].as_array().unwrap().iter().map(bytes).sum::<u64>(), expected);
    let recording = Scratch::new(&of("heaptrack"));
    let totals = totals(&imported(&recording.path()));
    assert_eq!(totals, heaptrack_print(&recording.path()));
    let events = text(&of("events-json"));
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let births = events.filter(|event| event["event"] == "allocation");
    assert_eq!(births.map(|birth| birth["bytes"].as_u64().unwrap()).sum::<u64>(), expected);
    assert!(expected > 0 && totals.calls < 887);
    for format in ["dhat", "heaptrack", "events-json"] {
        let (whole, hidden) = (export(format, argument(&path), &[]), of(format));
        assert!(text(&whole).contains("sqlite3_initialize"), "{format}");
        // The command says that it is hidden.
        let count = text(&hidden).matches("sqlite3_initialize").count();
        assert_eq!(count, usize::from(format != "events-json"), "{format}");
    }
    let focus = ["--focus", "no_such_function"];
    let nothing = run(&[&["export", "-F", "events-csv", argument(&path)], &focus[..]].concat());
    assert_eq!(text(&nothing.stdout).lines().count(), 1);
    assert!(text(&nothing.stderr).contains("no frame matches fn=no_such_function"), "{nothing:?}");
}
