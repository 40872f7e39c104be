//! Whole datasets, made of synthetic traces and asked by the command and by other engines. All in one program: each links a
//! query engine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lifetrace_fleet::synthetic::{FACTOR, Fleet, NEW_LEAK, OLD_LEAK, REGRESSION};
use serde_json::Value;

fn fleet(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lifetrace-fleet")).args(args).output().unwrap()
}

/// What it prints; it must succeed.
fn printed(args: &[&str]) -> String {
    let output = fleet(args);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Traces of a fleet, and a dataset of them.
struct Made {
    folder: tempfile::TempDir,
    traces: Vec<PathBuf>,
}

impl Made {
    fn of(fleet: &Fleet) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let traces = folder.path().join("traces");
        std::fs::create_dir(&traces).unwrap();
        let write = |run| {
            let path = traces.join(fleet.name(run));
            fleet.write(run, std::fs::File::create(&path).unwrap()).unwrap();
            path
        };
        Made { traces: (0..fleet.runs).map(write).collect(), folder }
    }

    fn dataset(&self) -> PathBuf {
        self.folder.path().join("dataset")
    }

    fn add(&self, traces: &[PathBuf]) -> String {
        let dataset = self.dataset();
        let words: Vec<&str> =
            ["add", text(&dataset)].into_iter().chain(traces.iter().map(|it| text(it))).collect();
        let output = fleet(&words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// The only number that a query gives.
    fn number(&self, sql: &str) -> f64 {
        let rows = json(&["query", text(&self.dataset()), sql, "--form", "json"]);
        let row = rows[0].as_object().unwrap();
        row.values().next().unwrap().as_f64().unwrap()
    }
}

#[test]
fn what_is_planted_is_found_and_nothing_else() {
    let fleet = Fleet { runs: 60, samples: 3_000, ..Fleet::default() };
    let made = Made::of(&fleet);
    made.add(&made.traces);
    let dataset = made.dataset();
    let leaks = json(&["leaks", text(&dataset), "--json"]);
    let found: Vec<_> = leaks["leaks"].as_array().unwrap().iter().collect();
    let names: Vec<_> = found.iter().map(|it| it["function"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let [new, old] =
        [NEW_LEAK, OLD_LEAK].map(|name| found.iter().find(|it| it["function"] == name).unwrap());
    assert_eq!((new["since"].as_str(), old["since"].as_str()), (Some("1.5"), None));
    let sides = ["--before", "version = 1.4", "--after", "version = 1.5"];
    let changed = json(&[&["regressions", text(&dataset), "--json"], &sides[..]].concat());
    let changed: Vec<_> = changed["changed"].as_array().unwrap().iter().collect();
    let names: Vec<_> = changed.iter().map(|it| it["function"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let it = changed.iter().find(|it| it["function"] == REGRESSION).unwrap();
    let number = |name: &str| it[name].as_f64().unwrap();
    let expected = (FACTOR - 1.0) * number("before");
    let ends = [0, 1].map(|at| it["change95"][at].as_f64().unwrap());
    assert!(ends[0] <= 1.3 * expected && 0.7 * expected <= ends[1], "{it}");
    assert!(ends[0] > 0.0);
}

#[test]
fn sums_are_those_of_the_traces() {
    let made = Made::of(&Fleet { runs: 6, samples: 500, ..Fleet::default() });
    made.add(&made.traces);
    let (mut samples, mut bytes) = (0, 0.0);
    for path in &made.traces {
        let reading = lifetrace_study::read(
            path,
            lifetrace_study::open::Backtraces::Read,
            lifetrace_study::watch::unwatched,
        );
        let summary = reading.unwrap().profile.summary();
        samples += summary.samples;
        bytes += summary.allocated.bytes.value;
    }
    assert_eq!(made.number("SELECT count(*) FROM samples"), samples as f64);
    for sql in ["SELECT sum(weight * bytes) FROM samples", "SELECT sum(bytes) FROM rollup"] {
        let found = made.number(sql);
        assert!((found / bytes - 1.0).abs() < 1e-9, "{sql}: {found} {bytes}");
    }
    let top = json(&[
        "top",
        text(&made.dataset()),
        "--metric",
        "allocated",
        "--limit",
        "10000",
        "--json",
    ]);
    let of = |it: &Value| it["amount"]["bytes"].as_f64().unwrap();
    let sum: f64 = top["callsites"].as_array().unwrap().iter().map(of).sum();
    assert!((sum / bytes - 1.0).abs() < 1e-9);
    assert_eq!(top["runs"], 6);
}

#[test]
fn a_trace_is_added_once() {
    let made = Made::of(&Fleet { runs: 4, samples: 100, ..Fleet::default() });
    assert!(made.add(&made.traces[..3]).contains("added 3 runs"));
    let told = made.add(&made.traces);
    assert!(told.contains("added 1 run with") && told.contains("3 were there already"), "{told}");
    assert_eq!(made.number("SELECT count(*) FROM runs"), 4.0);
}

#[test]
fn a_crash_before_the_commit_leaves_nothing_that_counts() {
    let made = Made::of(&Fleet { runs: 4, samples: 100, ..Fleet::default() });
    made.add(&made.traces[..2]);
    let before = made.number("SELECT sum(samples) FROM runs");
    made.add(&made.traces[2..]);
    // As it is when all files are there, and the commit is not.
    let dataset = made.dataset();
    std::fs::remove_file(dataset.join("_log/000000000002.json")).unwrap();
    assert_eq!(made.number("SELECT sum(samples) FROM runs"), before);
    assert_eq!(made.number("SELECT count(*) FROM samples"), before);
    let told = printed(&["check", text(&dataset), "--clean"]);
    assert!(told.contains("in no commit") && told.contains("can be read"), "{told}");
    assert_eq!(printed(&["check", text(&dataset)]), "all that is in the dataset can be read\n");
    made.add(&made.traces);
    assert_eq!(made.number("SELECT count(*) FROM runs"), 4.0);
}

#[test]
fn a_compacted_dataset_answers_as_before() {
    let made = Made::of(&Fleet { runs: 6, samples: 200, days: 1, ..Fleet::default() });
    made.traces.iter().for_each(|path| drop(made.add(&[path.clone()])));
    let dataset = made.dataset();
    let ask = || {
        let questions = [
            "SELECT count(*), CAST(sum(weight) AS BIGINT) FROM samples",
            "SELECT count(*), CAST(sum(bytes) AS BIGINT) FROM rollup",
            "SELECT count(*), CAST(sum(live_bytes) AS BIGINT) FROM growth",
            "SELECT count(*) FROM places",
            "SELECT * FROM runs ORDER BY run",
        ];
        questions.map(|sql| printed(&["query", text(&dataset), sql]))
    };
    let files = || walk(&dataset).into_iter().filter(|it| it.ends_with(".parquet")).count();
    let (before, many) = (ask(), files());
    printed(&["compact", text(&dataset)]);
    assert_eq!(ask(), before);
    // Two services, six tables.
    assert_eq!((many, files()), (36, 12));
    assert!(printed(&["check", text(&dataset)]).contains("can be read"));
    assert!(made.add(&made.traces).contains("6 were there already"));
}

#[test]
fn old_runs_go() {
    let made = Made::of(&Fleet { runs: 8, samples: 100, days: 4, ..Fleet::default() });
    made.add(&made.traces);
    printed(&["expire", text(&made.dataset()), "--older-than", "2026-01-03"]);
    assert_eq!(made.number("SELECT count(*) FROM runs"), 4.0);
    let samples = made.number("SELECT sum(samples) FROM runs");
    assert_eq!(made.number("SELECT count(*) FROM samples"), samples);
}

#[test]
fn what_is_no_trace_or_no_dataset_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, bad) = (folder.path().join("dataset"), folder.path().join("bad.lt"));
    std::fs::write(&bad, b"no trace").unwrap();
    let output = fleet(&["add", text(&dataset), text(&bad)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("bad.lt"), "{told}");
    let output = fleet(&["runs", text(&folder.path().join("nowhere"))]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("there is no dataset"), "{told}");
    // What is somebody else's is left alone.
    let output = fleet(&["add", text(folder.path()), text(&bad)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("neither empty nor a dataset"), "{told}");
}

fn walk(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(walk(&path)),
            false => files.push(text(&path).to_owned()),
        }
    }
    files
}
