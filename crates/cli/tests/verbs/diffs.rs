//! What changed between traces.

use serde_json::Value;

use crate::*;

/// Recordings of the same OCaml program, the second one sampled ten times as often.
const COARSE: &str = "ocamlopt-1e-6.ctf";
const FINE: &str = "ocamlopt-1e-5.ctf";
const OTHER: &str = "server-1e-5.ctf";

fn totals(arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<_> = ["diff", "--json"].iter().chain(arguments).copied().collect();
    json(&arguments)["totals"].as_array().unwrap().clone()
}

#[test]
fn a_trace_does_not_differ_from_itself() {
    let diff = json(&["diff", OTHER, OTHER, "--json", "--all"]);
    for row in diff["changes"].as_array().unwrap().iter().chain(diff["totals"].as_array().unwrap())
    {
        assert_eq!(
            (row["change"].as_f64(), row["significant"].as_bool()),
            (Some(0.0), Some(false))
        );
    }
    assert!(diff["changes_total"].as_u64() > Some(10));
}

#[test]
fn the_same_program_sampled_otherwise_allocates_the_same() {
    for row in &totals(&[COARSE, FINE]) {
        let (change, interval) = (row["change"].as_f64(), row["change_interval95"].as_f64());
        let (change, interval) = (change.unwrap().abs(), interval.unwrap());
        assert!(change < 1.5 * interval, "{row}");
        // The traces were made by two runs, on a machine that had other work.
        assert!(interval > 0.0, "{row}");
    }
}

#[test]
fn pages() {
    check_golden("diff.txt", &stdout(&["diff", COARSE, OTHER, "--top", "3"]));
    check_golden("diff.json", &stdout(&["diff", COARSE, OTHER, "--top", "1", "--json"]));
    let tree = ["diff", COARSE, FINE, "--by", "tree", "--top", "3", "--metric", "live"];
    check_golden("diff-tree.txt", &stdout(&tree));
    let functions = ["diff", COARSE, FINE, "--by", "function", "--top", "2", "--all"];
    check_golden("diff-functions.txt", &stdout(&functions));
    let several = ["diff", "--before", COARSE, FINE, "--after", OTHER, OTHER, "--top", "2"];
    check_golden("diff-several.txt", &stdout(&several));
}

#[test]
fn a_filter_is_of_both_sides() {
    let filtered = json(&["diff", OTHER, OTHER, "--json", "--filter", "size >= 1KiB"]);
    let all = json(&["diff", OTHER, OTHER, "--json"]);
    let samples = |diff: &Value| diff["before"][0]["samples"].as_u64().unwrap();
    assert!(samples(&filtered) > 0 && samples(&filtered) < samples(&all));
    assert_eq!(filtered["filter"], "size>=1KiB");
}

#[test]
fn one_trace_is_no_difference() {
    for arguments in [&["diff", OTHER][..], &["diff"], &["diff", "--before", OTHER]] {
        let output = run(arguments);
        assert_ne!(output.status.code(), Some(0));
        assert!(text(&output.stderr).contains("after"), "{}", text(&output.stderr));
    }
}
