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
        let rows = json(&["query", text(&self.dataset()), sql, "--json"]);
        let row = rows[0].as_object().unwrap();
        row.values().next().unwrap().as_f64().unwrap()
    }
}

/// The errors of both questions are 5 % at most; of 20 fleets one may have something that is not there.
#[test]
fn what_is_planted_is_found_and_nothing_else() {
    let outcomes: Vec<Option<String>> = (1..=20).map(misjudged).collect();
    let wrong: Vec<_> = outcomes.iter().flatten().collect();
    assert!(wrong.len() <= 1, "{wrong:?}");
}

/// What is found of a fleet beside what is planted, or is not found.
fn misjudged(seed: u64) -> Option<String> {
    let fleet = Fleet { runs: 60, samples: 3_000, seed, ..Fleet::default() };
    let made = Made::of(&fleet);
    made.add(&made.traces);
    let dataset = made.dataset();
    let leaks = json(&["leaks", text(&dataset), "--json"]);
    let found: Vec<_> = leaks["leaks"].as_array().unwrap().iter().collect();
    let since = |name: &str| {
        let leak = found.iter().find(|it| it["function"] == name)?;
        Some(leak["since"].as_str().map(str::to_owned))
    };
    let expected = [Some(Some("1.5".to_owned())), Some(None)];
    let leaks = ([NEW_LEAK, OLD_LEAK].map(since), found.len());
    let sides = ["--before", "version = 1.4", "--after", "version = 1.5"];
    let changed = json(&[&["regressions", text(&dataset), "--json"], &sides[..]].concat());
    let changed: Vec<_> = changed["changed"].as_array().unwrap().iter().collect();
    let names: Vec<_> = changed.iter().map(|it| it["function"].as_str().unwrap()).collect();
    let change = changed.iter().find(|it| it["function"] == REGRESSION);
    let is_right = leaks == (expected, 2)
        && names.len() == 2
        && names.contains(&NEW_LEAK)
        && change.is_some_and(is_as_planted);
    (!is_right).then(|| format!("seed {seed}: {leaks:?}, {names:?}, {change:?}"))
}

