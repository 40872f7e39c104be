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

#[test]
fn paths() {
    check("paths", &["server-1e-5.ctf", "--view", "paths", "--top", "4"]);
    check(
        "paths-deep",
        &["json-1e-5.ctf", "--view", "paths", "--top", "3", "--metric", "byte-seconds"],
    );
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
