//! `--view leaks` of traces of programs that are known to leak, or not to.

use std::collections::VecDeque;
use std::sync::Arc;

use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::{Fact, SampledUnit, Sampler};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};
use lifetrace_trace::lth::{self, Header};
use serde_json::Value;

use crate::*;

const START: u64 = 1_786_965_711_174_340;
const SECOND: u64 = 1_000_000;
const INTERVAL: f64 = 65_536.0;

/// The functions that allocate, by their codes; all are called by `main`.
const FUNCTIONS: [&str; 6] =
    ["main", "load_tables", "cache_insert", "parse_request", "log_context", "session_open"];

/// Seconds until the program ends, and whether `log_context` forgets what it allocates.
struct Server {
    seconds: u64,
    leaks: bool,
}

/// What is written of it.
struct Recording {
    writer: Writer<Vec<u8>>,
    random: u64,
    now: u64,
    /// Blocks that will be freed, by their times.
    dying: Vec<(u64, AllocationId)>,
}

impl Recording {
    fn new() -> Self {
        let info = TraceInfo {
            sample_rate: 8.0 / INTERVAL,
            word_bits: 64,
            executable_name: "/bin/server".into(),
            host_name: "machine".into(),
            runtime_params: String::new(),
            pid: 4242,
            start_time: Timestamp(START),
            initial_domain: DomainId(0),
            context: Some("server --port 80".into()),
        };
        let mut writer = Writer::new(Vec::new(), &info).unwrap();
        let (name, unit) = (Arc::from("malloc"), SampledUnit::Byte);
        let sampler = Sampler { id: SamplerId(0), name, unit, rate: 1.0 / INTERVAL };
        writer.fact(Timestamp(START), &Fact::Sampler(sampler)).unwrap();
        Self { writer, random: 7, now: 0, dying: Vec::new() }
    }

    /// At least 0, less than 1.
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// So many blocks; gives back one that is sampled of them, as it may happen.
    fn allocate(&mut self, function: u64, bytes: u64, blocks: u64) -> Option<AllocationId> {
        let expected = (bytes * blocks) as f64 / INTERVAL;
        assert!(expected < 0.5, "two of them might be sampled");
        if self.draw() >= expected {
            return None;
        }
        let birth = NewBirth {
            size: Size::Bytes(Bytes(bytes)),
            samples: 1,
            source: Source::External,
            sampler: SamplerId(0),
            is_truncated: false,
            backtrace: &[LocationCode(0), LocationCode(function)],
            common_prefix: 0,
            id: None,
        };
        self.writer.switch(ThreadId(0), DomainId(0));
        Some(self.writer.birth(Timestamp(START + self.now), &birth, &mut locate).unwrap())
    }

    fn free(&mut self, id: AllocationId) {
        self.writer.collection(Timestamp(START + self.now), id).unwrap();
    }

    /// Frees what is due in the next step, each block at its time.
    fn step(&mut self, micros: u64) {
        let end = self.now + micros;
        self.dying.sort_unstable();
        let due = self.dying.partition_point(|&(time, _)| time <= end);
        for (time, id) in self.dying.drain(..due).collect::<Vec<_>>() {
            self.now = time;
            self.free(id);
        }
        self.now = end;
    }
}

fn locate(code: LocationCode) -> Frame {
    let location = Location {
        filename: "src/server.c".into(),
        line: 10 * (1 + code.0 as u32),
        start_char: 0,
        end_char: 0,
        defname: FUNCTIONS[code.0 as usize].into(),
    };
    Frame { locations: vec![location], kind: FrameKind::Native, module: None }
}

