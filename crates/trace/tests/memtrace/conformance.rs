//! Real traces of Memtrace's own writer: what is read from them, and that copies have the same bytes.
//!
//! The `.events.tsv.xz` files were written by an independent decoder. Their columns: microseconds since
//! the trace's start, event, id, and for allocations length, samples, source, depth and the CRC-32 of the
//! backtrace's codes.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lifetrace_trace::event::{Event, Source};
use lifetrace_trace::ids::{LocationCode, Timestamp};
use lifetrace_trace::memtrace::{Reader, Writer, copy};

const WITH_EVENTS: [&str; 5] =
    ["reference-ocamlopt", "ocamlopt-1e-6", "ocamlopt-1e-5", "json-1e-5", "server-1e-5"];
const WITHOUT_EVENTS: [&str; 1] = ["listmap-1e-5"];

#[test]
fn copies_have_the_same_bytes() {
    for name in WITH_EVENTS.iter().chain(&WITHOUT_EVENTS) {
        let original = std::fs::read(fixture(name, "ctf")).unwrap();
        let mut reader = Reader::open(&original[..]).unwrap();
        let mut writer = Writer::new(Vec::new(), reader.info(), reader.version()).unwrap();
        copy(&mut reader, &mut writer).unwrap();
        let copied = writer.finish().unwrap();
        let differs = original.iter().zip(&copied).position(|(old, new)| old != new);
        assert_eq!((differs, copied.len()), (None, original.len()), "{name}");
    }
}

#[test]
fn events_are_those_of_an_independent_decoder() {
    for name in WITH_EVENTS {
        let expected = decompress(&fixture(name, "events.tsv.xz"));
        let trace = std::fs::read(fixture(name, "ctf")).unwrap();
        let mut expected = expected.lines();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let start = reader.info().start_time;
        let mut line = String::new();
        while let Some((time, event)) = reader.next().unwrap() {
            describe(start, time, &event, &mut line);
            assert_eq!(Some(&*line), expected.next(), "{name}");
        }
        assert_eq!(expected.next(), None, "{name}");
        assert_eq!(reader.position(), trace.len() as u64);
        assert_eq!((reader.foreign_packets(), reader.clock_steps()), (0, 0));
    }
}

#[test]
fn common_prefixes_are_those_of_the_backtraces() {
    for name in WITH_EVENTS.iter().chain(&WITHOUT_EVENTS) {
        let trace = std::fs::read(fixture(name, "ctf")).unwrap();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let mut previous: Vec<LocationCode> = Vec::new();
        while let Some((_, event)) = reader.next().unwrap() {
            if let Event::Allocation(allocation) = event {
                let common = allocation.common_prefix;
                assert_eq!(previous[..common], allocation.backtrace[..common], "{name}");
                previous = allocation.backtrace.to_vec();
            }
        }
    }
}

#[test]
fn frames_are_located_before_their_first_use() {
    for name in WITH_EVENTS.iter().chain(&WITHOUT_EVENTS) {
        let trace = std::fs::read(fixture(name, "ctf")).unwrap();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let (mut located, mut unlocated) = (HashSet::new(), HashSet::new());
        let mut frames = Vec::new();
        while let Some((_, event)) = reader.next().unwrap() {
            if let Event::Allocation(allocation) = event {
                frames.clear();
                frames.extend_from_slice(&allocation.backtrace[allocation.common_prefix..]);
            }
            let (with, without): (Vec<_>, Vec<_>) =
                frames.drain(..).partition(|code| !reader.locations(*code).is_empty());
            located.extend(with);
            unlocated.extend(without);
        }
        // The runtime's own frames have no debugging information, so they stand for no location.
        assert!(unlocated.len() <= 20 && unlocated.is_disjoint(&located), "{name}: {unlocated:?}");
        assert!(located.len() >= 8, "{name}");
    }
}

#[test]
fn skipping_backtraces_changes_nothing_else() {
    for name in WITH_EVENTS {
        let trace = std::fs::read(fixture(name, "ctf")).unwrap();
        let mut whole = Reader::open(&trace[..]).unwrap();
        let mut quick = Reader::open(&trace[..]).unwrap().without_backtraces();
        while let Some((time, event)) = whole.next().unwrap() {
            let without = match event {
                Event::Allocation(mut allocation) => {
                    (allocation.backtrace, allocation.common_prefix) = (&[], 0);
                    Event::Allocation(allocation)
                }
                event => event,
            };
            assert_eq!(quick.next().unwrap(), Some((time, without)), "{name}");
        }
        assert_eq!(quick.next().unwrap(), None);
    }
}

#[test]
fn the_reference_says_where_it_comes_from() {
    let trace = std::fs::read(fixture("reference-ocamlopt", "ctf")).unwrap();
    let reader = Reader::open(&trace[..]).unwrap();
    let info = reader.info();
    assert_eq!(info.sample_rate, 2e-5);
    assert_eq!(info.word_bits, 64);
    assert!(info.executable_name.ends_with("/trace_ocamlopt/main.exe"));
    assert_eq!(info.host_name, "tarski");
    assert!(info.runtime_params.starts_with("a=0,b=1,"));
    assert_eq!(info.pid, 17157);
    assert_eq!(info.start_time, Timestamp(1_586_965_711_174_340));
    assert_eq!(info.context, None);
    assert_eq!(reader.version().number(), 3);
}

fn fixture(name: &str, extension: &str) -> PathBuf {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    traces.join(format!("{name}.{extension}"))
}

fn decompress(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    lzma_rust2::XzReader::new(file, false).read_to_string(&mut text).unwrap();
    text
}

fn describe(start: Timestamp, time: Timestamp, event: &Event<'_>, line: &mut String) {
    let time = time.0 - start.0;
    line.clear();
    let outcome = match event {
        Event::Promotion(id) => write!(line, "{time}\tpromote\t{}", id.0),
        Event::Collection(id) => write!(line, "{time}\tcollect\t{}", id.0),
        Event::Allocation(it) => {
            let (id, length, samples) = (it.id.0, it.length.0, it.samples);
            let (depth, checksum) = (it.backtrace.len(), checksum(it.backtrace));
            let source = source_name(it.source);
            write!(
                line,
                "{time}\talloc\t{id}\t{length}\t{samples}\t{source}\t{depth}\t{checksum:08x}"
            )
        }
    };
    outcome.unwrap();
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Minor => "minor",
        Source::Major => "major",
        Source::External => "external",
    }
}

fn checksum(backtrace: &[LocationCode]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for code in backtrace {
        hasher.update(&code.0.to_le_bytes());
    }
    hasher.finalize()
}
