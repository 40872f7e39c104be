//! A trace, read as `report` reads it.

use std::path::Path;

use lifetrace_analysis::{Profile, Summary};
use lifetrace_trace::fact::Fact;

use super::reader::Reader;

/// The totals of a trace.
///
/// # Panics
/// If it is damaged, or has an event about a block that did not live.
pub fn read_through(trace: &Path) -> Summary {
    read(trace).0
}

fn read(trace: &Path) -> (Summary, Reader) {
    let mut reader = Reader::open(trace);
    let mut profile = Profile::new(reader.info()).unwrap();
    while let Some(step) = reader.next() {
        if let Some((time, event)) = step {
            profile.record(time, &event);
        }
    }
    let summary = profile.summary();
    assert_eq!(summary.unmatched, 0, "{}", trace.display());
    (summary, reader)
}

/// What a trace tells beside events.
///
/// # Panics
/// As [`read_through`].
pub fn facts_of(trace: &Path) -> Vec<Fact> {
    read(trace).1.facts
}

/// Reads a trace to its end.
///
/// # Panics
/// As [`read_through`], and if it was not finished.
pub fn assert_complete(trace: &Path) {
    assert!(read(trace).1.is_complete(), "{} was not finished", trace.display());
}
