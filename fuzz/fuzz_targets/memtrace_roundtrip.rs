//! Whatever can be read can be written, and is then read as it was. Events are compared domain by domain,
//! since packets of several domains may change places.
//!
//! But for backtraces so deep that they may be truncated (what follows these is coded otherwise in a
//! copy, which has never seen what was cut off), and frames that are used before they are located, which
//! no writer does.

#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use lifetrace_trace::event::{Allocation, Event};
use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp};
use lifetrace_trace::memtrace::{CopyError, Reader, Writer, copy};

/// So many frames have room for their words, whatever these are.
const SURELY_WHOLE: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let Some(first) = copied(bytes).filter(|_| is_fair(bytes)) else {
        return;
    };
    let second = copied(&first).expect("a copy can be read");
    let (first, second) = (Reader::open(&first[..]).unwrap(), Reader::open(&second[..]).unwrap());
    assert_eq!(first.info(), second.info());
    assert_eq!(by_domain(first), by_domain(second));
});

/// A copy of the events before the first damage.
fn copied(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::open(bytes).ok()?;
    let mut writer = Writer::new(Vec::new(), reader.info(), reader.version()).unwrap();
    match copy(&mut reader, &mut writer) {
        Ok(()) | Err(CopyError::Read(_)) => Some(writer.finish().unwrap()),
        Err(CopyError::Write(error)) => panic!("{error}"),
    }
}

fn is_fair(trace: &[u8]) -> bool {
    let Ok(mut reader) = Reader::open(trace) else {
        return false;
    };
    let mut located: HashMap<LocationCode, usize> = HashMap::new();
    let mut backtrace = Vec::new();
    while let Ok(Some((_, event))) = reader.next() {
        if let Event::Allocation(allocation) = event {
            backtrace.clear();
            backtrace.extend_from_slice(allocation.backtrace);
        }
        for code in &backtrace {
            located.entry(*code).or_insert_with(|| reader.locations(*code).len());
        }
        if backtrace.len() > SURELY_WHOLE {
            return false;
        }
    }
    located.iter().all(|(code, count)| reader.locations(*code).len() == *count)
}

/// An event and its backtrace.
type Kept = (Timestamp, Event<'static>, Vec<LocationCode>);

fn by_domain(mut copy: Reader<&[u8]>) -> HashMap<DomainId, Vec<Kept>> {
    let mut domains: HashMap<_, Vec<_>> = HashMap::new();
    while let Some((time, event)) = copy.next().expect("a copy is not damaged") {
        let kept = match event {
            Event::Promotion(id) => (time, Event::Promotion(id), Vec::new()),
            Event::Collection(id) => (time, Event::Collection(id), Vec::new()),
            Event::Allocation(whole) => {
                (time, Event::Allocation(without_backtrace(whole)), whole.backtrace.to_vec())
            }
        };
        domains.entry(copy.domain()).or_default().push(kept);
    }
    domains
}

/// How much is known to be shared may differ, as packets do.
fn without_backtrace(allocation: Allocation<'_>) -> Allocation<'static> {
    let Allocation { id, length, samples, source, domain, .. } = allocation;
    Allocation { id, length, samples, source, domain, backtrace: &[], common_prefix: 0 }
}
