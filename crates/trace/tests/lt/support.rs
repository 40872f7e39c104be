//! Traces in memory, for tests.

use std::path::{Path, PathBuf};

use lifetrace_trace::event::{Event, Location, Source, TraceInfo};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{
    AllocationId, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::lt::{Item, NewBirth, Reader, Writer};

pub const START: Timestamp = Timestamp(1_786_965_711_174_340);

/// Something in a trace, with all that is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub time: u64,
    pub thread: u32,
    pub domain: u16,
    pub kind: RecordKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Birth(Birth),
    Promotion(u64),
    Collection(u64),
    Fact(Fact),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Birth {
    pub id: u64,
    pub size: Size,
    pub samples: u64,
    pub source: Source,
    pub sampler: u8,
    pub is_truncated: bool,
    pub backtrace: Vec<LocationCode>,
}

pub fn info() -> TraceInfo {
    TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: "/bin/program".into(),
        host_name: "machine".into(),
        runtime_params: "a=0,b=1".into(),
        pid: 4242,
        start_time: START,
        initial_domain: DomainId(0),
        context: Some("program --fast".into()),
    }
}

/// What a frame's number says by itself.
pub fn frame(code: LocationCode) -> Frame {
    let number = (code.0 % 1000) as u32;
    let location = |inlined: u32| Location {
        filename: format!("src/file_{}.ml", number % 7).into(),
        line: number * 3 + inlined,
        start_char: number % 80,
        end_char: number % 80 + 11,
        defname: format!("Module.function_{}", number % 50 + inlined).into(),
    };
    let kinds = [FrameKind::Unknown, FrameKind::Native, FrameKind::OCaml, FrameKind::Ruby];
    Frame {
        locations: (0..number % 4).map(location).collect(),
        kind: kinds[number as usize / 100 % 4],
        module: (number % 5 > 2).then_some(number % 3),
    }
}

pub fn write_to<W: std::io::Write>(writer: &mut Writer<W>, told: &Record) -> std::io::Result<()> {
    writer.switch(ThreadId(told.thread), DomainId(told.domain));
    let time = Timestamp(told.time);
    match &told.kind {
        RecordKind::Promotion(id) => writer.promotion(time, AllocationId(*id)),
        RecordKind::Collection(id) => writer.collection(time, AllocationId(*id)),
        RecordKind::Fact(fact) => writer.fact(time, fact),
        RecordKind::Birth(birth) => {
            let new = NewBirth {
                size: birth.size,
                samples: birth.samples,
                source: birth.source,
                sampler: SamplerId(birth.sampler),
                is_truncated: birth.is_truncated,
                backtrace: &birth.backtrace,
                common_prefix: 0,
                id: Some(AllocationId(birth.id)),
            };
            writer.birth(time, &new, &mut frame).map(|id| assert_eq!(id.0, birth.id))
        }
    }
}

/// A trace of these.
pub fn written(all: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    all.iter().for_each(|told| write_to(&mut writer, told).unwrap());
    writer.finish().unwrap()
}

/// All that can be read, with the promises to those who read checked.
pub fn read(trace: &[u8]) -> Vec<Record> {
    Reader::open(trace).map(|mut reader| read_from(&mut reader)).unwrap_or_default()
}

pub fn read_from(reader: &mut Reader<&[u8]>) -> Vec<Record> {
    let mut all = Vec::new();
    let mut last: Vec<LocationCode> = Vec::new();
    while let Some((time, item)) = reader.next().unwrap() {
        let kind = match item {
            Item::Fact(fact) => RecordKind::Fact(fact),
            Item::Event(Event::Promotion(id)) => RecordKind::Promotion(id.0),
            Item::Event(Event::Collection(id)) => RecordKind::Collection(id.0),
            Item::Event(Event::Allocation(it)) => {
                let common = it.common_prefix;
                assert_eq!(it.backtrace[..common], last[..common], "a true common prefix");
                last = it.backtrace.to_vec();
                let (id, samples, source, length) = (it.id.0, it.samples, it.source, it.length);
                let details = reader.birth().unwrap();
                assert_eq!(details.size.words(64), length);
                RecordKind::Birth(Birth {
                    id,
                    size: details.size,
                    samples,
                    source,
                    sampler: details.sampler.0,
                    is_truncated: details.is_truncated,
                    backtrace: last.clone(),
                })
            }
        };
        let (thread, domain) = (reader.thread().0, reader.domain().0);
        all.push(Record { time: time.0, thread, domain, kind });
    }
    assert!(matches!(reader.next(), Ok(None)), "the end is final");
    all
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces")
}

/// Names of the fixtures with a suffix, sorted.
pub fn fixtures_with(suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == suffix));
    paths.sort();
    paths
}