impl Server {
    /// Tables of 16 MiB at the start; then, 500 times a second, a request that allocates 50 blocks of
    /// 200 bytes for a short while, puts 2 KiB into a cache of 4 MiB, opens a session of 1 KiB for up
    /// to 10 s, and allocates 512 bytes more.
    fn record(&self) -> Vec<u8> {
        let mut recording = Recording::new();
        for _ in 0..16 << 20 >> 14 {
            recording.allocate(1, 1024, 16);
            recording.step(100);
        }
        let mut cache = VecDeque::new();
        while recording.now < self.seconds * SECOND {
            if let Some(id) = recording.allocate(3, 200, 50) {
                let age = (300.0 * recording.draw()) as u64;
                recording.dying.push((recording.now + age, id));
            }
            cache.push_back(recording.allocate(2, 2048, 1));
            if cache.len() > 2048 {
                cache.pop_front().flatten().into_iter().for_each(|id| recording.free(id));
            }
            if let Some(id) = recording.allocate(5, 1024, 1) {
                let age = (10e6 * recording.draw()) as u64;
                recording.dying.push((recording.now + age, id));
            }
            let context = recording.allocate(4, 512, 1).filter(|_| !self.leaks);
            recording.step(2000);
            context.into_iter().for_each(|id| recording.free(id));
        }
        recording.writer.finish().unwrap()
    }
}

/// With nothing of where the trace is.
fn report(trace: &[u8], options: &[&str]) -> String {
    let scratch = Scratch::new(trace);
    let arguments = [&["report", "-", "--view", "leaks"], options].concat();
    let output = run_on(&scratch.path(), &arguments);
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("", Some(0)));
    text(&output.stdout)
}

fn found(trace: &[u8], options: &[&str]) -> Value {
    serde_json::from_str(&report(trace, &[options, &["--json"]].concat())).unwrap()
}

fn kind<'v>(found: &'v Value, function: &str) -> &'v str {
    let sites = found["callsites"].as_array().unwrap();
    let site = sites.iter().find(|site| site["function"] == function);
    site.map_or("nothing", |site| site["kind"].as_str().unwrap())
}

#[test]
fn the_leak_is_found_and_the_cache_is_not() {
    let trace = Server { seconds: 600, leaks: true }.record();
    check_golden("view-leaks-found.txt", &report(&trace, &[]));
    check_golden("view-leaks-found.json", &report(&trace, &["--json"]));
    let found = found(&trace, &[]);
    assert_eq!((&found["verdict"], &found["leaking_callsites"]), (&"leaks".into(), &1.into()));
    assert_eq!(kind(&found, "log_context"), "leak");
    assert_eq!(kind(&found, "cache_insert"), "plateau");
    assert_eq!(kind(&found, "load_tables"), "start-up");
    assert_ne!(kind(&found, "session_open"), "leak");
    let growth = &found["growth_together"];
    let truth = 500.0 * 512.0 * 3600.0;
    let [low, high] = ["low95", "high95"].map(|end| &growth[format!("bytes_per_hour_{end}")]);
    assert!(low.as_f64().unwrap() < truth && truth < high.as_f64().unwrap(), "{growth}");
}

#[test]
fn a_smaller_limit_is_reached_earlier() {
    let trace = Server { seconds: 120, leaks: true }.record();
    let hours = |limit| {
        let found = found(&trace, &["--limit", limit]);
        found["limit_reached"]["hours"].as_f64().unwrap()
    };
    assert_eq!(hours("1MiB"), 0.0);
    let page = report(&trace, &["--limit", "1MiB"]);
    assert!(page.contains("is more than 1MiB.") && page.contains("alone it is more than 1MiB"));
    let [small, large] = ["1GiB", "4GiB"].map(hours);
    assert!((3.9..4.6).contains(&(large / small)), "{small} {large}");
}

