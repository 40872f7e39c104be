//! A trace of either format, in which nothing may be wrong.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use lifetrace_trace::event::{Event, Location, TraceInfo};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{LocationCode, Timestamp};
use lifetrace_trace::lt::{self, Item};
use lifetrace_trace::memtrace;

/// Panics where it cannot go on, with the trace's name.
pub struct Reader {
    name: String,
    format: Format,
    /// What was told beside events, so far.
    pub facts: Vec<Fact>,
}

enum Format {
    Lt(Box<lt::Reader<File>>),
    Memtrace(Box<memtrace::Reader<File>>),
}

impl Reader {
    pub fn open(trace: &Path) -> Reader {
        let name = trace.display().to_string();
        let file = || File::open(trace).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut mark = [0; 4];
        let is_ours = file().read_exact(&mut mark).is_ok() && mark[1..3] == *b"LT";
        let format = if is_ours {
            let reader = lt::Reader::open(file());
            Format::Lt(Box::new(reader.unwrap_or_else(|error| panic!("{name}: {error}"))))
        } else {
            let reader = memtrace::Reader::open(file());
            Format::Memtrace(Box::new(reader.unwrap_or_else(|error| panic!("{name}: {error}"))))
        };
        Reader { name, format, facts: Vec::new() }
    }

    pub fn info(&self) -> &TraceInfo {
        match &self.format {
            Format::Lt(reader) => reader.info(),
            Format::Memtrace(reader) => reader.info(),
        }
    }

    /// The next event, if it is none of the facts; nothing at the end.
    pub fn next(&mut self) -> Option<Option<(Timestamp, Event<'_>)>> {
        let Reader { name, format, facts } = self;
        match format {
            Format::Memtrace(reader) => {
                reader.next().unwrap_or_else(|error| panic!("{name}: {error}")).map(Some)
            }
            Format::Lt(reader) => {
                assert_eq!(reader.damages(), [], "{name}");
                match reader.next().unwrap_or_else(|error| panic!("{name}: {error}"))? {
                    (time, Item::Event(event)) => Some(Some((time, event))),
                    (_, Item::Fact(fact)) => {
                        facts.push(fact);
                        Some(None)
                    }
                }
            }
        }
    }

    pub fn locations(&self, code: LocationCode) -> &[Location] {
        match &self.format {
            Format::Lt(reader) => reader.locations(code),
            Format::Memtrace(reader) => reader.locations(code),
        }
    }

    /// At the end: whether the trace was finished.
    pub fn is_complete(&self) -> bool {
        match &self.format {
            Format::Lt(reader) => reader.is_complete(),
            Format::Memtrace(_) => true,
        }
    }
}
