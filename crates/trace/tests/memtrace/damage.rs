//! Damaged files: everything before the damage is delivered, then it is explained, and nothing panics.

use std::io::{self, Read};

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{DomainId, Words};
use lifetrace_trace::memtrace::{Error, Lookalike, MAX_DEPTH, NewAllocation, Reader, Writer};

use crate::support::{
    Owned, allocation, at, codes, location, nowhere, packet_starts, read_all, read_rest,
    read_whole, writer,
};

/// Every kind of event and packet, in two domains.
fn small_trace() -> Vec<u8> {
    let mut writer = writer();
    for step in 0..24 {
        writer.switch_domain(DomainId((step / 12) as u16));
        small_step(&mut writer, step).unwrap();
    }
    writer.finish().unwrap()
}

fn small_step(writer: &mut Writer<Vec<u8>>, step: u64) -> io::Result<()> {
    let now = at(step * 3_000_000);
    let stack: Vec<_> = (0..step % 7 + 1).map(|depth| 3 + depth % (2 + step % 3)).collect();
    let backtrace = codes(&stack);
    let new = NewAllocation {
        length: Words(step * step * 100),
        source: if step.is_multiple_of(3) { Source::External } else { Source::Minor },
        ..allocation(&backtrace)
    };
    let new = if step.is_multiple_of(2) { new } else { allocation(&backtrace) };
    let id = writer.allocation(now, &new, &mut |code| {
        vec![location(&format!("{}.c", code.0), 7, "f"); code.0 as usize % 3]
    })?;
    if step % 4 == 1 {
        writer.promotion(now, id)?;
    }
    if step % 5 == 2 {
        writer.collection(now, id)?;
    }
    Ok(())
}

/// Offsets at which the events end.
fn event_ends(trace: &[u8]) -> Vec<usize> {
    let mut reader = Reader::open(trace).unwrap();
    let mut ends = Vec::new();
    while reader.next().unwrap().is_some() {
        ends.push(reader.position() as usize);
    }
    ends
}

fn count_before(ends: &[usize], offset: usize) -> usize {
    ends.iter().filter(|end| **end <= offset).count()
}

#[test]
fn cut_anywhere_all_whole_events_are_read() {
    let trace = small_trace();
    let (events, ends, starts) = (read_whole(&trace), event_ends(&trace), packet_starts(&trace));
    assert!(starts.len() >= 6 && events.len() > 30);
    for len in 0..trace.len() {
        let (found, outcome) = read_all(&trace[..len]);
        assert_eq!(found, events[..count_before(&ends, len)], "cut at {len}");
        match outcome {
            Ok(()) => assert!(starts[1..].contains(&len), "cut at {len}"),
            Err(Error::Empty) => assert_eq!(len, 0),
            Err(Error::Truncated { offset, .. }) => assert_eq!(offset, len as u64),
            Err(error) => panic!("cut at {len}: {error}"),
        }
    }
}

#[test]
fn with_any_byte_changed_all_events_before_it_are_read() {
    let trace = small_trace();
    let (events, ends) = (read_whole(&trace), event_ends(&trace));
    for offset in 0..trace.len() {
        for change in [0x01, 0x80, 0xff, 0x55] {
            let mut damaged = trace.clone();
            damaged[offset] ^= change;
            let (found, outcome) = read_all(&damaged);
            let before = count_before(&ends, offset);
            assert!(found.len() >= before, "byte {offset}: {outcome:?}");
            assert_eq!(found[..before], events[..before], "byte {offset}: {outcome:?}");
        }
    }
}

