//! Filters and views of backtraces, as verbs take them.

use std::process::Stdio;

use serde_json::Value;

use crate::*;

const NATIVE: &str = "native-python.lt";

fn report(options: &[&str]) -> Value {
    let arguments: Vec<_> = ["report", NATIVE, "--json"].iter().chain(options).copied().collect();
    json(&arguments)
}

fn samples(filter: &str) -> u64 {
    report(&["--filter", filter])["trace"]["samples"].as_u64().unwrap()
}

/// Whatever can be claimed of a block, it holds or it does not.
#[test]
fn a_claim_and_its_opposite_are_everything() {
    let all = samples("");
    assert!(all > 1000);
    for claim in [
        "size >= 1KiB",
        "lifetime < 10ms",
        "alive at peak",
        "freed before 50%",
        "allocated after 100ms",
        "thread = 6",
        "thread = python3",
        "source = native",
        "fn:PyList",
        "innermost fn = PyList_Append",
        "module:_json",
        "leaks",
        "promoted",
        "label build=1234",
    ] {
        let (some, others) = (samples(claim), samples(&format!("not {claim}")));
        assert_eq!(some + others, all, "{claim}: {some}, not: {others}");
    }
}

#[test]
fn claims_are_all_true_of_what_is_left() {
    let both = samples("size >= 1KiB fn:json");
    assert!(both > 0 && both < samples("size >= 1KiB").min(samples("fn:json")));
    let report = report(&["--filter", "size >= 1KiB", "--filter", "fn:json"]);
    assert_eq!(report["trace"]["samples"].as_u64(), Some(both));
    assert_eq!(report["filter"], "size>=1KiB fn:json");
    assert_eq!(report["samples_in_trace"].as_u64(), Some(samples("")));
}

/// A filter that looks at the whole trace before it is read sees it through a pipe too.
#[test]
fn a_pipe_is_read_as_often_as_it_takes() {
    let filter = ["report", NATIVE, "--json", "--filter", "alive at peak lifetime > 50ms"];
    let direct = json(&filter);
    let mut pipe = std::process::Command::new("cat")
        .arg(traces().join(NATIVE))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut command = lifetrace(&["report", "-", "--json", "--filter", filter[4]]);
    let piped = command.stdin(pipe.stdout.take().unwrap()).output().unwrap();
    pipe.wait().unwrap();
    let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(direct["totals"], piped["totals"]);
    assert_eq!(direct["callsites"], piped["callsites"]);
}

#[test]
fn frames_are_hidden_and_focused_on() {
    let focused =
        report(&["--view", "tree", "--focus", "fn:_json", "--hide", "module=/usr/bin/python3.11"]);
    let rows = focused["tree"].as_array().unwrap();
    assert!(rows.len() > 5);
    for row in rows {
        let function = row["function"].as_str().unwrap();
        assert!(row["depth"].as_u64() > Some(0) || function.contains("_json"), "{function}");
        assert!(!function.starts_with("python3.11+"), "{function}");
    }
}

#[test]
fn a_typo_is_pointed_at() {
    for (name, filter) in [
        ("term", "size > 1KiB lifetim < 10ms"),
        ("moment", "alive at peek"),
        ("unit", "size > 3 parsecs"),
        ("regex", "fn ~ '(unclosed'"),
    ] {
        let output = run(&["report", NATIVE, "--filter", filter]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
        check_golden(&format!("filter-error-{name}.txt"), &text(&output.stderr));
    }
}

/// Lines of a filtered dump are lines of the whole one, and have all events of a block or none.
#[test]
fn a_dump_of_some_blocks() {
    let whole = stdout(&["dump", NATIVE, "--all-columns"]);
    let filter = "size >= 1KiB fn:json lifetime > 1ms";
    let some = stdout(&["dump", NATIVE, "--all-columns", "--filter", filter]);
    let lines: std::collections::HashSet<&str> = whole.lines().collect();
    assert!(some.lines().all(|line| lines.contains(line)));
    let ids = |text: &str, event: &str| -> Vec<String> {
        let columns = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let of_event = columns.filter(|columns| columns.get(1) == Some(&event));
        let mut ids: Vec<_> = of_event.map(|columns| columns[2].to_owned()).collect();
        ids.sort();
        ids
    };
    let born = ids(&some, "allocation");
    assert_eq!(born.len() as u64, samples(filter));
    assert!(!born.is_empty() && born.len() < ids(&whole, "allocation").len());
    assert_eq!(born, ids(&some, "collection"));
    let facts = |text: &str| text.lines().filter(|line| line.contains("\tfact\t")).count();
    assert_eq!(facts(&some), facts(&whole));
    let bare = ["dump", NATIVE, "--all-columns", "--no-backtraces", "--filter", filter];
    assert_eq!(ids(&stdout(&bare), "allocation"), born);
}
