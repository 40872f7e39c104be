//! Blocks to which nothing points any more, and blocks to which something does in ways that are easily overlooked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lifetrace_recorder::{
    CollectorOptions, CommandEnd, Config, Format, Introduction, MOST_FRAMES, Rate, Rates,
    Recording, Schedule, SourceChoice,
};
use serde_json::Value;

use crate::support::fixture;
use crate::support::hazard::EXACT;
use crate::support::run::{Outcome, Target, lifetrace_verb};

/// For each of the fixture's functions, who has its blocks, and how many.
type Found = BTreeMap<String, BTreeMap<String, usize>>;

/// All of them, threads' and registers' excepted.
const WAYS: usize = 29;

fn found(trace: &Path) -> Found {
    let dump = lifetrace_verb(&["dump", trace.to_str().unwrap()]).stdout_text();
    let lines = dump.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let (mut functions, mut found) = (BTreeMap::new(), Found::new());
    for line in lines.filter(|line| line.len() > 2) {
        match &line[1..] {
            ["allocation", id, backtrace @ ..] => {
                let way = way(&backtrace.join(" "));
                functions.extend(way.map(|way| ((*id).to_owned(), way)));
            }
            ["fact", "held", by, rest @ ..] => {
                let ids = rest.iter().filter_map(|field| field.strip_prefix("id="));
                for function in ids.filter_map(|id| functions.get(id)) {
                    let holders = found.entry(function.clone()).or_default();
                    *holders.entry(by["by=".len()..].to_owned()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// The function of the fixture that an allocation is from.
fn way(backtrace: &str) -> Option<String> {
    let mut words = backtrace.split(|byte: char| !byte.is_ascii_alphanumeric() && byte != '_');
    let way = words.rfind(|word| word.starts_with("lost_") || word.starts_with("held_"))?;
    Some(way.to_owned())
}

fn expected(function: &str) -> usize {
    match function {
        "held_by_large" | "held_by_its_end" | "held_by_a_timer" | "lost_large" => 1,
        "held_by_a_register" | "held_by_a_vector" => 1,
        _ => 7,
    }
}

/// Checks that what is lost was found to be so, to the block, and nothing else was.
fn check(found: &Found, ways: usize) {
    assert_eq!(found.len(), ways, "{found:#?}");
    for (function, holders) in found {
        assert_eq!(holders.values().sum::<usize>(), expected(function), "{function}: {holders:?}");
        let is_lost = |holder: &String| holder == "nothing" || holder == "lost";
        let is_right = |holder: &String| is_lost(holder) == function.starts_with("lost_");
        assert!(holders.keys().all(is_right), "{function}: {holders:?}");
    }
}

fn record(how: &str, options: &[&str]) -> crate::support::run::Recording {
    let target = Target::new(&[&fixture::c("lost")]).arguments(&[how]);
    let recording = target.record(&[EXACT, options].concat());
    assert_eq!(recording.outcome, target.bare());
    recording
}

#[test]
fn at_the_exit() {
    for how in ["exit", "_exit"] {
        let found = found(&record(how, &[]).trace_of("lost"));
        check(&found, WAYS);
        let holder = |function: &str| found[function].keys().next().unwrap().clone();
        for (function, by) in [
            ("held_by_a_variable", "variable"),
            ("held_by_a_block", "block"),
            ("held_by_a_table", "block"),
            ("held_on_a_stack", "thread"),
            ("held_by_a_file", "file"),
            ("held_by_a_mapping", "memory"),
            ("held_by_the_kernel", "kernel"),
            ("lost_at_once", "nothing"),
            ("lost_in_a_ring", "lost"),
            ("lost_pointing_to_itself", "nothing"),
        ] {
            assert_eq!(holder(function), by, "{function}");
        }
    }
}

#[test]
fn in_a_forked_child() {
    let recording = record("fork", &[]);
    let traces = recording.traces();
    let found: Vec<_> =
        traces.iter().map(|trace| found(trace)).filter(|it| !it.is_empty()).collect();
    assert_eq!(found.len(), 1, "{traces:?}");
    check(&found[0], WAYS);
}

/// What is lost is found whatever the allocator; what it keeps of its own may point to it all the same.
#[test]
fn other_allocators() {
    for library in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        let path = Path::new("/usr/lib/x86_64-linux-gnu").join(library);
        if !path.exists() {
            assert!(std::env::var_os("CI").is_none(), "CI must have {library}");
            eprintln!("skipped: no {library}");
            continue;
        }
        let target = Target::new(&[&fixture::c("lost")]).environment(&[("LD_PRELOAD", &path)]);
        let found = found(&target.record(EXACT).trace_of("lost"));
        let lost = |function: &str| {
            let count = |holder: &str| found[function].get(holder).copied().unwrap_or(0);
            count("nothing") + count("lost")
        };
        let held = found.keys().filter(|function| function.starts_with("held_"));
        held.for_each(|function| assert_eq!(lost(function), 0, "{library}: {function}"));
        let all: usize = found.keys().map(|function| lost(function)).sum();
        assert!(all > 0, "{library}: {found:#?}");
    }
}

/// The process goes on, with pointers in registers that no call would keep.
#[test]
fn when_the_recording_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (mark, trace) = (folder.path().join("not ready"), folder.path().join("x.lt"));
    fs::write(&mark, "").unwrap();
    let program = fixture::c("lost").into_os_string();
    let recording = Recording::start(&Config {
        command: vec![program, "spin".into(), mark.clone().into_os_string()],
        preload: include_bytes!(env!("LIFETRACE_PRELOAD_LIBRARY")),
        options: CollectorOptions {
            output: trace.clone().into_os_string().into(),
            overwrite: false,
            sources: SourceChoice::Native,
            rates: Rates::all(Rate::EXACT),
            stack_limit: MOST_FRAMES,
            seed: 1,
            follow_children: true,
            schedule: Schedule::default(),
            max_size: None,
            counters: None,
            format: Format::Lt,
            labels: Vec::new(),
            keep_empty: true,
            native_frames: false,
            small_objects: true,
            looks_for_lost: true,
            snapshots: lifetrace_recorder::SnapshotPlan::default(),
            standing: None,
            introduction: Introduction::default(),
        },
    })
    .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while mark.exists() {
        assert!(Instant::now() < deadline, "it has not come to pass");
        std::thread::yield_now();
    }
    recording.control().stop();
    assert_eq!(recording.wait_for_command(), CommandEnd::Abandoned);
    recording.finish();
    recording.control().forward(9);
    check(&found(&trace), WAYS + 2);
}

/// A debugger has the process; who does not want it, has no look.
#[test]
fn where_there_is_no_look() {
    let strace = Target::new(&["strace", "-f", "-o", "/dev/null"]);
    let target = strace.arguments(&[fixture::c("lost").to_str().unwrap()]);
    let recording = target.record(EXACT);
    assert_eq!(recording.outcome, target.bare());
    let trace = recording.trace_of("lost");
    assert!(found(&trace).is_empty());
    let page = lifetrace_verb(&["report", trace.to_str().unwrap()]).stdout_text();
    assert!(page.contains("was not looked through for lost blocks: a debugger"), "{page}");
    let recording = record("exit", &["--no-leak-check"]);
    assert!(found(&recording.trace_of("lost")).is_empty());
}

#[test]
fn pages_tell_what_is_lost() {
    let recording = record("exit", &[]);
    let trace = recording.trace_of("lost");
    let report = |arguments: &[&str]| -> Outcome {
        lifetrace_verb(&[&["report", trace.to_str().unwrap()], arguments].concat())
    };
    let page = report(&["--json", "--view", "leaks", "--machinery", "block"]);
    let page: Value = serde_json::from_slice(&page.stdout).unwrap();
    // A large one, and seven in each of seven ways.
    assert_eq!(page["lost"]["lost"]["bytes"], (256 << 10) + 49 * 48, "{page}");
    let sites = page["lost"]["callsites"].as_array().unwrap();
    assert_eq!(sites[0]["function"], "lost_large");
    assert_eq!(sites[0]["share"], 1.0);
    let summary = report(&["--machinery", "block"]).stdout_text();
    assert!(
        summary.contains("Lost: 258 KiB, 99.1 % of it from lost_large (targets/c/lost.c:"),
        "{summary}"
    );
    let leaks = report(&["--view", "leaks", "--machinery", "block"]).stdout_text();
    assert!(leaks.contains("Lost: nothing points to these blocks any more"), "{leaks}");
}
