//! Traces of a runtime that nothing here knows by name, sampled by objects: alone, and with malloc beside.

use std::io::Write as _;

use lifetrace_report::style::Width;
use lifetrace_report::{Options, Report};
use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::question::ViewName;
use lifetrace_study::watch::unwatched;
use lifetrace_trace::event::{Location, Source, TraceInfo, class_remark};
use lifetrace_trace::fact::{Collector, Cycle, Fact, Generation, Process, SampledUnit, Sampler};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};
use serde_json::Value;
use tempfile::NamedTempFile;

const START: u64 = 1_786_965_711_000_000;
/// One object of so many is sampled.
const APART: u64 = 100;
/// Objects in the trace, of which each fourth is promoted, and each second dies.
const OBJECTS: u64 = 200;
const OBJECT_BYTES: u64 = 40;
/// Of malloc.
const BLOCK_BYTES: u64 = 1000;

fn trace(has_malloc: bool) -> NamedTempFile {
    let rate = 1.0 / APART as f64;
    let info = TraceInfo {
        sample_rate: if has_malloc { 1.0 } else { rate },
        word_bits: 64,
        executable_name: "/bin/fake".into(),
        host_name: "machine".into(),
        runtime_params: String::new(),
        pid: 7,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: None,
    };
    let mut writer = Writer::new(Vec::new(), &info).unwrap();
    let process =
        Process { runtime: "fake".into(), runtime_version: "3.3".into(), ..Process::default() };
    let sampler = |id, name: &str, unit, rate| {
        Fact::Sampler(Sampler { id: SamplerId(id), name: name.into(), unit, rate })
    };
    let mut facts = vec![Fact::Process(process)];
    facts.extend(has_malloc.then(|| sampler(0, "malloc", SampledUnit::Word, 1.0)));
    facts.push(sampler(u8::from(has_malloc), "fake", SampledUnit::Object, rate));
    facts.iter().for_each(|fact| writer.fact(Timestamp(START), fact).unwrap());
    if has_malloc {
        birth(&mut writer, 0, (Source::External, 0), BLOCK_BYTES);
    }
    let first = u64::from(has_malloc);
    for number in first..first + OBJECTS {
        birth(&mut writer, number, (Source::Minor, first as u8), OBJECT_BYTES);
    }
    let number = |step| (first..first + OBJECTS).step_by(step).map(AllocationId);
    number(4).for_each(|id| writer.promotion(Timestamp(START + 500_000), id).unwrap());
    number(2).for_each(|id| writer.collection(Timestamp(START + 600_000), id).unwrap());
    let cycle = Cycle { generation: Generation::Minor, number: 7, begins: false };
    let figures = Collector {
        minor_collections: Some(7),
        heap_words: Some(1 << 20),
        young_heap_words: Some(1 << 10),
        ..[None; 9].into()
    };
    for fact in [Fact::Cycle(cycle), Fact::Collector(figures)] {
        writer.fact(Timestamp(START + 700_000), &fact).unwrap();
    }
    let mut file = NamedTempFile::with_suffix(".lt").unwrap();
    file.write_all(&writer.finish().unwrap()).unwrap();
    file
}

fn birth(writer: &mut Writer<Vec<u8>>, number: u64, (source, sampler): (Source, u8), bytes: u64) {
    // malloc's blocks are of no class.
    let frames = if source == Source::External { 2 } else { 3 };
    let birth = NewBirth {
        size: Size::Bytes(Bytes(bytes)),
        samples: 1,
        source,
        sampler: SamplerId(sampler),
        is_truncated: false,
        backtrace: &[LocationCode(4), LocationCode(5), LocationCode(6 + number % 4 / 3)][..frames],
        common_prefix: 0,
        id: None,
    };
    writer.birth(Timestamp(START + 10 * number), &birth, &mut frame).unwrap();
}

/// `Foo#outer`, in whose C function `Foo#inner` all is allocated; of the class `Foo`, and one of four of `Bar`.
fn frame(code: LocationCode) -> Frame {
    let (name, kind) = match code.0 {
        4 => ("Foo#outer", FrameKind::Ruby),
        5 => ("Foo#inner", FrameKind::RubyNative),
        6 => return Frame::from(vec![class_remark("Foo")]),
        _ => return Frame::from(vec![class_remark("Bar")]),
    };
    let location = Location {
        filename: "foo.rb".into(),
        line: 3,
        start_char: 0,
        end_char: 0,
        defname: name.into(),
    };
    Frame { locations: vec![location], kind, module: None }
}

fn study(trace: &NamedTempFile) -> Study {
    Study::of(trace.path(), Choice::default(), unwatched).unwrap()
}

fn page(trace: &NamedTempFile, view: ViewName) -> String {
    let options = Options { view, ..Options::default() };
    Report::new(&study(trace), &options, Width::ENDLESS).unwrap().text()
}

