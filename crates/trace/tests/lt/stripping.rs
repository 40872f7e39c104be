//! A stripped trace tells the same, but for names.

use std::collections::{BTreeMap, BTreeSet};

use lifetrace_trace::event::{GROWTH, GROWTH_NAME, TraceInfo};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::memtrace::Version;
use lifetrace_trace::record::{Record, RecordKind};
use lifetrace_trace::transfer::{AnyWriter, Format, Strip, strip};
use proptest::prelude::*;

use crate::copies::open;
use crate::property::lives;
use crate::sample;
use crate::support::{fixtures_with, written};

fn stripped(trace: &[u8], format: Format, without_lines: bool) -> Vec<u8> {
    let mut reader = open(trace);
    let mut names = Strip::new(without_lines);
    let info = names.info(reader.info());
    let mut writer = AnyWriter::new(Vec::new(), &info, format).unwrap();
    assert!(strip(&mut reader, &mut writer, &mut names).unwrap().is_none());
    writer.finish().unwrap()
}

/// A trace, taken apart.
struct Parts {
    info: TraceInfo,
    told: Vec<Record>,
    backtraces: Vec<Vec<LocationCode>>,
    frames: BTreeMap<LocationCode, Frame>,
}

impl Parts {
    fn of(trace: &[u8]) -> Self {
        let mut reader = open(trace);
        let mut parts = Self {
            info: reader.info().clone(),
            told: Vec::new(),
            backtraces: Vec::new(),
            frames: BTreeMap::new(),
        };
        while let Some(mut told) = reader.next().unwrap() {
            if let RecordKind::Birth(birth) = &mut told.kind {
                birth.common_prefix = 0;
                parts.backtraces.push(reader.backtrace().to_vec());
                for code in reader.backtrace() {
                    parts.frames.entry(*code).or_insert_with(|| reader.frame(*code));
                }
            }
            parts.told.push(told);
        }
        parts
    }

    /// All that was named by somebody: not keys of labels, versions, and the like.
    fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut add = |name: &str| names.extend([name.to_owned()]);
        let info = &self.info;
        [&info.executable_name, &info.host_name].into_iter().for_each(|it| add(it));
        info.context.iter().for_each(|it| add(it));
        for location in self.frames.values().flat_map(|frame| &frame.locations) {
            add(&location.filename);
            add(&location.defname);
        }
        for told in &self.told {
            let RecordKind::Fact(fact) = &told.kind else { continue };
            match &**fact {
                Fact::Process(process) => {
                    process.arguments.iter().for_each(|it| add(it));
                    [&process.executable, &process.host, &process.container, &process.title]
                        .into_iter()
                        .for_each(|it| add(it));
                }
                Fact::Label(label) => add(&label.value),
                Fact::Marker(text) => add(text),
                Fact::ThreadName(thread) => add(&thread.name),
                Fact::Module(module) => add(&module.path),
                Fact::Parent(parent) => add(&parent.trace),
                _ => {}
            }
        }
        names
    }
}

/// Everything that is a string in the trace, as `{:?}` has it.
fn strings(parts: &Parts) -> String {
    format!("{:?} {:?} {:?}", parts.info, parts.told, parts.frames)
}

fn check(trace: &[u8], format: Format) -> Parts {
    let before = Parts::of(trace);
    let output = stripped(trace, format, false);
    let after = Parts::of(&output);
    let strings = strings(&after);
    for name in before.names().iter().filter(|name| name.len() >= 4 && *name != GROWTH_NAME) {
        assert!(!strings.contains(name.as_str()), "{name} is still told");
        let is_there = output.windows(name.len()).any(|it| it == name.as_bytes());
        assert!(!is_there, "{name} is in the file");
    }
    check_shapes(&before, &after);
    after
}

