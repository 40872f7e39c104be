//! Any bytes: the reader must not panic, and must keep its promises to those who trust it.

#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use lifetrace_trace::event::Event;
use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp};
use lifetrace_trace::memtrace::Reader;

/// Deeper backtraces are not compared frame by frame, to keep inputs quick.
const COMPARED: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let whole = check_promises(bytes);
    let quick = count_without_backtraces(bytes);
    assert!(whole <= quick, "backtraces are all that skipping them leaves out");
});

fn check_promises(bytes: &[u8]) -> usize {
    let Ok(mut reader) = Reader::open(bytes) else {
        return 0;
    };
    let mut times: HashMap<DomainId, Timestamp> = HashMap::new();
    let mut previous: Vec<LocationCode> = Vec::new();
    let mut count = 0;
    while let Ok(Some((time, event))) = reader.next() {
        count += 1;
        if let Event::Allocation(allocation) = event {
            let common = allocation.common_prefix;
            assert!(common <= allocation.backtrace.len());
            let compared = common.min(previous.len());
            assert_eq!(allocation.backtrace[..compared], previous[..compared]);
            previous.clear();
            previous.extend(allocation.backtrace.iter().take(COMPARED));
        }
        for code in previous.iter().rev().take(3) {
            reader.locations(*code).iter().for_each(|it| assert!(it.end_char < 1 << 10));
        }
        let last = times.insert(reader.domain(), time);
        assert!(last.is_none_or(|last| last <= time), "time went back");
        assert!(reader.position() <= bytes.len() as u64);
    }
    assert!(matches!(reader.next(), Ok(None)), "the end is final");
    count
}

fn count_without_backtraces(bytes: &[u8]) -> usize {
    let Ok(reader) = Reader::open(bytes) else {
        return 0;
    };
    let mut reader = reader.without_backtraces();
    let mut count = 0;
    while let Ok(Some(_)) = reader.next() {
        count += 1;
    }
    count
}
