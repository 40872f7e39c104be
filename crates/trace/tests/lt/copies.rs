//! From one format to another and back: the same bytes.

use std::collections::BTreeMap;

use lifetrace_trace::AnyReader;
use lifetrace_trace::event::Source;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, DomainId, LocationCode, Size, ThreadId, Timestamp, Words,
};
use lifetrace_trace::lt::{Listing, PacketKind, Reader, Writer};
use lifetrace_trace::memtrace::{self, Version};
use lifetrace_trace::transfer::{AnyWriter, Format, Omitted, copy};

use crate::sample;
use crate::support::{
    Birth, Record, RecordKind, START, fixtures, fixtures_with, info, read, written,
};

pub fn open(trace: &[u8]) -> AnyReader<&[u8]> {
    match Reader::open(trace) {
        Ok(reader) => AnyReader::lt(reader),
        Err(_) => AnyReader::memtrace(memtrace::Reader::open(trace).unwrap()),
    }
}

pub fn converted(trace: &[u8], format: Format) -> (Vec<u8>, Omitted) {
    let mut reader = open(trace);
    let mut writer = AnyWriter::new(Vec::new(), reader.info(), format).unwrap();
    assert!(copy(&mut reader, &mut writer).unwrap().is_none());
    let omitted = writer.omitted();
    (writer.finish().unwrap(), omitted)
}

fn memtrace_copy(bytes: &[u8]) -> Vec<u8> {
    let mut reader = memtrace::Reader::open(bytes).unwrap();
    let mut writer = memtrace::Writer::new(Vec::new(), reader.info(), reader.version()).unwrap();
    memtrace::copy(&mut reader, &mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn there_and_back_gives_the_same_bytes() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let version = memtrace::Reader::open(&bytes[..]).unwrap().version();
        let (trace, _) = converted(&bytes, Format::Lt);
        let (back, omitted) = converted(&trace, Format::Memtrace(version));
        assert_eq!(omitted, Omitted::default());
        assert!(back == memtrace_copy(&bytes), "{}", path.display());
        assert!(back == converted(&bytes, Format::Memtrace(version)).0, "{}", path.display());
        let mut reader = Reader::open(&trace[..]).unwrap();
        while reader.next().unwrap().is_some() {}
        assert!(reader.is_complete() && reader.damages().is_empty());
    }
}

#[test]
fn real_traces_are_a_quarter_of_memtraces() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let (trace, _) = converted(&bytes, Format::Lt);
        // Those of a few events made by hand are nearly all header.
        let is_real = bytes.len() > 50_000;
        assert!(!is_real || trace.len() * 4 < bytes.len(), "{}: {}", path.display(), trace.len());
    }
}

#[test]
fn a_copy_tells_the_same() {
    let (copy, omitted) = converted(&sample::trace(), Format::Lt);
    assert_eq!(read(&copy), sample::parts().concat());
    assert_eq!(omitted, Omitted::default());
}

#[test]
fn what_memtrace_has_no_room_for_is_counted() {
    let trace = sample::trace();
    let (copy, omitted) = converted(&trace, Format::Memtrace(Version::V3));
    let told = read(&trace);
    let facts = told.iter().filter(|it| matches!(it.kind, RecordKind::Fact(_))).count() as u64;
    let of_threads = |it: &&Record| it.thread != 0 && !matches!(it.kind, RecordKind::Fact(_));
    assert_eq!(omitted.facts, facts);
    assert_eq!(omitted.threads, told.iter().filter(of_threads).count() as u64);
    assert!(omitted.rounded_sizes > 0);
    let mut copied = memtrace::Reader::open(&copy[..]).unwrap();
    let mut count = 0;
    while copied.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, told.len() as u64 - facts);
}

