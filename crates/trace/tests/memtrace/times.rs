//! Clocks: the 30 s rule, equal times, times that go back.

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::ids::Timestamp;
use lifetrace_trace::memtrace::{Reader, Version, Writer};

use crate::support::{
    START, allocation, at, codes, info, nowhere, packet_starts, read_rest, times, writer,
};

#[test]
fn equal_times_stay_equal() {
    let mut writer = writer();
    let first = writer.allocation(at(5), &allocation(&[]), &mut nowhere).unwrap();
    writer.allocation(at(5), &allocation(&[]), &mut nowhere).unwrap();
    writer.collection(at(5), first).unwrap();
    assert_eq!(times(&writer.finish().unwrap()), [5, 5, 5]);
}

#[test]
fn times_that_go_back_become_the_last() {
    let mut writer = writer();
    for time in [at(10), at(4), Timestamp(0), at(11)] {
        writer.allocation(time, &allocation(&[]), &mut nowhere).unwrap();
    }
    assert_eq!(times(&writer.finish().unwrap()), [10, 10, 10, 11]);
}

#[test]
fn times_far_away_are_kept() {
    let mut writer = writer();
    for time in [at(0), at(29_999_999), at(60_000_000), at(1 << 40), Timestamp(u64::MAX)] {
        writer.allocation(time, &allocation(&[]), &mut nowhere).unwrap();
    }
    let last = u64::MAX - START.0;
    let expected = [0, 29_999_999, 60_000_000, 1 << 40, last];
    assert_eq!(times(&writer.finish().unwrap()), expected);
}

#[test]
fn a_packet_lasts_30_seconds() {
    for (gap, packets) in [(30_000_000, 2), (30_000_001, 3)] {
        let mut writer = writer();
        writer.allocation(at(0), &allocation(&[]), &mut nowhere).unwrap();
        writer.allocation(at(gap), &allocation(&[]), &mut nowhere).unwrap();
        let trace = writer.finish().unwrap();
        assert_eq!(packet_starts(&trace).len(), packets, "after {gap} µs");
        assert_eq!(times(&trace), [0, gap]);
    }
}

#[test]
fn a_clock_set_back_between_packets_is_counted() {
    let write = |start_time| {
        let start_time = Timestamp(start_time);
        let info = TraceInfo { start_time, ..info() };
        let mut writer = Writer::new(Vec::new(), &info, Version::V3).unwrap();
        let time = Timestamp(start_time.0 + 10);
        writer.allocation(time, &allocation(&codes(&[7])), &mut nowhere).unwrap();
        writer.finish().unwrap()
    };
    let mut trace = write(5000);
    let second = write(4000);
    trace.extend_from_slice(&second[packet_starts(&second)[1]..]);
    let mut reader = Reader::open(&trace[..]).unwrap();
    let (events, outcome) = read_rest(&mut reader);
    outcome.unwrap();
    let times: Vec<_> = events.iter().map(|(time, _)| time.0).collect();
    assert_eq!((times, reader.clock_steps()), (vec![5010, 5010], 1));
}

#[test]
fn flushing_nothing_writes_nothing_but_the_end_shows() {
    let mut writer = writer();
    let before = writer.written();
    for second in 1..=100 {
        writer.flush(at(second * 1_000_000)).unwrap();
    }
    assert_eq!(writer.written(), before);
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.end_time(), at(100_000_000));
}
