//! One of everything is read as it was written.

use lifetrace_trace::event::{GROWTH, growth_location};
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::lt::{Closing, Index, Reader};

use crate::sample;
use crate::support::{RecordKind, frame, info, read_from, written};

#[test]
fn one_of_everything_is_read() {
    let trace = sample::trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    assert_eq!(*reader.info(), info());
    let told = read_from(&mut reader);
    assert_eq!(told, sample::parts().concat());
    assert_eq!(reader.damages(), []);
    assert!(reader.is_complete());
    assert_eq!(reader.end_time().0, told[told.len() - 1].time);
    assert_eq!(reader.position(), trace.len() as u64);
}

#[test]
fn frames_are_told() {
    let trace = sample::trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    for told in read_from(&mut reader) {
        let RecordKind::Birth(birth) = told.kind else { continue };
        for code in birth.backtrace {
            let expected =
                if code == GROWTH { vec![growth_location()].into() } else { frame(code) };
            assert_eq!(reader.frame(code), Some(&expected));
            assert_eq!(reader.locations(code), expected.locations);
        }
    }
    assert_eq!(reader.locations(LocationCode(999_999)), []);
}

#[test]
fn the_index_counts_what_is_there() {
    let trace = sample::trace();
    let index = Index::read(&mut std::io::Cursor::new(&trace)).unwrap().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let told = read_from(&mut reader);
    assert_eq!(reader.index(), Some(&index));
    let count =
        |is_it: fn(&RecordKind) -> bool| told.iter().filter(|it| is_it(&it.kind)).count() as u64;
    let summary = index.summary;
    assert_eq!(summary.allocations, count(|it| matches!(it, RecordKind::Birth(_))));
    assert_eq!(summary.promotions, count(|it| matches!(it, RecordKind::Promotion(_))));
    assert_eq!(summary.collections, count(|it| matches!(it, RecordKind::Collection(_))));
    assert_eq!(summary.facts, count(|it| matches!(it, RecordKind::Fact(_))));
    assert_eq!(summary.duration, told[told.len() - 1].time - info().start_time.0);
    assert_eq!(index.checkpoints.len(), 3);
}

/// As a reader of all that is told comes to it.
#[test]
fn the_index_says_what_is_so_of_all() {
    let trace = sample::trace();
    let index = Index::read(&mut std::io::Cursor::new(&trace)).unwrap().unwrap();
    let mut closing = Closing::default();
    for told in read_from(&mut Reader::open(&trace[..]).unwrap()) {
        match told.kind {
            RecordKind::Birth(birth) => closing.take_birth(birth.is_truncated),
            RecordKind::Fact(fact) => closing.take_fact(&fact),
            _ => {}
        }
    }
    assert!(closing.truncated_backtraces > 0 && closing.peak_resident.is_some());
    assert_eq!(closing.facts.len(), 8, "{closing:?}");
    assert_eq!(index.closing, Some(closing));
}

#[test]
fn without_backtraces_the_rest_is_the_same() {
    let trace = sample::trace();
    let mut whole = read_from(&mut Reader::open(&trace[..]).unwrap());
    let quick = read_from(&mut Reader::open(&trace[..]).unwrap().without_backtraces());
    for told in &mut whole {
        if let RecordKind::Birth(birth) = &mut told.kind {
            birth.backtrace.clear();
        }
    }
    assert_eq!(quick, whole);
}

#[test]
fn an_empty_trace_is_whole() {
    let trace = written(&[]);
    let mut reader = Reader::open(&trace[..]).unwrap();
    assert_eq!(read_from(&mut reader), []);
    assert!(reader.is_complete() && reader.damages().is_empty());
    assert_eq!(reader.end_time(), info().start_time);
}