#[test]
fn without_a_leak_none_is_found() {
    let found = found(&Server { seconds: 300, leaks: false }.record(), &[]);
    assert_eq!(found["verdict"], "no-leak", "{}", found["callsites"]);
    assert_eq!((&found["growth_together"], &found["limit_reached"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_few_seconds_are_too_short_to_tell() {
    let trace = Server { seconds: 5, leaks: true }.record();
    assert_eq!(found(&trace, &[])["verdict"], "too-short");
    let page = report(&trace, &[]);
    assert!(page.contains("Too short to tell") && page.contains("load_tables"), "{page}");
}

/// The births of a function, in the order in which a trace tells them.
fn births(trace: &Path, function: &str) -> Vec<u64> {
    let dump = stdout(&["dump", "--no-facts", argument(trace)]);
    let of_it = dump.lines().filter(|line| line.contains(&format!("{function} (")));
    of_it.map(|line| line.split('\t').nth(2).unwrap().parse().unwrap()).collect()
}

/// A snapshot of the server in which a variable has an array with these samples; the last one is on a stack alone.
fn snapshot(samples: &[u64], trace: &str, pid: u64, seconds: u64) -> Vec<u8> {
    let header = Header {
        program: "/bin/server".into(),
        pid,
        time: (START + seconds * SECOND) * 1000,
        runtime: "OCaml".into(),
        cause: "asked for".into(),
        trace: Some(trace.into()),
        ..Header::default()
    };
    let mut writer = lth::Writer::new(Vec::new(), &header).unwrap();
    let mut kind = |name: &str, form| writer.kind(&lth::Kind { name: name.into(), form }).unwrap();
    let [array, string] = [kind("tag 0", lth::Form::Fields), kind("string", lth::Form::String)];
    let mut root = |category: &str, name: Option<&str>, to| {
        let (category, name, slot) = (category.into(), name.map(Arc::from), lth::Address(8));
        writer.root(&lth::Root { category, name, slot, to }).unwrap();
    };
    root("globals", Some("Server, field 3"), lth::Field::Next);
    root("stack", None, lth::Field::Next);
    let held = samples.len() - 1;
    let address = |at: usize| lth::Address(0x10_0000 + 1024 * at as u64);
    let mut block = |at, kind, bytes, fields: &[lth::Field]| {
        let (address, outside, detail) = (address(at), 0, None);
        writer.block(&lth::Block { address, bytes, outside, kind, fields, detail }).unwrap();
    };
    block(samples.len(), array, 8 + 8 * held as u64, &vec![lth::Field::Next; held]);
    block(held, string, 512, &[]);
    (0..held).for_each(|at| block(at, string, 512, &[]));
    let site = writer.site(&lth::Site::default()).unwrap();
    for (at, &id) in samples.iter().enumerate() {
        let (address, weight, born) = (address(at), 128.0, 0);
        writer.sample(&lth::Sample { id, address, site, weight, born }).unwrap();
    }
    writer.finish(&lth::Outcome::default()).unwrap()
}

/// What holds a leak is told by the newest snapshot of the process that lies beside its trace.
#[test]
fn what_holds_a_leak_is_told_by_a_snapshot_beside_the_trace() {
    let scratch = Scratch::new(&Server { seconds: 120, leaks: true }.record());
    let leaked = births(&scratch.path(), "log_context");
    assert!(leaked.len() > 60, "{leaked:?}");
    let beside = |number: u32| scratch.path().with_extension(format!("{number}.lth"));
    let words = ["report", "--view", "leaks", argument(&scratch.path())].map(str::to_owned);
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let page = || stdout(&words).split_whitespace().collect::<Vec<_>>().join(" ");
    let (trace, before) = (Scratch::NAME, page());
    assert!(!before.contains("held by"), "{before}");
    // Of another process, another trace, another time.
    let all = &leaked[..leaked.len() - 20];
    fs::write(beside(1), snapshot(all, trace, 4243, 100)).unwrap();
    fs::write(beside(2), snapshot(all, "other.lt", 4242, 100)).unwrap();
    fs::write(beside(3), snapshot(all, trace, 4242, 200)).unwrap();
    fs::write(beside(4), "nothing").unwrap();
    assert_eq!(page(), before);
    // Not the newest; the newest.
    fs::write(beside(5), snapshot(&all[..10], trace, 4242, 50)).unwrap();
    fs::write(beside(6), snapshot(all, trace, 4242, 100)).unwrap();
    let held = format!(
        "held by Server, field 3 > array ({} of {} samples in scratch.6.lth)",
        all.len() - 1,
        all.len()
    );
    assert!(page().contains(&held), "{held} is not in {}", page());
    let document = json(&[&words[..], &["--json"]].concat());
    let callsite = document["callsites"].as_array().unwrap();
    let callsite = callsite.iter().find(|it| it["function"] == "log_context").unwrap();
    let held_by = &callsite["held_by"];
    assert_eq!(held_by["path"], serde_json::json!(["Server, field 3", "array"]));
    assert_eq!(held_by["samples_in_snapshot"], all.len());
    assert_eq!(held_by["snapshot"], "scratch.6.lth");
}