fn document(trace: &NamedTempFile, view: ViewName) -> Value {
    let options = Options { view, json: true, ..Options::default() };
    let text = Report::new(&study(trace), &options, Width::ENDLESS).unwrap().json(&[]).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Bytes and objects.
fn amount(of: &Value) -> (f64, f64) {
    let rounded = |name: &str| of[name].as_f64().unwrap().round();
    (rounded("bytes"), rounded("objects"))
}

const ALL: (f64, f64) = ((OBJECTS * APART * OBJECT_BYTES) as f64, (OBJECTS * APART) as f64);

#[test]
fn an_object_stands_for_as_many_as_are_apart_whatever_its_size() {
    let trace = trace(false);
    let summary = document(&trace, ViewName::Summary);
    assert_eq!(amount(&summary["totals"]["allocated"]), ALL);
    assert_eq!(amount(&summary["totals"]["live_at_end"]), (ALL.0 / 2.0, ALL.1 / 2.0));
    let page = page(&trace, ViewName::Summary);
    assert!(
        page.contains("one sample every 100 objects on average (rate 1e-2 per object)"),
        "{page}"
    );
    assert!(page.contains("Foo#inner"), "{page}");
    let facts = &summary["trace"]["facts"];
    assert_eq!((&facts["runtime"], &facts["runtime_version"]), (&"fake".into(), &"3.3".into()));
}

#[test]
fn malloc_is_added_to_it() {
    let summary = document(&trace(true), ViewName::Summary);
    let malloc = BLOCK_BYTES as f64;
    assert_eq!(amount(&summary["totals"]["allocated"]), (ALL.0 + malloc, ALL.1 + 1.0));
}

#[test]
fn objects_are_of_classes_and_mallocs_blocks_of_none() {
    let trace = trace(true);
    let view = document(&trace, ViewName::Classes);
    let classes = view["classes"].as_array().unwrap();
    let found: Vec<_> = classes
        .iter()
        .map(|class| (class["class"].as_str(), amount(&class["allocated"])))
        .collect();
    let part = |share: f64| (ALL.0 * share, ALL.1 * share);
    let malloc = (BLOCK_BYTES as f64, 1.0);
    assert_eq!(found, [(Some("Foo"), part(0.75)), (Some("Bar"), part(0.25)), (None, malloc)]);
    for class in classes {
        assert_eq!(
            (&class["callsite"]["function"], &class["callsite_share"]),
            (&"Foo#outer".into(), &1.0.into())
        );
    }
    let page = page(&trace, ViewName::Classes);
    assert!(page.contains("3 of 3 classes by bytes allocated"), "{page}");
    assert!(page.contains("  100.0 % in Foo#outer, foo.rb:3"), "{page}");
    assert!(page.contains("(of no class)"), "{page}");
}

#[test]
fn a_class_is_a_filter() {
    let trace = trace(true);
    let filter = "class=Bar".parse().unwrap();
    let choice = Choice { filter, ..Choice::default() };
    let study = Study::of(trace.path(), choice, unwatched).unwrap();
    let options = Options { view: ViewName::Classes, ..Options::default() };
    let page = Report::new(&study, &options, Width::ENDLESS).unwrap().text();
    assert!(page.contains("1 of 1 classes") && page.contains("Bar"), "{page}");
}

#[test]
fn a_trace_without_classes_says_so() {
    let trace = trace(true);
    let choice = Choice { filter: "source=native".parse().unwrap(), ..Choice::default() };
    let study = Study::of(trace.path(), choice, unwatched).unwrap();
    let options = Options { view: ViewName::Classes, ..Options::default() };
    let page = Report::new(&study, &options, Width::ENDLESS).unwrap().text();
    assert!(page.contains("Nothing that was chosen is of a class"), "{page}");
}

#[test]
fn promotions_are_counted_and_no_advice_is_another_runtimes() {
    let trace = trace(false);
    let view = document(&trace, ViewName::Promotion);
    assert_eq!(amount(&view["young"]), ALL);
    assert_eq!(amount(&view["promoted"]), (ALL.0 / 4.0, ALL.1 / 4.0));
    let page = page(&trace, ViewName::Promotion);
    assert!(!page.contains("OCAMLRUNPARAM"), "{page}");
}

#[test]
fn totals_that_are_not_counted_are_not_told() {
    let summary = document(&trace(false), ViewName::Summary);
    let collector = &summary["trace"]["facts"]["heap"];
    assert_eq!(collector["minor_collections"], 7);
    assert_eq!(collector["heap_words"], 1 << 20);
    assert_eq!(
        (&collector["minor_words"], &collector["compactions"]),
        (&Value::Null, &Value::Null)
    );
}
