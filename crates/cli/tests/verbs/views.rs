//! Each view of a report, as a page and as JSON, against golden files.

use crate::*;

fn check(name: &str, arguments: &[&str]) {
    let arguments: Vec<_> = ["report"].iter().chain(arguments).copied().collect();
    check_golden(&format!("view-{name}.txt"), &stdout(&arguments));
    let with_json: Vec<_> = arguments.iter().copied().chain(["--json"]).collect();
    check_golden(&format!("view-{name}.json"), &stdout(&with_json));
}

/// In our own format: threads, sizes in bytes, resident memory.
const NATIVE: &str = "native-python.lt";

#[test]
fn hot() {
    check("hot", &["server-1e-5.ctf", "--view", "hot", "--metric", "byte-seconds", "--top", "2"]);
}

#[test]
fn tree() {
    check("tree", &["server-1e-5.ctf", "--view", "tree", "--top", "2"]);
    check(
        "tree-inverted",
        &["server-1e-5.ctf", "--view", "tree", "--inverted", "--top", "2", "--metric", "objects"],
    );
}

/// Of any, not only of callsites.
#[test]
fn callers_of_a_function() {
    let tree = ["json-1e-5.ctf", "--view", "tree", "--inverted", "--top", "2"];
    let calls = ["json-1e-5.ctf", "--view", "calls", "--top", "4"];
    let focus = ["--focus", "Stdlib__Format.pp_print_list"];
    check("tree-callers", &[&tree[..], &focus].concat());
    check("calls", &[&calls[..], &focus].concat());
}

#[test]
fn paths() {
    check("paths", &["server-1e-5.ctf", "--view", "paths", "--top", "4"]);
    check(
        "paths-deep",
        &["json-1e-5.ctf", "--view", "paths", "--top", "3", "--metric", "byte-seconds"],
    );
}

#[test]
fn promotion() {
    check("promotion", &["server-1e-5.ctf", "--view", "promotion", "--top", "2"]);
    let filter = ["--filter", "fn:Yojson"];
    let of_some = ["server-1e-5.ctf", "--view", "promotion", "--top", "1"];
    check("promotion-filtered", &[of_some.as_slice(), &filter].concat());
    let page = stdout(&["report", NATIVE, "--view", "promotion"]);
    assert!(page.contains("No block in this trace was born in a young heap"), "{page}");
}

#[test]
fn gc() {
    check("gc-untold", &["server-1e-5.ctf", "--view", "gc", "--top", "2"]);
    check("gc-native", &[NATIVE, "--view", "gc"]);
}

#[test]
fn functions() {
    check("functions", &["listmap-1e-5.ctf", "--view", "functions", "--top", "5"]);
}

#[test]
fn peak() {
    check("peak", &["server-1e-5.ctf", "--view", "peak", "--top", "1"]);
}

#[test]
fn timeline() {
    check("timeline-native", &[NATIVE, "--view", "timeline", "--top", "3"]);
    check("timeline", &["server-1e-5.ctf", "--view", "timeline", "--top", "2"]);
}

#[test]
fn sizes() {
    check("sizes-native", &[NATIVE, "--view", "sizes"]);
    check("sizes", &["server-1e-5.ctf", "--view", "sizes"]);
}

#[test]
fn threads() {
    check("threads", &[NATIVE, "--view", "threads"]);
    check_golden(
        "view-threads-none.txt",
        &stdout(&["report", "server-1e-5.ctf", "--view", "threads"]),
    );
}

#[test]
fn leaks() {
    check("leaks", &["server-1e-5.ctf", "--view", "leaks", "--top", "2"]);
    check("leaks-short", &["ocamlopt-1e-6.ctf", "--view", "leaks", "--top", "2"]);
    check_golden("view-leaks-none.txt", &stdout(&["report", NATIVE, "--view", "leaks"]));
}

#[test]
fn temporary() {
    check("temporary-native", &[NATIVE, "--view", "temporary", "--top", "2"]);
    let by_objects = ["--metric", "objects", "--below", "100ms", "--top", "2"];
    let arguments = [&["server-1e-5.ctf", "--view", "temporary"], &by_objects[..]].concat();
    check("temporary", &arguments);
}

#[test]
fn lifetimes() {
    check("lifetimes-native", &[NATIVE, "--view", "lifetimes", "--top", "3"]);
    check("lifetimes-gc", &["sample-v1.0.lt", "--view", "lifetimes", "--top", "2"]);
}

#[test]
fn options_that_make_no_sense_for_a_view_are_refused() {
    let complaint = |arguments: &[&str]| {
        let output = run(&[&["report", NATIVE, "--view"], arguments].concat());
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr)
    };
    assert!(complaint(&["temporary", "--metric", "live"]).contains("not live at the end"));
    assert!(complaint(&["temporary", "--below", "0s"]).contains("1us or more"));
    assert!(complaint(&["temporary", "--below", "10"]).contains("not a time"));
    assert!(complaint(&["leaks", "--limit", "much"]).contains("not a size"));
    assert!(complaint(&["leaks", "--limit", "0"]).contains("above 0"));
}
