//! What is too much: long traces, deep backtraces, long names, hostile packets.

use lifetrace_trace::event::{Location, Source};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{Bytes, LocationCode, SamplerId, Size, Timestamp};
use lifetrace_trace::lt::{Listing, NewBirth, PacketKind, Reader, Writer};

use crate::support::{Birth, Record, RecordKind, START, info, read, read_from, written};

fn birth(backtrace: &[LocationCode]) -> NewBirth<'_> {
    NewBirth {
        size: Size::Bytes(Bytes(72)),
        samples: 1,
        source: Source::External,
        sampler: SamplerId(0),
        is_truncated: false,
        backtrace,
        common_prefix: 0,
        id: None,
    }
}

/// Numbers that look random.
fn scrambled(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

#[test]
fn a_long_trace_has_checkpoints_and_all_its_events() {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    let count = 2_000_000;
    for number in 0..count {
        let time = Timestamp(START.0 + number * 50 + scrambled(number) % 50);
        let backtrace = [scrambled(number) % 50, scrambled(number * 7) % 400].map(LocationCode);
        let id = writer.birth(time, &birth(&backtrace), &mut |_| Frame::default()).unwrap();
        if number > 70_000 {
            let old = lifetrace_trace::ids::AllocationId(id.0 - scrambled(number) % 70_000);
            writer.collection(time, old).unwrap();
        }
    }
    let trace = writer.finish().unwrap();
    let (mut last, mut longest) = (0, 0);
    for packet in Listing::new(&trace[..]) {
        let packet = packet.unwrap();
        if packet.kind == PacketKind::Checkpoint || packet.kind == PacketKind::End {
            let most = (last / 32 + (72 << 10)).clamp(256 << 10, 1 << 20);
            assert!(packet.offset - last <= most, "{} of {most}", packet.offset - last);
            longest = longest.max(packet.offset - last);
            last = packet.offset;
        }
    }
    assert!(longest > 256 << 10, "{longest} in {}", trace.len());
    let mut reader = Reader::open(&trace[..]).unwrap();
    let told = read_from(&mut reader);
    assert_eq!(reader.damages(), []);
    assert_eq!(told.len() as u64, 2 * count - 70_001);
}

#[test]
fn frames_without_end_are_numbered_anew() {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    let frames = |number: u64| [number * 2, number * 2 + 1, 7].map(LocationCode);
    for number in 0..200_000 {
        let time = Timestamp(START.0 + number);
        writer.birth(time, &birth(&frames(number)), &mut |_| Frame::default()).unwrap();
    }
    let trace = writer.finish().unwrap();
    for (number, told) in read(&trace).into_iter().enumerate() {
        let RecordKind::Birth(birth) = told.kind else { panic!() };
        assert_eq!(birth.backtrace, frames(number as u64));
    }
}

#[test]
fn a_backtrace_that_is_too_deep_loses_its_inner_end() {
    let deep: Vec<LocationCode> = (0..600_000u64).map(|it| LocationCode(it % 1000)).collect();
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    writer.birth(START, &birth(&deep), &mut |_| Frame::default()).unwrap();
    writer.birth(START, &birth(&deep[..10]), &mut |_| Frame::default()).unwrap();
    let told = read(&writer.finish().unwrap());
    let depth = |at: usize| match &told[at].kind {
        RecordKind::Birth(birth) => birth.backtrace.len(),
        _ => 0,
    };
    assert_eq!((depth(0), depth(1)), (1 << 19, 10));
}

#[test]
fn names_that_are_too_long_are_cut() {
    let long: String = "é".repeat(60_000);
    let location = Location {
        filename: long.as_str().into(),
        line: u32::MAX,
        start_char: 7,
        end_char: u32::MAX,
        defname: "f".into(),
    };
    let frame = Frame::from(vec![location; 300]);
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    writer.birth(START, &birth(&[LocationCode(1)]), &mut |_| frame.clone()).unwrap();
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    assert_eq!(read_from(&mut reader).len(), 1);
    let told = reader.locations(LocationCode(1));
    assert_eq!(told.len(), 255);
    assert_eq!(&*told[0].filename, &long[..4096]);
    assert_eq!((told[0].line, told[0].end_char), (u32::MAX, u32::MAX));
}

#[test]
fn what_costs_nothing_is_padded() {
    // Each of these events is certain: without padding they would take a few bytes.
    let told = |number: u64| Record {
        time: START.0,
        thread: 0,
        domain: 0,
        kind: RecordKind::Birth(Birth {
            id: number,
            size: Size::Bytes(Bytes(8)),
            samples: 1,
            source: Source::External,
            sampler: 0,
            is_truncated: false,
            backtrace: vec![LocationCode(1); 3],
        }),
    };
    let all: Vec<Record> = (0..50_000).map(told).collect();
    let trace = written(&all);
    assert!(trace.len() >= 50_000 / 64);
    assert!(read(&trace) == all);
}

#[test]
fn an_output_that_fails_is_told_ever_after() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full(400), &info()).unwrap();
    let good = writer.written();
    for number in 0..200u64 {
        let backtrace = [LocationCode(number)];
        writer.birth(START, &birth(&backtrace), &mut crate::support::frame).unwrap();
    }
    assert!(writer.flush(START).is_err());
    assert!(writer.birth(START, &birth(&[]), &mut |_| Frame::default()).is_err());
    assert_eq!(writer.written(), good);
    assert!(writer.finish().is_err());
}

#[test]
fn a_rate_that_cannot_be_is_refused() {
    for sample_rate in [0.0, -1.0, 1.5, f64::NAN] {
        let wrong = lifetrace_trace::event::TraceInfo { sample_rate, ..info() };
        assert!(Writer::new(Vec::new(), &wrong).is_err());
    }
}

/// Who must not exceed a length asks before each event.
#[test]
fn the_length_of_a_finished_trace_is_known_before() {
    for count in (0..40).map(|power| power * power * 5) {
        let mut writer = Writer::new(Vec::new(), &info()).unwrap();
        for number in 0..count {
            let backtrace = [scrambled(number) % 50, 1 + number % 3].map(LocationCode);
            let name = |code: LocationCode| {
                Frame::from(vec![Location {
                    filename: "f".into(),
                    line: 1,
                    start_char: 0,
                    end_char: 0,
                    defname: format!("function {}", code.0).into(),
                }])
            };
            let time = Timestamp(START.0 + number * 50);
            writer.birth(time, &birth(&backtrace), &mut |code| name(code)).unwrap();
            if number % 1000 == 999 {
                writer.checkpoint().unwrap();
            }
        }
        let expected = writer.finished_len();
        let trace = writer.finish().unwrap();
        let actual = trace.len() as u64;
        assert!(actual <= expected && expected <= actual + 400, "{actual} {expected}");
    }
}
