//! Traces in memory, for tests.

use lifetrace_trace::event::{Event, Location, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};
use lifetrace_trace::memtrace::{Error, NewAllocation, Reader, Version, Writer};

pub const START: Timestamp = Timestamp(1_586_965_711_174_340);

/// An event that owns its backtrace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owned {
    Allocation {
        id: u64,
        length: u64,
        samples: u64,
        source: Source,
        domain: u16,
        backtrace: Vec<LocationCode>,
    },
    Promotion(u64),
    Collection(u64),
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Promotion(id) => Self::Promotion(id.0),
            Event::Collection(id) => Self::Collection(id.0),
            Event::Allocation(it) => Self::Allocation {
                id: it.id.0,
                length: it.length.0,
                samples: it.samples,
                source: it.source,
                domain: it.domain.0,
                backtrace: it.backtrace.to_vec(),
            },
        }
    }
}

pub fn info() -> TraceInfo {
    TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: "/bin/program".into(),
        host_name: "machine".into(),
        runtime_params: "a=0,b=1".into(),
        pid: 4242,
        start_time: START,
        initial_domain: DomainId(0),
        context: None,
    }
}

/// Of the newest version, into memory.
pub fn writer() -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), &info(), Version::V3).unwrap()
}

/// Microseconds after the start.
pub fn at(time: u64) -> Timestamp {
    Timestamp(START.0 + time)
}

/// A block of one word in the minor heap with one sample.
pub fn allocation(backtrace: &[LocationCode]) -> NewAllocation<'_> {
    NewAllocation {
        length: Words(1),
        samples: 1,
        source: Source::Minor,
        backtrace,
        common_prefix: 0,
        id: None,
    }
}

pub fn codes(codes: &[u64]) -> Vec<LocationCode> {
    codes.iter().copied().map(LocationCode).collect()
}

/// For writers whose frames have no locations.
pub fn nowhere(_: LocationCode) -> Vec<Location> {
    Vec::new()
}

pub fn location(filename: &str, line: u32, defname: &str) -> Location {
    let (filename, defname) = (filename.into(), defname.into());
    Location { filename, line, start_char: 1, end_char: 2, defname }
}

/// All events that can be read, and why there are no more.
pub fn read_all(trace: &[u8]) -> (Vec<(Timestamp, Owned)>, Result<(), Error>) {
    match Reader::open(trace) {
        Ok(mut reader) => read_rest(&mut reader),
        Err(error) => (Vec::new(), Err(error)),
    }
}

pub fn read_rest<R: std::io::Read>(
    reader: &mut Reader<R>,
) -> (Vec<(Timestamp, Owned)>, Result<(), Error>) {
    let mut events = Vec::new();
    loop {
        match reader.next() {
            Ok(Some((time, event))) => events.push((time, event.into())),
            Ok(None) => return (events, Ok(())),
            Err(error) => return (events, Err(error)),
        }
    }
}

/// The events of a trace that is not damaged.
pub fn read_whole(trace: &[u8]) -> Vec<(Timestamp, Owned)> {
    let (events, outcome) = read_all(trace);
    outcome.unwrap();
    events
}

/// Where the packets of a trace begin.
pub fn packet_starts(trace: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut start = 0;
    while start < trace.len() {
        starts.push(start);
        start += u32::from_le_bytes(trace[start + 4..start + 8].try_into().unwrap()) as usize / 8;
    }
    starts
}

pub fn id(id: u64) -> AllocationId {
    AllocationId(id)
}

/// Times of all events, in microseconds after the start.
pub fn times(trace: &[u8]) -> Vec<u64> {
    read_whole(trace).iter().map(|(time, _)| time.0 - START.0).collect()
}