fn is_as_planted(change: &&Value) -> bool {
    let expected = (FACTOR - 1.0) * change["before"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|at| change["change95"][at].as_f64().unwrap());
    0.0 < low && low <= 1.3 * expected && 0.7 * expected <= high
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
    for sql in [
        "SELECT sum(weight * bytes) FROM samples",
        "SELECT sum(bytes) FROM totals",
        "SELECT sum(bytes) FROM rollup",
    ] {
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
    made.traces.iter().for_each(|path| drop(made.add(std::slice::from_ref(path))));
    let dataset = made.dataset();
    let ask = || {
        let questions = [
            "SELECT count(*), CAST(sum(weight) AS BIGINT) FROM samples",
            "SELECT count(*), CAST(sum(live_bytes) AS BIGINT) FROM totals",
            "SELECT hour, version, CAST(sum(bytes) AS BIGINT) FROM rollup GROUP BY hour, version ORDER BY hour, version",
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
    // Two services, seven tables.
    assert_eq!((many, files()), (42, 14));
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

/// A run that is a hundred times as busy is found, and what it allocates.
#[test]
fn a_run_that_differs_is_found_and_no_other() {
    let fleet = Fleet { runs: 40, samples: 2_000, services: 1, ..Fleet::default() };
    let made = Made::of(&fleet);
    made.add(&made.traces);
    let ask = || json(&["outliers", text(&made.dataset()), "--metric", "allocated", "--json"]);
    let calm = ask();
    assert_eq!(
        (calm["compared"].as_u64(), calm["outliers"].as_array().map(Vec::len)),
        (Some(40), Some(0))
    );
    let busy = made.folder.path().join("busy.lt");
    let larger = Fleet { runs: 41, samples: 12_000, ..fleet };
    larger.write(40, std::fs::File::create(&busy).unwrap()).unwrap();
    made.add(&[busy]);
    let answer = ask();
    let [outlier] = &answer["outliers"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!(outlier["trace"], "busy.lt");
    let [bytes, median] = ["bytes", "median"].map(|name| outlier[name].as_f64().unwrap());
    assert!((4.0..9.0).contains(&(bytes / median)), "{outlier}");
    let callsites = outlier["callsites"].as_array().unwrap();
    assert!(
        callsites.len() == 3 && callsites[0]["bytes"].as_f64() > callsites[0]["others"].as_f64()
    );
    let page = printed(&["outliers", text(&made.dataset()), "--metric", "allocated"]);
    assert!(page.contains("1 run differs") && page.contains("busy.lt"), "{page}");
}

/// Of other services not even the files need be there.
#[test]
fn who_asks_for_one_service_reads_its_files_alone() {
    let made = Made::of(&Fleet { runs: 8, samples: 100, services: 2, ..Fleet::default() });
    made.add(&made.traces);
    let dataset = made.dataset();
    for file in walk(&dataset).iter().filter(|it| it.contains("/service-1/")) {
        std::fs::remove_file(file).unwrap();
    }
    let of = ["--where", "service = service-0", "--json"];
    let ask = |verb| fleet(&[&[verb, text(&dataset)], &of[..]].concat());
    for verb in ["top", "leaks", "runs", "outliers"] {
        let output = ask(verb);
        assert!(output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let whole = fleet(&["top", text(&dataset)]);
    let told = String::from_utf8_lossy(&whole.stderr).into_owned();
    assert!(!whole.status.success() && told.contains("has been removed"), "{told}");
}

#[test]
fn one_trace_of_many_runs_says_what_they_say() {
    let made = Made::of(&Fleet { runs: 6, samples: 500, ..Fleet::default() });
    made.add(&made.traces);
    let trace = made.folder.path().join("fleet.lt");
    let dataset = made.dataset();
    let words = ["extract", text(&dataset), "-o", text(&trace), "--where", "version = 1.5"];
    assert!(fleet(&words).status.success());
    let later = &made.traces[3..];
    let summary = |path: &Path| {
        let names = lifetrace_study::open::Backtraces::Read;
        let reading = lifetrace_study::read(path, names, lifetrace_study::watch::unwatched);
        let summary = reading.unwrap().profile.summary();
        let sums = [&summary.allocated, &summary.live];
        (summary.samples, sums.map(|it| (it.bytes.value, it.bytes.variance, it.objects.value)))
    };
    let (samples, sums) = summary(&trace);
    let each: Vec<_> = later.iter().map(|path| summary(path)).collect();
    assert_eq!(samples, each.iter().map(|it| it.0).sum::<u64>());
    for (at, (bytes, variance, objects)) in sums.into_iter().enumerate() {
        let sum =
            |of: fn(&(f64, f64, f64)) -> f64| each.iter().map(|it| of(&it.1[at])).sum::<f64>();
        for (found, expected) in
            [(bytes, sum(|it| it.0)), (variance, sum(|it| it.1)), (objects, sum(|it| it.2))]
        {
            assert!((found / expected - 1.0).abs() < 1e-6, "{at}: {found} {expected}");
        }
    }
    let stacks = printed(&[
        "flamegraph",
        text(&dataset),
        "--metric",
        "allocated",
        "--where",
        "version = 1.5",
    ]);
    let bytes = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
    let sum: f64 = stacks.lines().map(bytes).sum();
    assert!((sum / sums[0].0 - 1.0).abs() < 1e-6, "{sum}");
    assert!(stacks.lines().any(|line| line.starts_with("main;Server.loop;")));
    // Nothing is overwritten, and too much is refused.
    assert!(!fleet(&words).status.success());
    let refused = fleet(&["extract", text(&dataset), "-o", "none.lt", "--most", "10"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("--where"), "{told}");
}