#[test]
fn a_corrupt_packet_is_named() {
    let trace = small_trace();
    let starts = packet_starts(&trace);
    let mut damaged = trace.clone();
    damaged[starts[2]] = 0;
    let (_, outcome) = read_all(&damaged);
    match outcome {
        Err(Error::Corrupt { offset, .. }) => assert_eq!(offset, starts[2] as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_is_no_trace_is_told_from_a_trace() {
    let guess = |bytes: &[u8]| match read_all(bytes).1 {
        Err(Error::NotATrace(guess)) => guess,
        other => panic!("{bytes:x?}: {other:?}"),
    };
    assert_eq!(guess(b"\x7fELF\x02\x01\x01"), Lookalike::Elf);
    assert_eq!(guess(b"\x1f\x8b\x08"), Lookalike::Compressed("gzip"));
    assert_eq!(guess(b"\xfd7zXZ\0"), Lookalike::Compressed("xz"));
    assert_eq!(guess(b"\x28\xb5\x2f\xfd\x04"), Lookalike::Compressed("zstd"));
    assert_eq!(guess(b"desc: massif\n"), Lookalike::Text);
    assert_eq!(guess(b"\xc1\xfc\x1f\xc1\0\0"), Lookalike::BigEndianTrace);
    assert_eq!(guess(b"\0\0\0"), Lookalike::Unknown { bytes: [0; 4], len: 3 });
    assert!(matches!(read_all(b"").1, Err(Error::Empty)));
    assert!(matches!(read_all(b"\xc1\x1f").1, Err(Error::Truncated { offset: 2, .. })));
}

#[test]
fn errors_say_where_and_what() {
    let message = |bytes: &[u8]| read_all(bytes).1.unwrap_err().to_string();
    assert_eq!(message(b""), "the file is empty");
    assert_eq!(message(b"hello\n"), "not a Memtrace trace: this looks like a text file");
    let trace = small_trace();
    let cut = trace.len() - 1;
    let expected = format!("byte {cut}: the file ends in the middle of a packet");
    assert_eq!(message(&trace[..cut]), expected);
    let newer = [&trace[..28], &[4, 0], &trace[30..]].concat();
    assert_eq!(message(&newer), "byte 0: format version 4 (versions 1 to 3 are known)");
}

#[test]
fn a_second_info_is_refused() {
    let trace = small_trace();
    let twice = [&trace[..packet_starts(&trace)[1]], &trace].concat();
    let (events, outcome) = read_all(&twice);
    assert!(events.is_empty() && matches!(outcome, Err(Error::Corrupt { .. })));
}

#[test]
fn a_cache_that_has_drifted_is_found_out() {
    let mut writer = writer();
    for time in 0..2 {
        writer.allocation(at(time), &allocation(&codes(&[1, 2])), &mut nowhere).unwrap();
        writer.flush(at(time)).unwrap();
    }
    let mut trace = writer.finish().unwrap();
    let last = *packet_starts(&trace).last().unwrap();
    assert_eq!(read_whole(&trace).len(), 2);
    trace[last + 44] ^= 1;
    let (events, outcome) = read_all(&trace);
    assert_eq!(events.len(), 2);
    match outcome {
        Err(Error::Corrupt { offset, .. }) => assert_eq!(offset, last as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn after_an_error_there_is_nothing_more() {
    let trace = small_trace();
    let mut reader = Reader::open(&trace[..trace.len() - 1]).unwrap();
    assert!(read_rest(&mut reader).1.is_err());
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn an_input_that_fails_is_told_from_one_that_ends() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            match self.0.read(bytes)? {
                0 => Err(io::ErrorKind::ConnectionReset.into()),
                read => Ok(read),
            }
        }
    }
    let trace = small_trace();
    let last = *packet_starts(&trace).last().unwrap();
    let mut reader = Reader::open(Failing(&trace[..last])).unwrap();
    let (events, outcome) = read_rest(&mut reader);
    assert_eq!(events.len(), count_before(&event_ends(&trace), last));
    assert!(matches!(outcome, Err(Error::Io { offset, .. }) if offset == last as u64));
}

#[test]
fn an_input_may_come_in_drops() {
    struct Dripping<'a>(&'a [u8], bool);
    impl Read for Dripping<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let one = bytes.len().min(1);
            self.0.read(&mut bytes[..one])
        }
    }
    let trace = small_trace();
    let mut reader = Reader::open(Dripping(&trace, false)).unwrap();
    let (events, outcome) = read_rest(&mut reader);
    outcome.unwrap();
    assert_eq!(events, read_whole(&trace));
}

#[test]
fn there_is_an_end_to_domains() {
    let mut writer = writer();
    for domain in 0..300 {
        writer.switch_domain(DomainId(domain));
        writer.allocation(at(1), &allocation(&[]), &mut nowhere).unwrap();
    }
    let (events, outcome) = read_all(&writer.finish().unwrap());
    assert_eq!(events.len(), 256);
    assert!(matches!(outcome, Err(Error::TooManyDomains { .. })));
}

/// Each event adds many frames to the last one's, in a few bytes.
#[test]
fn there_is_an_end_to_depth() {
    let deep = codes(&vec![5; 340_000]);
    let deeper = [&deep[..], &codes(&vec![6; 340_000])].concat();
    let back = [&deep[..], &codes(&[7])].concat();
    let mut writer = writer();
    for stack in [&deep, &deeper, &back] {
        writer.allocation(at(1), &allocation(stack), &mut nowhere).unwrap();
    }
    let events = read_whole(&writer.finish().unwrap());
    let stacks = events.iter().map(|(_, event)| match event {
        Owned::Allocation { backtrace, .. } => &backtrace[..],
        other => panic!("{other:?}"),
    });
    // Not compared by assert_eq, which would print them.
    assert!(stacks.eq([&deep[..], &deeper[..MAX_DEPTH], &back[..]]));
}
