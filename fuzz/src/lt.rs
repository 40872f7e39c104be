//! Traces of our own format, taken apart and put together.

use lifetrace_trace::event::{Event, TraceInfo};
use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp};
use lifetrace_trace::lt::{Item, Listing, Reader, Writer};

/// Deeper backtraces are not compared frame by frame, to keep inputs quick.
const COMPARED: usize = 1000;

/// Reads all there is, checks what readers promise, and says how many events there were.
pub fn read(bytes: &[u8], with_backtraces: bool) -> usize {
    let Ok(reader) = Reader::open(bytes) else { return 0 };
    let mut reader = if with_backtraces { reader } else { reader.without_backtraces() };
    let mut previous: Vec<LocationCode> = Vec::new();
    let mut count = 0;
    while let Ok(Some((_, item))) = reader.next() {
        count += 1;
        if let Item::Event(Event::Allocation(allocation)) = item {
            let common = allocation.common_prefix;
            assert!(common <= allocation.backtrace.len());
            let compared = common.min(previous.len());
            assert_eq!(allocation.backtrace[..compared], previous[..compared]);
            previous.clear();
            previous.extend(allocation.backtrace.iter().take(COMPARED));
        }
        for code in previous.iter().rev().take(3) {
            assert!(reader.frame(*code).is_some(), "a frame that was never told");
        }
        assert!(reader.position() <= bytes.len() as u64);
    }
    assert!(matches!(reader.next(), Ok(None)), "the end is final");
    let lost: u64 = reader.damages().iter().map(|damage| damage.bytes).sum();
    assert!(lost <= bytes.len() as u64, "more is lost than there was");
    count
}

/// All that a trace tells, in words.
pub fn digest(bytes: &[u8]) -> Vec<String> {
    let Ok(mut reader) = Reader::open(bytes) else { return Vec::new() };
    let mut digest = vec![format!("{:?}", reader.info())];
    while let Ok(Some((time, item))) = reader.next() {
        let item = match item {
            Item::Event(Event::Allocation(mut allocation)) => {
                // How much is known to be shared may differ.
                let backtrace = allocation.backtrace.to_vec();
                (allocation.common_prefix, allocation.backtrace) = (0, &[]);
                let line = format!("{allocation:?}");
                let codes: Vec<u8> = backtrace.iter().flat_map(|it| it.0.to_le_bytes()).collect();
                let innermost = backtrace.last().and_then(|code| reader.frame(*code));
                let (checksum, details) = (crc32fast::hash(&codes), reader.birth());
                format!("{line} {checksum} {innermost:?} {details:?}")
            }
            other => format!("{other:?}"),
        };
        digest.push(format!("{time:?} {:?} {:?} {item}", reader.thread(), reader.domain()));
    }
    digest
}

/// A trace without events: its two headers.
pub fn header() -> Vec<u8> {
    let info = TraceInfo {
        sample_rate: 0.5,
        word_bits: 64,
        executable_name: "p".into(),
        host_name: String::new(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(1_000_000),
        initial_domain: DomainId(0),
        context: None,
    };
    let writer = Writer::new(Vec::new(), &info).expect("the rate is one");
    let trace = writer.finish().expect("memory takes everything");
    let mut packets = Listing::new(&trace[..]).map_while(Result::ok);
    let len = packets.by_ref().take(2).map(|packet| packet.len).sum::<u64>();
    trace[..len as usize].to_vec()
}

/// A packet as it should be.
pub fn packet(kind: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    let covered = [kind, low, middle, high];
    let checksum = crc32fast::hash(&[&covered, payload].concat()).to_le_bytes();
    [&[0xf5, b'L', b'T', 0x1a], &covered[..], &checksum, payload].concat()
}
