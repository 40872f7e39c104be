//! Pages about what lives, of processes that have far more memory than that.

use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::fact::{Counters, Fact, SampledUnit, Sampler};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};

use crate::*;

const MIB: u64 = 1 << 20;
const TENTHS: u64 = 120;

/// Twelve seconds of a program that has 2 MiB alive, 8 MiB for a moment in its middle, and so many MiB of
/// memory at each tenth of a second.
fn trace(megabytes: impl Fn(u64) -> u64) -> Scratch {
    let info = TraceInfo {
        sample_rate: 1.0,
        word_bits: 64,
        executable_name: "/bin/server".into(),
        host_name: "machine".into(),
        runtime_params: String::new(),
        pid: 7,
        start_time: Timestamp(1_000_000),
        initial_domain: DomainId(0),
        context: None,
    };
    let mut writer = Writer::new(Vec::new(), &info).unwrap();
    let start = Timestamp(1_000_000);
    let sampler =
        Sampler { id: SamplerId(0), name: "malloc".into(), unit: SampledUnit::Byte, rate: 1.0 };
    writer.fact(start, &Fact::Sampler(sampler)).unwrap();
    let birth = |bytes| NewBirth {
        size: Size::Bytes(Bytes(bytes)),
        samples: bytes,
        source: Source::External,
        sampler: SamplerId(0),
        is_truncated: false,
        backtrace: &[LocationCode(7)],
        common_prefix: 0,
        id: None,
    };
    writer.birth(start, &birth(2 * MIB), &mut |_| Frame::default()).unwrap();
    for tenth in 0..=TENTHS {
        let time = Timestamp(start.0 + 100_000 * tenth);
        let resident = Some(Bytes(megabytes(tenth) * MIB));
        writer.fact(time, &Fact::Counters(Counters { resident, ..Counters::default() })).unwrap();
        if tenth == TENTHS / 2 {
            writer.birth(time, &birth(6 * MIB), &mut |_| Frame::default()).unwrap();
            writer.collection(Timestamp(time.0 + 1000), AllocationId(1)).unwrap();
        }
    }
    Scratch::new(&writer.finish().unwrap())
}

