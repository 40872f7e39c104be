//! A trace, read as `report` reads it.

use std::fs::File;
use std::path::Path;

use lifetrace_analysis::{Profile, Summary};
use lifetrace_trace::memtrace::Reader;

/// The totals of a complete trace.
///
/// # Panics
/// If it is damaged or cut, or has an event about a block that did not live.
pub fn read_through(trace: &Path) -> Summary {
    let file = File::open(trace).unwrap();
    let fail = |error| -> ! { panic!("{}: {error}", trace.display()) };
    let mut reader = Reader::open(file).unwrap_or_else(|error| fail(error));
    let mut profile = Profile::new(reader.info()).unwrap();
    loop {
        match reader.next() {
            Ok(Some((time, event))) => profile.record(time, &event),
            Ok(None) => break,
            Err(error) => fail(error),
        }
    }
    let summary = profile.summary();
    assert_eq!(summary.unmatched, 0, "{}", trace.display());
    summary
}

/// Reads a trace to its end.
///
/// # Panics
/// As [`read_through`].
pub fn assert_complete(trace: &Path) {
    read_through(trace);
}
