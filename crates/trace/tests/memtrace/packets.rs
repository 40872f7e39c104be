//! Versions, processes, flushing, failing outputs.

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::ids::DomainId;
use lifetrace_trace::memtrace::{Error, Listing, Reader, Version, Writer};

use crate::support::{
    START, allocation, at, codes, id, info, nowhere, packet_starts, read_rest, read_whole, times,
    writer,
};

#[test]
fn each_version_has_its_header() {
    let with_context = TraceInfo { context: Some("run 7".into()), ..info() };
    let with_context = TraceInfo { initial_domain: DomainId(3), ..with_context };
    for (version, header_len, context, domain) in [
        (Version::V1, 66, None, 0),
        (Version::V2, 66, Some("run 7"), 0),
        (Version::V3, 68, Some("run 7"), 3),
    ] {
        let mut writer = Writer::new(Vec::new(), &with_context, version).unwrap();
        writer.allocation(START, &allocation(&[]), &mut nowhere).unwrap();
        let trace = writer.finish().unwrap();
        let starts = packet_starts(&trace);
        // An event of 4 bytes, a prefix length and a number of words.
        assert_eq!(trace.len() - starts[1], header_len + 6);
        let mut reader = Reader::open(&trace[..]).unwrap();
        assert_eq!(reader.version(), version);
        let expected = TraceInfo {
            context: context.map(str::to_owned),
            initial_domain: DomainId(domain),
            ..with_context.clone()
        };
        assert_eq!(reader.info(), &expected);
        assert_eq!(read_rest(&mut reader).0.len(), 1);
    }
}

#[test]
fn an_empty_context_is_none() {
    let with_context = TraceInfo { context: Some(String::new()), ..info() };
    let trace = Writer::new(Vec::new(), &with_context, Version::V3).unwrap().finish().unwrap();
    assert_eq!(Reader::open(&trace[..]).unwrap().info().context, None);
}

#[test]
fn rates_and_words_that_cannot_be_are_refused() {
    let outcome = |info: TraceInfo| Writer::new(Vec::new(), &info, Version::V3).map(|_| ());
    for sample_rate in [0.0, -1.0, 1.0001, f64::NAN, f64::INFINITY] {
        let error = outcome(TraceInfo { sample_rate, ..info() }).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{sample_rate}");
    }
    assert!(outcome(TraceInfo { word_bits: 63, ..info() }).is_err());
    assert!(outcome(TraceInfo { word_bits: 32, sample_rate: 1.0, ..info() }).is_ok());
}

#[test]
fn a_rate_that_cannot_be_is_corrupt() {
    let mut trace = writer().finish().unwrap();
    // After the header and the event's own.
    trace[72..80].copy_from_slice(&0_f64.to_le_bytes());
    assert!(matches!(Reader::open(&trace[..]), Err(Error::Corrupt { offset: 68, .. })));
}

#[test]
fn long_strings_about_the_trace_are_cut() {
    let long = "é".repeat(50_000);
    let strings = TraceInfo {
        executable_name: long.clone(),
        host_name: long.clone(),
        runtime_params: long.clone(),
        context: Some(long),
        ..info()
    };
    let trace = Writer::new(Vec::new(), &strings, Version::V3).unwrap().finish().unwrap();
    let reader = Reader::open(&trace[..]).unwrap();
    assert_eq!(reader.info().host_name, "é".repeat(2048));
    assert_eq!(reader.info().context.as_deref(), Some(&*"é".repeat(8192)));
}

#[test]
fn packets_of_other_processes_are_passed_over_and_counted() {
    let write = |pid| {
        let mut writer =
            Writer::new(Vec::new(), &TraceInfo { pid, ..info() }, Version::V3).unwrap();
        for time in 0..4 {
            let backtrace = codes(&[pid, time]);
            writer.allocation(at(time), &allocation(&backtrace), &mut nowhere).unwrap();
            writer.flush(at(time)).unwrap();
        }
        writer.finish().unwrap()
    };
    let (own, foreign) = (write(1), write(2));
    let (own_starts, foreign_starts) = (packet_starts(&own), packet_starts(&foreign));
    let foreign_packets = &foreign[foreign_starts[1]..foreign_starts[6]];
    for start in &own_starts[1..] {
        let trace = [&own[..*start], foreign_packets, &own[*start..]].concat();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let (events, outcome) = read_rest(&mut reader);
        outcome.unwrap();
        assert_eq!(events, read_whole(&own));
        assert_eq!(reader.foreign_packets(), 5);
        assert_eq!(reader.position(), trace.len() as u64);
    }
}

#[test]
fn flushed_events_survive_without_a_finish() {
    let mut output = Vec::new();
    let mut writer = Writer::new(&mut output, &info(), Version::V3).unwrap();
    writer.allocation(at(1), &allocation(&codes(&[1])), &mut nowhere).unwrap();
    writer.flush(at(2_000_000)).unwrap();
    writer.allocation(at(3_000_000), &allocation(&codes(&[2])), &mut nowhere).unwrap();
    let written = writer.written();
    drop(writer);
    assert_eq!(output.len() as u64, written);
    assert_eq!(times(&output), [1]);
}

#[test]
fn after_a_failed_write_there_are_no_more() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = bytes.len().min(self.0);
            self.0 -= room;
            if room > 0 { Ok(room) } else { Err(std::io::ErrorKind::StorageFull.into()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full(500), &info(), Version::V3).unwrap();
    let info_len = writer.written();
    for time in 0..100 {
        writer.allocation(at(time), &allocation(&codes(&[time])), &mut nowhere).unwrap();
    }
    let error = writer.flush(at(100)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(writer.written(), info_len);
    assert!(writer.collection(at(101), id(1)).is_err());
    assert!(writer.flush(at(102)).is_err());
}

#[test]
fn packets_are_listed_as_they_lie_in_the_file() {
    let mut writer = writer();
    for number in 0..20_000 {
        writer.allocation(at(number), &allocation(&codes(&[number % 7])), &mut nowhere).unwrap();
    }
    let trace = writer.finish().unwrap();
    let listed: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
    let starts: Vec<_> = listed.iter().map(|packet| packet.offset as usize).collect();
    assert_eq!(starts, packet_starts(&trace));
    assert_eq!(listed.iter().map(|packet| packet.len).sum::<u64>(), trace.len() as u64);
    let (first, last) = (&listed[0], &listed[listed.len() - 1]);
    assert_eq!((first.version, first.begin, first.pid), (Version::V3, START, info().pid));
    assert_eq!((last.end, last.ids.end), (at(19_999), 20_000));

    let mut cut = Listing::new(&trace[..trace.len() - 1]);
    assert_eq!(cut.by_ref().take_while(Result::is_ok).count(), listed.len() - 1);
    assert!(cut.next().is_none());
    let error = Listing::new(&trace[..trace.len() - 1]).find_map(Result::err).unwrap();
    assert!(matches!(error, Error::Truncated { what: "a packet", .. }), "{error}");
}
