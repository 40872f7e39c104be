//! Reading ahead in threads tells the same as reading without, of whatever is in the file.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::num::NonZero;

use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::lt::{Cause, Damage, Error, Index, Item, Listing, Passed, Reader};
use proptest::prelude::*;

use crate::sample;
use crate::support::{Record, RecordKind, fixtures, fixtures_with, read_from};

const THREADS: NonZero<usize> = NonZero::new(3).unwrap();

/// All that a reader says, to its end.
type Outcome = (Vec<Record>, Frames, (Vec<Damage>, u64), (Passed, Option<Index>), (bool, u64, u64));
type Frames = BTreeMap<LocationCode, Option<Frame>>;

fn outcome(mut reader: Reader<&[u8]>) -> Outcome {
    let told = read_from(&mut reader);
    let births = told.iter().filter_map(|told| match &told.kind {
        RecordKind::Birth(birth) => Some(&birth.backtrace),
        _ => None,
    });
    let frames = births.flatten().map(|&code| (code, reader.frame(code).cloned())).collect();
    let damages = (reader.damages().to_vec(), reader.damage_count());
    let passed = (reader.passed().clone(), reader.index().cloned());
    (told, frames, damages, passed, (reader.is_complete(), reader.end_time().0, reader.position()))
}

/// Gives back the damage.
fn check(trace: &[u8], what: &str) -> Vec<Damage> {
    let Ok(reader) = Reader::open(trace) else {
        assert!(Reader::open(trace).is_err());
        return Vec::new();
    };
    let (alone, ahead) = (outcome(reader), outcome(Reader::open(trace).unwrap().ahead(THREADS)));
    assert!(alone == ahead, "{what}: {:?} and {:?}", alone.2, ahead.2);
    let skip = || Reader::open(trace).unwrap().without_backtraces();
    assert!(outcome(skip()) == outcome(skip().ahead(THREADS)), "{what}: without backtraces");
    alone.2.0
}

/// The trace's packets.
fn packets(trace: &[u8]) -> Vec<&[u8]> {
    let packets = Listing::new(trace).map(Result::unwrap);
    packets.map(|it| &trace[it.offset as usize..][..it.len as usize]).collect()
}

/// Makes a packet's checksum that of what it says.
fn seal(packet: &mut [u8]) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&packet[4..8]);
    hasher.update(&packet[12..]);
    packet[8..12].copy_from_slice(&hasher.finalize().to_le_bytes());
}

#[test]
fn golden_files() {
    for path in fixtures_with("lt") {
        let trace = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        assert_eq!(check(&trace, &name), [], "{name}");
        let places = trace.len() / 8 + 1;
        for at in (0..trace.len()).step_by(places) {
            check(&trace[..at], &format!("{name} cut at {at}"));
            let mut changed = trace.clone();
            changed[at] ^= 1 << (at % 8);
            check(&changed, &format!("{name} changed at {at}"));
        }
    }
}

#[test]
fn every_cut_and_every_changed_byte() {
    let trace = sample::trace();
    for at in 0..trace.len() {
        check(&trace[..at], &format!("cut at {at}"));
        let mut changed = trace.clone();
        changed[at] ^= 1 << (at % 8);
        check(&changed, &format!("changed at {at}"));
    }
}

#[test]
fn what_no_writer_says_under_a_right_checksum() {
    let trace = sample::trace();
    let sound = packets(&trace);
    let mut unexpected = 0;
    for (number, &packet) in sound.iter().enumerate() {
        for at in 12..packet.len() {
            let mut changed = packet.to_vec();
            changed[at] ^= 1 << (at % 8);
            seal(&mut changed);
            let trace = [&sound[..number], &[&changed], &sound[number + 1..]].concat().concat();
            let damages = check(&trace, &format!("packet {number} changed at {at}"));
            let is_unexpected = |it: &Damage| matches!(it.cause, Cause::Unexpected { .. });
            unexpected += usize::from(damages.iter().any(is_unexpected));
        }
    }
    assert!(unexpected > 100, "only {unexpected} of them are noticed while decoding");
}

proptest! {
    #[test]
    fn packets_in_any_order(order in prop::collection::vec(any::<prop::sample::Index>(), 1..60)) {
        let trace = sample::trace();
        let sound = packets(&trace);
        let mixed: Vec<&[u8]> = order.iter().map(|index| *index.get(&sound)).collect();
        check(&[&sound[..1], &mixed].concat().concat(), "mixed");
    }

    #[test]
    fn one_packet_missing_or_twice(at in any::<prop::sample::Index>(), is_twice: bool) {
        let trace = sample::trace();
        let mut packets = packets(&trace);
        let at = at.index(packets.len());
        if is_twice {
            packets.insert(at, packets[at]);
        } else {
            packets.remove(at);
        }
        check(&packets.concat(), "one packet");
    }
}

/// Longer than what is read at a time, and than what threads decode before they wait for the reader.
fn crowd() -> Vec<u8> {
    std::fs::read(fixtures().join("crowd-v1.0.lt")).unwrap()
}

/// Fails at its end.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Ok(0) => Err(io::Error::other("the disk is gone")),
            outcome => outcome,
        }
    }
}

#[test]
fn an_input_that_fails_fails_after_what_was_read() {
    let trace = crowd();
    let count = |mut reader: Reader<Failing<'_>>| {
        let mut told = 0;
        let error = loop {
            match reader.next() {
                Ok(Some(_)) => told += 1,
                Ok(None) => panic!("the failure is not told"),
                Err(error) => break error,
            }
        };
        assert!(matches!(reader.next(), Ok(None)), "nothing after it");
        assert!(matches!(error, Error::Io { .. }));
        (told, error.to_string())
    };
    let open = || Reader::open(Failing(&trace[..trace.len() - 1])).unwrap();
    let alone = count(open());
    assert!(alone.0 > 0);
    assert_eq!(alone, count(open().ahead(THREADS)));
}

#[test]
fn a_reader_may_leave() {
    let trace = crowd();
    let mut reader = Reader::open(&trace[..]).unwrap().ahead(THREADS);
    assert!(matches!(reader.next(), Ok(Some((_, Item::Event(_))))));
}