/// Domain and backtrace of each birth, by id: packets of several domains need not be in order.
fn births(trace: &[u8]) -> BTreeMap<u64, (u16, Vec<LocationCode>)> {
    let mut reader = open(trace);
    let mut all = BTreeMap::new();
    while let Some(told) = reader.next().unwrap() {
        if let lifetrace_trace::record::RecordKind::Birth(birth) = told.kind {
            all.insert(birth.id.0, (told.domain.0, reader.backtrace().to_vec()));
        }
    }
    all
}

/// Memtrace's format codes a backtrace against the last one of its domain, ours against the last one
/// of its thread.
#[test]
fn backtraces_of_domains_that_take_turns_survive() {
    let domains = [(0, [1, 2]), (1, [7, 8]), (0, [7, 9]), (1, [1, 2]), (1, [1, 3]), (0, [1, 3])];
    let told = domains.iter().enumerate().map(|(id, (domain, backtrace))| Record {
        time: START.0,
        thread: 0,
        domain: *domain,
        kind: RecordKind::Birth(Birth {
            id: id as u64,
            size: Size::Words(Words(1)),
            samples: 1,
            source: Source::Minor,
            sampler: 0,
            is_truncated: false,
            backtrace: backtrace.map(LocationCode).to_vec(),
        }),
    });
    let trace = written(&told.collect::<Vec<_>>());
    let expected = domains.map(|(domain, it)| (domain, it.map(LocationCode).to_vec()));
    let expected: BTreeMap<_, _> = (0..).zip(expected).collect();
    assert_eq!(births(&trace), expected);
    let (there, _) = converted(&trace, Format::Memtrace(Version::V3));
    assert_eq!(births(&there), expected);
    let (back, _) = converted(&there, Format::Lt);
    assert_eq!(births(&back), expected);
}

/// A trace may go on after its last event.
#[test]
fn how_long_a_trace_lasts_is_kept() {
    // In Memtrace's format no packet is so long.
    for seconds in [7, 700] {
        let end = Timestamp(START.0 + seconds * 1_000_000);
        let mut writer = Writer::new(Vec::new(), &info()).unwrap();
        writer.collection(START, AllocationId(3)).unwrap();
        writer.flush(end).unwrap();
        let mut trace = writer.finish().unwrap();
        for format in [Format::Lt, Format::Memtrace(Version::V3), Format::Lt] {
            trace = converted(&trace, format).0;
            let mut reader = open(&trace);
            while reader.next().unwrap().is_some() {}
            assert_eq!(reader.end_time(), end, "{format:?}");
        }
    }
}

/// Whoever wants to know how a long trace ends need not read all of it.
#[test]
fn the_last_facts_have_a_segment_of_their_own() {
    let bytes = std::fs::read(fixtures().join("server-1e-5.ctf")).unwrap();
    let (long, _) = converted(&bytes, Format::Lt);
    let mut reader = open(&long);
    let mut writer = AnyWriter::new(Vec::new(), reader.info(), Format::Lt).unwrap();
    copy(&mut reader, &mut writer).unwrap();
    let end = reader.end_time();
    let facts = sample::facts_of_an_end(end.0);
    for fact in &facts {
        let RecordKind::Fact(fact) = fact.kind.clone() else { panic!("{fact:?}") };
        let (thread, domain) = (ThreadId(0), DomainId(0));
        let told = lifetrace_trace::record::Record {
            time: end,
            thread,
            domain,
            kind: lifetrace_trace::record::RecordKind::from(fact),
        };
        writer.put(&told, &[], &mut |_| Frame::default()).unwrap();
    }
    let trace = writer.finish().unwrap();
    let packets = Listing::new(&trace[..]).map(Result::unwrap);
    let last = packets.filter(|it| it.kind == PacketKind::Checkpoint).last().unwrap();
    let mut head = trace[..last.offset as usize].to_vec();
    head.truncate(Listing::new(&head[..]).nth(1).unwrap().unwrap().offset as usize);
    head.extend(&trace[last.offset as usize..]);
    assert_eq!(read(&head), facts);
}
