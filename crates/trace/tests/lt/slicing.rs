//! Slices have what happened in them, and the births of what lived at their start.

use std::collections::{BTreeMap, BTreeSet};

use lifetrace_trace::fact::{Fact, Resize, SampledUnit, Sampler};
use lifetrace_trace::ids::{AllocationId, Bytes, SamplerId, Size, Timestamp, Words};
use lifetrace_trace::lt::Reader;
use lifetrace_trace::memtrace::Version;
use lifetrace_trace::transfer::{AnyWriter, Format, Plan, Span, copy_if, slice, slice_if};
use proptest::prelude::*;

use crate::copies::{converted, open};
use crate::property::lives;
use crate::sample;
use crate::support::{Birth, Record, RecordKind, START, fixtures_with, read, written};

pub fn sliced(trace: &[u8], span: Span, format: Format) -> Vec<u8> {
    let (plan, stopped) = Plan::new(&mut open(trace).without_backtraces(), span);
    assert!(stopped.is_none());
    let mut reader = open(trace);
    let info = plan.info(reader.info());
    let mut writer = AnyWriter::new(Vec::new(), &info, format).unwrap();
    assert!(slice(&mut reader, &mut writer, &plan).unwrap().is_none());
    writer.finish().unwrap()
}

fn span(from: u64, to: u64) -> Span {
    Span { from: Some(from), to: Some(to) }
}

fn birth(id: u64) -> RecordKind {
    RecordKind::Birth(Birth {
        id,
        size: Size::Words(Words(id)),
        samples: 1,
        source: lifetrace_trace::event::Source::Minor,
        sampler: 0,
        is_truncated: false,
        backtrace: Vec::new(),
    })
}

fn at(time: u64, kind: RecordKind) -> Record {
    Record { time: START.0 + time, thread: 0, domain: 0, kind }
}

#[test]
fn what_lives_at_the_start_was_born_there() {
    let resize = |id, bytes| {
        RecordKind::Fact(Fact::Resize(Resize {
            id: AllocationId(id),
            size: Size::Bytes(Bytes(bytes)),
        }))
    };
    let sampler = |rate| {
        let (id, unit) = (SamplerId(0), SampledUnit::Byte);
        RecordKind::Fact(Fact::Sampler(Sampler { id, unit, rate, name: "malloc".into() }))
    };
    let clock = |time| RecordKind::Fact(Fact::WallClock(Timestamp(time)));
    let marker = |text: &str| RecordKind::Fact(Fact::Marker(text.into()));
    let all = [
        at(0, sampler(0.5)),
        at(1, clock(1000)),
        at(2, birth(0)),
        at(3, birth(1)),
        at(4, marker("before")),
        at(5, resize(1, 100)),
        at(6, resize(1, 200)),
        at(6, clock(2000)),
        at(7, sampler(0.25)),
        at(8, birth(2)),
        at(8, RecordKind::Promotion(2)),
        at(9, RecordKind::Collection(0)),
        at(10, marker("at the start")),
        at(11, RecordKind::Collection(1)),
        at(19, birth(3)),
        at(20, marker("at the end")),
        at(21, RecordKind::Collection(2)),
    ];
    let slice = sliced(&written(&all), span(10, 20), Format::Lt);
    let expected = [
        at(10, sampler(0.5)),
        at(10, birth(1)),
        at(10, resize(1, 200)),
        at(10, clock(2004)),
        at(10, sampler(0.25)),
        at(10, birth(2)),
        at(10, RecordKind::Promotion(2)),
        at(10, marker("at the start")),
        at(11, RecordKind::Collection(1)),
        at(19, birth(3)),
    ];
    assert_eq!(read(&slice), expected);
    let mut reader = Reader::open(&slice[..]).unwrap();
    while reader.next().unwrap().is_some() {}
    assert_eq!(reader.info().start_time.0, START.0 + 10);
    assert_eq!(reader.end_time().0, START.0 + 20);
}

#[test]
fn all_of_a_trace_is_a_slice_of_it() {
    let all = sliced(&sample::trace(), Span::default(), Format::Lt);
    assert_eq!(read(&all), sample::parts().concat());
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let format = Format::Memtrace(open(&bytes).as_memtrace().unwrap().version());
        let all = sliced(&bytes, Span { from: Some(0), to: None }, format);
        assert!(all == converted(&bytes, format).0, "{}", path.display());
    }
}

/// What can be said of a trace without knowing how it was made: the blocks that live when it ends, and
/// how many events there are of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    living: BTreeSet<u64>,
    births: u64,
    deaths: u64,
    backtraces: BTreeMap<u64, Vec<u64>>,
}

