//! What is saved of damaged traces.

use std::collections::BTreeSet;

use lifetrace_trace::fact::{Fact, Lost};
use lifetrace_trace::lt::{Listing, PacketKind, Reader};
use lifetrace_trace::memtrace::Version;
use lifetrace_trace::transfer::{AnyWriter, DAMAGED, Format, Salvage, repair};
use proptest::prelude::*;

use crate::copies::{converted, open};
use crate::property::lives;
use crate::sample;
use crate::support::{Record, RecordKind, fixtures, fixtures_with, read, written};

fn repaired(trace: &[u8], format: Format) -> (Vec<u8>, Salvage) {
    let mut reader = open(trace);
    let mut writer = AnyWriter::new(Vec::new(), reader.info(), format).unwrap();
    let salvage = repair(&mut reader, &mut writer).unwrap();
    (writer.finish().unwrap(), salvage)
}

fn check_whole(trace: &[u8]) {
    let mut reader = Reader::open(trace).unwrap();
    while reader.next().unwrap().is_some() {}
    assert!(reader.is_complete() && reader.index().is_some());
    assert_eq!(reader.damages(), []);
}

fn is_damage(told: &Record) -> bool {
    matches!(&told.kind, RecordKind::Fact(Fact::Lost(Lost { reason, .. })) if &**reason == DAMAGED)
}

/// What a repaired trace says is missing.
fn lost(told: &[Record]) -> u64 {
    let counts = told.iter().map(|it| match &it.kind {
        RecordKind::Fact(Fact::Lost(lost)) if is_damage(it) => lost.count,
        _ => 0,
    });
    counts.sum()
}

#[test]
fn a_whole_trace_stays_as_it_is() {
    let (saved, salvage) = repaired(&sample::trace(), Format::Lt);
    assert_eq!(read(&saved), sample::parts().concat());
    assert_eq!((salvage.missing, salvage.orphans), (0, 0));
    assert!(salvage.stopped.is_none());
    for path in fixtures_with("ctf") {
        let bytes = std::fs::read(&path).unwrap();
        let format = Format::Memtrace(open(&bytes).as_memtrace().unwrap().version());
        assert!(repaired(&bytes, format).0 == converted(&bytes, format).0, "{}", path.display());
    }
}

/// All that was read is there, but for deaths of what was not born, and nothing else is.
fn check(damaged: &[u8], what: &str) -> Salvage {
    let (saved, salvage) = repaired(damaged, Format::Lt);
    check_whole(&saved);
    let told = read(&saved);
    let mut born = BTreeSet::new();
    for it in &told {
        match &it.kind {
            RecordKind::Birth(birth) => {
                born.insert(birth.id);
            }
            RecordKind::Promotion(id) | RecordKind::Collection(id) => {
                assert!(born.contains(id), "{what}: {id} was never born");
            }
            RecordKind::Fact(_) => {}
        }
    }
    let mut kept = told.iter().filter(|it| !is_damage(it)).peekable();
    let read_anyway = read(damaged);
    let mut dropped = 0;
    for it in &read_anyway {
        match kept.next_if_eq(&it) {
            Some(_) => {}
            None => match it.kind {
                RecordKind::Promotion(id) | RecordKind::Collection(id) if !born.contains(&id) => {
                    dropped += 1
                }
                _ => panic!("{what}: {it:?} is gone"),
            },
        }
    }
    assert_eq!(kept.next(), None, "{what}");
    assert_eq!(dropped, salvage.orphans, "{what}");
    salvage
}

#[test]
fn all_that_can_be_read_is_saved() {
    let trace = sample::trace();
    for at in (0..trace.len()).step_by(7) {
        let mut damaged = trace.clone();
        damaged[at] ^= 0x10;
        check(&damaged, &format!("byte {at}"));
    }
    for packet in Listing::new(&trace[..]).map(Result::unwrap) {
        let cut = &trace[..packet.offset as usize + packet.len as usize];
        let salvage = check(cut, "cut between packets");
        assert_eq!((salvage.missing, salvage.orphans), (0, 0));
        // Half a header is no trace.
        if packet.offset > 0 {
            check(&cut[..cut.len() - 1], &format!("cut at {}", cut.len() - 1));
        }
    }
}

/// The index tells how many births there were, whatever the gaps between ids.
#[test]
fn missing_births_are_told_where_they_were() {
    let trace = sample::trace();
    let packets: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
    let is_events = |kind: &PacketKind| matches!(kind, PacketKind::Data(_));
    let parts = sample::parts();
    let births = |told: &[Record]| {
        told.iter().filter(|it| matches!(it.kind, RecordKind::Birth(_))).count() as u64
    };
    // The first packet of the last part, and with it the whole part.
    let checkpoint = packets.iter().rfind(|it| it.kind == PacketKind::Checkpoint).unwrap();
    let first = packets.iter().find(|it| it.offset > checkpoint.offset && is_events(&it.kind));
    let mut damaged = trace.clone();
    damaged[first.unwrap().offset as usize + 20] ^= 1;
    let (saved, salvage) = repaired(&damaged, Format::Lt);
    assert_eq!(salvage.missing, births(&parts[2]));
    assert_eq!(lost(&read(&saved)), salvage.missing);
    assert_eq!(salvage.births, births(&parts[0]) + births(&parts[1]));
    assert!(is_damage(read(&saved).last().unwrap()));
}

#[test]
fn a_cut_trace_of_memtraces_is_saved_up_to_the_cut() {
    let whole = std::fs::read(fixtures().join("reference-ocamlopt.ctf")).unwrap();
    let cut = &whole[..100_000];
    let (saved, salvage) = repaired(cut, Format::Memtrace(Version::V3));
    assert!(salvage.stopped.is_some_and(|error| error.to_string().contains("byte 100000")));
    let told = |trace: &[u8]| {
        let mut reader = open(trace);
        let mut all = Vec::new();
        while let Ok(Some(told)) = reader.next() {
            all.push(told);
        }
        all
    };
    assert!(told(&saved) == told(cut) && told(cut).len() > 1000);
    let (saved, _) = repaired(cut, Format::Lt);
    check_whole(&saved);
    assert!(is_damage(read(&saved).last().unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn repair_keeps_what_is_whole(all in lives()) {
        let (saved, salvage) = repaired(&written(&all), Format::Lt);
        prop_assert_eq!(read(&saved), all);
        prop_assert_eq!(salvage.missing + salvage.orphans, 0);
    }
}