/// Checks that all events are left, and that frames and names are renamed one to one.
fn check_shapes(before: &Parts, after: &Parts) {
    assert_eq!(before.backtraces.len(), after.backtraces.len());
    let mut codes: BTreeMap<LocationCode, LocationCode> = BTreeMap::new();
    let mut names: BTreeMap<(bool, &str), &str> = BTreeMap::new();
    for (old, new) in before.backtraces.iter().zip(&after.backtraces) {
        assert_eq!(old.len(), new.len());
        for (old, new) in old.iter().zip(new) {
            assert_eq!(*codes.entry(*old).or_insert(*new), *new);
        }
    }
    let distinct: BTreeSet<_> = codes.values().collect();
    assert_eq!(distinct.len(), codes.len(), "two frames have become one");
    assert!(codes.values().all(|code| code.0 <= codes.len() as u64 || *code == GROWTH));
    for (old, new) in &codes {
        let (old, new) = (&before.frames[old], &after.frames[new]);
        assert_eq!(old.locations.len(), new.locations.len());
        for (old, new) in old.locations.iter().zip(&new.locations) {
            assert_eq!((old.line, old.start_char), (new.line, new.start_char));
            let pairs = [(true, &old.filename, &new.filename), (false, &old.defname, &new.defname)];
            for (is_file, old, new) in pairs {
                assert_eq!(*names.entry((is_file, old)).or_insert(new), &**new);
            }
        }
    }
    let distinct: BTreeSet<_> = names.iter().map(|((is_file, _), new)| (is_file, new)).collect();
    assert_eq!(distinct.len(), names.len(), "two names have become one");
    let events = |parts: &Parts| -> Vec<Record> {
        parts.told.iter().filter(|it| !matches!(it.kind, RecordKind::Fact(_))).cloned().collect()
    };
    assert_eq!(events(before), events(after));
}

#[test]
fn names_of_real_traces_are_gone() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        check(&bytes, Format::Lt);
        check(&bytes, Format::Memtrace(Version::V3));
    }
}

#[test]
fn facts_keep_what_is_no_name() {
    let parts = check(&sample::trace(), Format::Lt);
    let facts: Vec<String> = parts
        .told
        .iter()
        .filter_map(|it| match &it.kind {
            RecordKind::Fact(fact) => Some(format!("{fact:?}")),
            _ => None,
        })
        .collect();
    let all = facts.join("\n");
    for part in [
        "arguments: [\"a1\", \"a2\"], executable: \"m1\", pid: 4242",
        "host: \"h1\", container: \"k1\", runtime: \"ocaml\", runtime_version: \"4.14.1\"",
        "trace: \"p1.lt\"",
        "key: \"build\", value: \"v1\"",
        "name: \"malloc\", unit: Byte, rate: 0.001953125",
        "name: \"q1\", unit: Object",
        "start: 0, end: 192512, bias: 0, build_id: [], path: \"m2.so\"",
        "os_id: 4243, name: \"t1\"",
        "Marker(\"n1\")",
        "reason: \"ring-full\", count: 17",
    ] {
        assert!(all.contains(part), "no '{part}' in:\n{all}");
    }
    assert_eq!((&*parts.info.executable_name, &*parts.info.host_name), ("m1", "h1"));
    assert_eq!(parts.info.runtime_params, "a=0,b=1");
    assert_eq!(parts.info.context.as_deref(), Some("c1"));
    assert!(parts.frames[&GROWTH].locations[0].defname.contains("growth"));
}

#[test]
fn lines_go_when_asked() {
    let parts = Parts::of(&stripped(&sample::trace(), Format::Lt, true));
    let mut locations = parts.frames.values().flat_map(|frame| &frame.locations);
    assert!(locations.all(|it| (it.line, it.start_char, it.end_char) == (0, 0, 0)));
}

#[test]
fn parameters_of_the_runtime_that_could_be_names_are_gone() {
    let mut info = crate::support::info();
    for (parameters, is_kept) in [
        ("a=0,H=0x1f,s=256k", true),
        ("", true),
        ("e=/home/somebody", false),
        ("b=1,somebody", false),
        ("somebody=1", false),
    ] {
        info.runtime_params = parameters.into();
        let expected = if is_kept { parameters } else { "" };
        assert_eq!(Strip::new(false).info(&info).runtime_params, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn all_but_names_is_kept(all in lives()) {
        let trace = written(&all);
        let after = stripped(&trace, Format::Lt, false);
        check_shapes(&Parts::of(&trace), &Parts::of(&after));
    }
}