impl Counts {
    fn of(trace: &[u8]) -> Self {
        let mut counts = Self::default();
        let mut reader = open(trace);
        while let Some(told) = reader.next().unwrap() {
            use lifetrace_trace::record::RecordKind;
            match told.kind {
                RecordKind::Birth(birth) => {
                    counts.births += 1;
                    counts.living.insert(birth.id.0);
                    let backtrace = reader.backtrace().iter().map(|code| code.0).collect();
                    counts.backtraces.insert(birth.id.0, backtrace);
                }
                RecordKind::Collection(id) => {
                    counts.deaths += 1;
                    assert!(counts.living.remove(&id.0), "{} was never born", id.0);
                }
                RecordKind::Promotion(_) | RecordKind::Fact(_) => {}
            }
        }
        counts
    }
}

/// Two neighbouring slices tell what the trace tells; what lives between them is born twice.
fn check_cut(trace: &[u8], cut: u64, format: Format) {
    let all = Counts::of(trace);
    let first = Counts::of(&sliced(trace, Span { from: None, to: Some(cut) }, format));
    let second = Counts::of(&sliced(trace, Span { from: Some(cut), to: None }, format));
    let between = first.living.len() as u64;
    assert_eq!(first.births + second.births, all.births + between, "at {cut}");
    assert_eq!(first.deaths + second.deaths, all.deaths, "at {cut}");
    assert_eq!(second.living, all.living, "at {cut}");
    for counts in [&first, &second] {
        for (id, backtrace) in &counts.backtraces {
            assert_eq!(backtrace, &all.backtraces[id], "backtrace of {id}");
        }
    }
    assert!(first.living.iter().all(|id| second.backtraces.contains_key(id)), "at {cut}");
}

#[test]
fn neighbouring_slices_of_real_traces_are_the_whole() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = open(&bytes);
        while reader.next().unwrap().is_some() {}
        let duration = reader.end_time().0 - reader.info().start_time.0;
        for part in 1..4 {
            check_cut(&bytes, duration * part / 4, Format::Lt);
            check_cut(&bytes, duration * part / 4, Format::Memtrace(Version::V3));
        }
    }
}

/// What is told of blocks whose ids are no multiples of three.
fn is_kept(kind: &RecordKind) -> bool {
    match kind {
        RecordKind::Birth(birth) => birth.id % 3 != 0,
        RecordKind::Promotion(id) | RecordKind::Collection(id) => id % 3 != 0,
        RecordKind::Fact(_) => true,
    }
}

/// A slice of some blocks, or a copy.
fn some_of(trace: &[u8], span: Option<Span>) -> Vec<u8> {
    let keeps = |told: &lifetrace_trace::record::Record| {
        use lifetrace_trace::record::RecordKind;
        match &told.kind {
            RecordKind::Birth(birth) => birth.id.0 % 3 != 0,
            RecordKind::Promotion(id) | RecordKind::Collection(id) => id.0 % 3 != 0,
            RecordKind::Fact(_) => true,
        }
    };
    let plan = Plan::new(&mut open(trace).without_backtraces(), span.unwrap_or_default()).0;
    let mut reader = open(trace);
    let info = plan.info(reader.info());
    let mut writer = AnyWriter::new(Vec::new(), &info, Format::Lt).unwrap();
    let stopped = match span {
        Some(_) => slice_if(&mut reader, &mut writer, &plan, |_, told| keeps(told)),
        None => copy_if(&mut reader, &mut writer, |_, told| keeps(told)),
    };
    assert!(stopped.unwrap().is_none());
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn neighbouring_slices_are_the_whole(all in lives(), cut in 0..20_000u64) {
        check_cut(&written(&all), cut, Format::Lt);
    }

    /// A slice of a slice is a slice.
    #[test]
    fn slices_can_be_sliced(
        all in lives(), start in 0..5_000u64, inner in 0..5_000u64, length in 0..5_000u64
    ) {
        let trace = written(&all);
        let outer = sliced(&trace, Span { from: Some(start), to: None }, Format::Lt);
        let twice = sliced(&outer, span(inner, inner + length), Format::Lt);
        let once = sliced(&trace, span(start + inner, start + inner + length), Format::Lt);
        prop_assert_eq!(read(&twice), read(&once));
    }

    /// What is left out takes nothing else with it, and backtraces stay as they are.
    #[test]
    fn some_blocks_only(all in lives(), start in 0..5_000u64, length in 0..5_000u64) {
        let trace = written(&all);
        let some = |trace: &[u8]| -> Vec<_> {
            read(trace).into_iter().filter(|told| is_kept(&told.kind)).collect()
        };
        prop_assert_eq!(read(&some_of(&trace, None)), some(&trace));
        let span = span(start, start + length);
        let slice = sliced(&trace, span, Format::Lt);
        prop_assert_eq!(read(&some_of(&trace, Some(span))), some(&slice));
    }
}
