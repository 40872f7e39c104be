//! Reports of several traces: a parent and the children that it forked, and strangers.

use serde_json::Value;

use crate::*;

const FAMILY: [&str; 3] = ["forked.lt", "forked.2.lt", "forked.3.lt"];
const STRANGERS: [&str; 2] = ["server-1e-5.ctf", "listmap-1e-5.ctf"];

fn with<'a>(traces: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    ["report"].iter().chain(traces).chain(options).copied().collect()
}

#[test]
fn pages() {
    check_golden("several.txt", &stdout(&with(&FAMILY, &["--top", "2"])));
    let per_process = ["--per-process", "--metric", "live", "--top", "1"];
    check_golden("several-processes.txt", &stdout(&with(&FAMILY, &per_process)));
    check_golden("several.json", &stdout(&with(&FAMILY, &["--json", "--top", "1"])));
    let tree = ["--view", "tree", "--top", "2", "--filter", "size >= 1KiB"];
    check_golden("several-tree.txt", &stdout(&with(&FAMILY, &tree)));
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-6 * expected + 0.002, "{found} {expected}");
}

/// Estimates add up, and so do the squares of their errors.
#[test]
fn amounts_add_up() {
    for traces in [&FAMILY[..], &STRANGERS] {
        let sum = json(&with(traces, &["--json", "--top", "100000"]));
        let alone: Vec<_> = traces
            .iter()
            .map(|trace| json(&["report", trace, "--json", "--top", "100000"]))
            .collect();
        for amount in ["allocated", "live_at_end", "peak"] {
            let of = |field: &str| -> Vec<f64> {
                alone.iter().map(|it| it["totals"][amount][field].as_f64().unwrap()).collect()
            };
            close(&sum["totals"][amount]["bytes"], of("bytes").iter().sum());
            close(&sum["totals"][amount]["objects"], of("objects").iter().sum());
            let squares: f64 = of("bytes_interval95").iter().map(|error| error * error).sum();
            close(&sum["totals"][amount]["bytes_interval95"], squares.sqrt());
            let callsites = sum["callsites"].as_array().unwrap().iter();
            let parts = callsites.map(|it| it[amount]["bytes"].as_f64().unwrap()).sum();
            close(&sum["totals"][amount]["bytes"], parts);
        }
        for (trace, alone) in sum["traces"].as_array().unwrap().iter().zip(&alone) {
            assert_eq!((&trace["trace"], &trace["totals"]), (&alone["trace"], &alone["totals"]));
        }
    }
}

/// A callsite that each process has is one.
#[test]
fn callsites_are_added_up_by_name() {
    let sites = |report: &Value| -> Vec<(String, f64)> {
        let all = report["callsites"].as_array().unwrap().iter();
        let key = |it: &Value| format!("{} {} {}", it["function"], it["file"], it["line"]);
        all.map(|it| (key(it), it["allocated"]["bytes"].as_f64().unwrap())).collect()
    };
    let mut expected = std::collections::BTreeMap::<String, f64>::new();
    for trace in FAMILY {
        for (site, bytes) in sites(&json(&["report", trace, "--json", "--top", "1000"])) {
            *expected.entry(site).or_default() += bytes;
        }
    }
    let found = sites(&json(&with(&FAMILY, &["--json", "--top", "1000"])));
    assert!(found.len() == expected.len() && found.len() > 5);
    for (site, bytes) in found {
        assert!((bytes - expected[&site]).abs() < 0.01, "{site}");
    }
}

#[test]
fn parents_are_found() {
    let parents = |traces: &[&str]| -> Vec<Option<u64>> {
        let report = json(&with(traces, &["--json"]));
        report["traces"].as_array().unwrap().iter().map(|it| it["parent"].as_u64()).collect()
    };
    assert_eq!(parents(&FAMILY), [None, Some(0), Some(0)]);
    assert_eq!(parents(&[FAMILY[2], FAMILY[1], FAMILY[0]]), [Some(2), Some(2), None]);
    assert_eq!(parents(&FAMILY[1..]), [None, None]);
    assert_eq!(parents(&STRANGERS), [None, None]);
}

/// All that is different is the order in which traces are told.
#[test]
fn the_order_does_not_matter() {
    let turned = [FAMILY[2], FAMILY[0], FAMILY[1]];
    for options in [&["--per-process"][..], &["--view", "functions"], &["--view", "paths"]] {
        assert_eq!(stdout(&with(&FAMILY, options)), stdout(&with(&turned, options)));
    }
}

#[test]
fn one_trace_alone_is_what_it_was() {
    let alone = json(&["report", FAMILY[0], "--json"]);
    let mut sum = json(&["report", FAMILY[0], "--json", "--per-process"]);
    assert_eq!(alone["callsites"], sum["callsites"]);
    sum["totals"]["peak"]["time_us"] = alone["totals"]["peak"]["time_us"].clone();
    assert_eq!(alone["totals"], sum["totals"]);
}

#[test]
fn a_filter_is_of_each_trace_by_itself() {
    let samples = |trace: &[&str], filter: &str| {
        let report = json(&with(trace, &["--json", "--filter", filter]));
        report["totals"]["allocated"]["samples"].as_u64().unwrap()
    };
    for filter in ["allocated before 50%", "alive at peak", "not freed size >= 64"] {
        let alone: u64 = FAMILY.iter().map(|trace| samples(&[trace], filter)).sum();
        assert!(alone > 0);
        assert_eq!(samples(&FAMILY, filter), alone, "{filter}");
    }
}

#[test]
fn what_has_no_sum_is_refused() {
    for view in ["timeline", "threads", "peak", "leaks", "lifetimes", "temporary", "sizes"] {
        let output = run(&with(&FAMILY, &["--view", view]));
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{view}");
        let said = text(&output.stderr);
        assert!(said.contains("summary, hot, tree, paths, functions"), "{said}");
    }
    for condition in ["peak > 1MB", "growth > 0"] {
        let output = run(&with(&FAMILY, &["--fail-if", condition]));
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("live, leaked, allocated and objects"));
    }
    let twice = run(&with(&[FAMILY[0], FAMILY[1], FAMILY[0]], &[]));
    assert_eq!(twice.status.code(), Some(1));
    assert_eq!(text(&twice.stderr), "lifetrace: forked.lt: this trace is given twice\n");
    assert_eq!(run(&["report"]).status.code(), Some(2));
}

#[test]
fn conditions_are_on_the_sum() {
    let code =
        |traces: &[&str]| run(&with(traces, &["--fail-if", "allocated > 3MB"])).status.code();
    assert_eq!(code(&FAMILY), Some(1));
    FAMILY.iter().for_each(|trace| assert_eq!(code(&[trace]), Some(0), "{trace}"));
}

#[test]
fn each_damaged_trace_is_told() {
    let mut bytes = std::fs::read(traces().join(SAMPLE)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let damaged = Scratch::new(&bytes);
    let path = damaged.path();
    let output = run(&with(&[FAMILY[0], argument(&path), FAMILY[1]], &["--json"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(argument(&path)), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let damages: Vec<_> = (0..3).map(|at| report["traces"][at]["damages_total"].as_u64()).collect();
    assert_eq!(damages, [Some(0), Some(1), Some(0)]);
}

#[test]
fn narrow_pages_are_narrow() {
    for width in [60, 80] {
        let arguments = with(&FAMILY, &["--per-process"]);
        let report = lifetrace(&arguments).env("COLUMNS", width.to_string()).output().unwrap();
        for line in text(&report.stdout).lines() {
            assert!(line.chars().count() <= width, "{width} columns: {line}");
        }
    }
}
