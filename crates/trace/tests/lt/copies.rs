//! From Memtrace's format to ours and back: the same bytes.

use lifetrace_trace::lt::{self, Reader, Writer};
use lifetrace_trace::memtrace;

use crate::sample;
use crate::support::{fixtures_with, read, read_from};

fn memtrace_copy(bytes: &[u8]) -> Vec<u8> {
    let mut reader = memtrace::Reader::open(bytes).unwrap();
    let mut writer = memtrace::Writer::new(Vec::new(), reader.info(), reader.version()).unwrap();
    memtrace::copy(&mut reader, &mut writer).unwrap();
    writer.finish().unwrap()
}

pub fn converted(bytes: &[u8]) -> Vec<u8> {
    let mut reader = memtrace::Reader::open(bytes).unwrap();
    let mut writer = Writer::new(Vec::new(), reader.info()).unwrap();
    lt::from_memtrace(&mut reader, &mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn there_and_back_gives_the_same_bytes() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let version = memtrace::Reader::open(&bytes[..]).unwrap().version();
        let trace = converted(&bytes);
        let mut reader = Reader::open(&trace[..]).unwrap();
        let mut writer = memtrace::Writer::new(Vec::new(), reader.info(), version).unwrap();
        let omitted = lt::to_memtrace(&mut reader, &mut writer).unwrap();
        assert_eq!(omitted, lt::Omitted::default());
        assert!(writer.finish().unwrap() == memtrace_copy(&bytes), "{}", path.display());
        assert!(reader.is_complete() && reader.damages().is_empty());
    }
}

#[test]
fn real_traces_are_a_quarter_of_memtraces() {
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let trace = converted(&bytes);
        // Those of a few events made by hand are nearly all header.
        let is_real = bytes.len() > 50_000;
        assert!(!is_real || trace.len() * 4 < bytes.len(), "{}: {}", path.display(), trace.len());
    }
}

#[test]
fn a_copy_tells_the_same() {
    let trace = sample::trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut writer = Writer::new(Vec::new(), reader.info()).unwrap();
    lt::copy(&mut reader, &mut writer).unwrap();
    assert_eq!(read(&writer.finish().unwrap()), sample::parts().concat());
}

#[test]
fn what_memtrace_has_no_room_for_is_counted() {
    let trace = sample::trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let version = memtrace::Version::V3;
    let mut writer = memtrace::Writer::new(Vec::new(), reader.info(), version).unwrap();
    let omitted = lt::to_memtrace(&mut reader, &mut writer).unwrap();
    assert!(omitted.facts > 19 && omitted.rounded_sizes > 0 && omitted.threads > 0);
    let events = read_from(&mut Reader::open(&trace[..]).unwrap()).len() as u64 - omitted.facts;
    let copy = writer.finish().unwrap();
    let mut copied = memtrace::Reader::open(&copy[..]).unwrap();
    let mut count = 0;
    while copied.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, events);
}