fn page(trace: &Scratch, options: &[&str]) -> String {
    let path = trace.path();
    let page = stdout(&[&["report", argument(&path)], options].concat());
    // In one line, wherever it is broken.
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

const AT_THE_END: &str = "esident at the end: 400 MiB, of which 2 MiB (0.5 %) lives. The rest may be \
    memory that the allocator keeps free (fragmentation, for one); what the program maps itself,";
const AT_THE_PEAK: &str = "Note: resident at the peak: 300 MiB, of which 8 MiB (2.7 %) lived. The rest \
    may be memory that the allocator keeps free (fragmentation, for one); what the program maps itself,";

/// 300 MiB in the first half, then 400.
fn much() -> Scratch {
    trace(|tenth| if tenth <= TENTHS / 2 { 300 } else { 400 })
}

#[test]
fn what_lives_is_told_to_be_little_of_the_memory() {
    let much = much();
    for (options, sentence) in [
        (&["--view", "summary"][..], AT_THE_END),
        (&["--view", "leaks"], AT_THE_END),
        (&["--view", "sizes"], AT_THE_END),
        (&["--view", "threads"], AT_THE_END),
        (&["--view", "timeline"], AT_THE_END),
        (&["--view", "hot", "--metric", "live"], AT_THE_END),
        (&["--view", "peak"], AT_THE_PEAK),
        (&["--view", "tree", "--metric", "peak"], AT_THE_PEAK),
        (&["--view", "functions", "--metric", "peak"], AT_THE_PEAK),
    ] {
        let page = page(&much, options);
        assert!(page.contains(sentence), "{options:?}: {page}");
        assert_eq!(page.matches("esident at").count(), 1, "{options:?}: {page}");
    }
    for options in [&["--view", "hot"][..], &["--view", "temporary"], &["--filter", "size > 1"]] {
        let page = page(&much, options);
        assert!(!page.contains("esident at"), "{options:?}: {page}");
    }
}

#[test]
fn where_it_is_enough_nothing_is_said() {
    let little = trace(|_| 20);
    for view in ["peak", "sizes", "threads", "timeline"] {
        let page = page(&little, &["--view", view]);
        assert!(!page.contains("esident at"), "{view}: {page}");
    }
    let summary = page(&little, &[]);
    assert!(summary.contains("Resident at the end: 20 MiB, of which 2 MiB (10.0 %) lives."));
    assert!(!summary.contains("The rest may be"), "{summary}");
}

#[test]
fn more_may_live_than_is_resident() {
    let summary = page(&trace(|_| 1), &[]);
    let sentence =
        "Resident at the end: 1 MiB, 2 MiB lives, and is not resident in part: never written";
    assert!(summary.contains(sentence), "{summary}");
}

#[test]
fn memory_that_grows_beside_is_told_once() {
    let growing = trace(|tenth| 20 + 4 * tenth);
    for view in ["peak", "summary", "leaks", "sizes"] {
        let page = page(&growing, &["--view", view]);
        assert_eq!(page.matches("he process grows beside what was sampled").count(), 1, "{page}");
    }
}

#[test]
fn several_processes_are_added_up() {
    let (much, little) = (much(), trace(|_| 20));
    let (first, second) = (much.path(), little.path());
    let sum = |options: &[&str]| {
        let traces = ["report", argument(&first), argument(&second)];
        stdout(&[&traces, options].concat()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = "Note: resident at the ends of processes, added up (what they share counts in each): 420 \
                MiB, of which 4 MiB (1.0 %) lives. The rest of scratch.lt, which has most of it, may be \
                memory that the allocator keeps free";
    for options in [&[][..], &["--per-process"], &["--view", "hot", "--metric", "live"]] {
        assert!(sum(options).contains(told), "{options:?}: {}", sum(options));
    }
    assert!(!sum(&["--view", "hot"]).contains("esident"));
    assert!(!sum(&["--filter", "size > 1"]).contains("esident"));
    let gated = ["report", argument(&first), argument(&second), "--fail-if", "live > 100MB"];
    let told = text(&run(&gated).stderr);
    assert!(
        told.contains("not true of what was sampled, but of the process's memory: live"),
        "{told}"
    );
    assert!(told.contains("\n  Resident at the ends of processes"), "{told}");
    let growing = trace(|tenth| 20 + 4 * tenth);
    let path = growing.path();
    let page = stdout(&["report", argument(&path), argument(&second)]);
    assert!(
        page.contains("Note: 1 process grows beside what was sampled, scratch.lt by"),
        "{page}"
    );
}

#[test]
fn budgets_that_only_the_samples_keep_are_told() {
    let told = |trace: &Scratch, condition: &str, options: &[&str]| {
        let path = trace.path();
        let arguments = ["report", argument(&path), "--fail-if", condition];
        let output = run(&[&arguments, options].concat());
        assert_eq!(output.status.code(), Some(0), "{condition}");
        text(&output.stderr)
    };
    let head =
        "lifetrace: condition is not true of what was sampled, but of the process's memory: ";
    let much = much();
    let live = told(&much, "live > 100MB", &[]);
    assert!(
        live.starts_with(&format!("{head}live > 100MB\n  2 MiB live at the end (exactly),")),
        "{live}"
    );
    assert!(
        live.contains("\n  Resident at the end: 400 MiB, of which 2 MiB (0.5 %) lives."),
        "{live}"
    );
    let peak = told(&much, "peak > 100MB", &[]);
    assert!(peak.contains("\n  Resident at the peak: 300 MiB"), "{peak}");
    let growing = trace(|tenth| 20 + 4 * tenth);
    let growth = told(&growing, "growth > 1MB/h", &[]);
    assert!(growth.contains("\n  The process grows beside what was sampled: by"), "{growth}");
    for (condition, options) in [
        ("live > 500MB", &[][..]),
        ("allocated > 100MB", &[]),
        ("live < 1MB", &[]),
        ("growth > 1MB/h", &[]),
        ("live > 100MB", &["--filter", "size > 1"]),
    ] {
        assert_eq!(told(&much, condition, options), "", "{condition}");
    }
    assert_eq!(told(&trace(|_| 20), "live > 10MB", &[]), "");
    let path = much.path();
    let document = json(&["report", argument(&path), "--json", "--fail-if", "live > 1GB"]);
    assert_eq!(document["gates"][0].get("resident"), None);
    let output = run(&["report", argument(&path), "--json", "--fail-if", "live > 100MB"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["gates"][0]["resident"].as_f64(), Some((400 * MIB) as f64));
    assert_eq!(document["gates"][0]["failed"], false);
}

#[test]
fn programs_can_read_it() {
    let much = much();
    let path = much.path();
    let peak = json(&["report", argument(&path), "--view", "peak", "--json"]);
    assert_eq!(peak["resident"]["bytes"], 300 * MIB);
    assert_eq!(peak["resident"]["live_bytes"], 8 * MIB);
    let hot = json(&["report", argument(&path), "--view", "hot", "--json"]);
    assert_eq!(hot.get("resident"), None);
}
