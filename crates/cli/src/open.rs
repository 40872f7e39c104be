//! Opens a trace of whatever format, by content. The only place that knows which formats there are.

use std::path::{Path, PathBuf};

use anyhow::bail;
use lifetrace_analysis::Names;
use lifetrace_trace::event::{Location, TraceInfo};
use lifetrace_trace::ids::{LocationCode, ThreadId, Timestamp};
use lifetrace_trace::lt::{self, BirthDetails, Index, Item, Passed};
use lifetrace_trace::memtrace;

use crate::damage::{Damage, Extent, Problem};
use crate::damages::Damages;
use crate::input::{Bytes, Input, Kind};

/// Whether a reader wants backtraces, which cost most of the time where they are deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backtraces {
    Read,
    Skip,
}

/// A trace being read.
pub struct Trace {
    /// As messages call it.
    pub path: PathBuf,
    /// Length of the file in bytes, if it is one.
    pub file_bytes: Option<u64>,
    reader: Reader,
    /// Why it cannot be read any further.
    stop: Option<Problem>,
}

enum Reader {
    Memtrace(Box<memtrace::Reader<Bytes>>),
    Lt(Box<lt::Reader<Bytes>>),
}

/// Name and version of a trace's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// As people call it.
    pub name: &'static str,
    /// As `--json` calls it.
    pub id: &'static str,
    pub version: u64,
    /// Where versions have two numbers.
    pub minor: Option<u64>,
}

/// What a trace has that its writer should not have made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Packets of other processes, passed over.
    pub foreign_packets: u64,
    /// How often the clock was set back.
    pub clock_steps: u64,
}

impl Trace {
    /// Opens a trace and reads what it says about itself; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be read, or is no trace of a format that is known.
    pub fn open(path: &Path, backtraces: Backtraces) -> anyhow::Result<Self> {
        Self::read(Input::open(path)?, backtraces)
    }

    /// The same of an input that is open already.
    ///
    /// # Errors
    /// If it cannot be read, or is no trace of a format that is known.
    pub fn read(input: Input, backtraces: Backtraces) -> anyhow::Result<Self> {
        let (path, file_bytes) = (input.path.clone(), input.bytes);
        let reader = match Reader::open(input) {
            Ok(reader) => reader,
            Err(problem) => bail!("{}", Damage::new(&path, problem).message(Extent::Nothing)),
        };
        let reader = match backtraces {
            Backtraces::Read => reader,
            Backtraces::Skip => reader.without_backtraces(),
        };
        Ok(Self { path, file_bytes, reader, stop: None })
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        match &self.reader {
            Reader::Memtrace(reader) => reader.info(),
            Reader::Lt(reader) => reader.info(),
        }
    }

    /// What it is.
    pub fn format(&self) -> Format {
        match &self.reader {
            Reader::Memtrace(reader) => Format {
                name: "Memtrace",
                id: "memtrace",
                version: reader.version().number().into(),
                minor: None,
            },
            Reader::Lt(reader) => Format::lt(reader.minor_version()),
        }
    }

    /// What comes next, or nothing where reading ends; [`damages`](Self::damages) tells why it does.
    #[inline]
    pub fn next(&mut self) -> Option<(Timestamp, Item<'_>)> {
        let outcome = match &mut self.reader {
            Reader::Lt(reader) => reader.next().map_err(Problem::from),
            Reader::Memtrace(reader) => match reader.next() {
                Ok(next) => Ok(next.map(|(time, event)| (time, Item::Event(event)))),
                Err(error) => Err(Problem::from(error)),
            },
        };
        outcome.unwrap_or_else(|problem| {
            self.stop = Some(problem);
            None
        })
    }

    /// What is known of the last birth beside its event, where the format has room for it.
    pub fn birth(&self) -> Option<&BirthDetails> {
        match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => reader.birth(),
        }
    }

    /// In which thread the last event happened, where the format has room for it.
    pub fn thread(&self) -> Option<ThreadId> {
        match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => Some(reader.thread()),
        }
    }

    /// Whether the format has room for facts.
    pub fn has_facts(&self) -> bool {
        matches!(self.reader, Reader::Lt(_))
    }

    /// At the end of a trace that has one: its index.
    pub fn index(&self) -> Option<&Index> {
        match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => reader.index(),
        }
    }

    /// What has been come past, where the format has an index to compare it with.
    pub fn passed(&self) -> Option<&Passed> {
        match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => Some(reader.passed()),
        }
    }

    /// At the end: whether the trace was finished by who wrote it, where the format tells.
    pub fn is_complete(&self) -> Option<bool> {
        match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => Some(reader.is_complete()),
        }
    }

    /// The latest time that what has been read covers.
    pub fn end_time(&self) -> Timestamp {
        match &self.reader {
            Reader::Memtrace(reader) => reader.end_time(),
            Reader::Lt(reader) => reader.end_time(),
        }
    }

    /// What was strange in what has been read.
    pub fn oddities(&self) -> Oddities {
        match &self.reader {
            Reader::Memtrace(reader) => Oddities {
                foreign_packets: reader.foreign_packets(),
                clock_steps: reader.clock_steps(),
            },
            Reader::Lt(_) => Oddities::default(),
        }
    }

    /// What was wrong with the trace; to be asked when there is [nothing more](Self::next).
    pub fn damages(&mut self) -> Damages {
        let reader = match &self.reader {
            Reader::Memtrace(_) => None,
            Reader::Lt(reader) => Some(&**reader),
        };
        Damages::new(&self.path, reader, self.stop.take())
    }
}

impl Format {
    /// Ours, of this minor version.
    pub fn lt(minor: u64) -> Self {
        Self { name: "Lifetrace", id: "lt", version: lt::MAJOR, minor: Some(minor) }
    }
}

impl Reader {
    fn open(input: Input) -> Result<Self, Problem> {
        Ok(match input.kind {
            Kind::Memtrace => Self::Memtrace(Box::new(memtrace::Reader::open(input.into_bytes())?)),
            Kind::Lt => Self::Lt(Box::new(lt::Reader::open(input.into_bytes())?)),
        })
    }

    fn without_backtraces(self) -> Self {
        match self {
            Self::Memtrace(reader) => Self::Memtrace(Box::new(reader.without_backtraces())),
            Self::Lt(reader) => Self::Lt(Box::new(reader.without_backtraces())),
        }
    }
}

impl Names for Trace {
    fn locations(&self, code: LocationCode) -> &[Location] {
        match &self.reader {
            Reader::Memtrace(reader) => reader.locations(code),
            Reader::Lt(reader) => reader.locations(code),
        }
    }
}
