//! Opens a trace of whatever format, by content. The only place that knows which formats there are.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lifetrace_analysis::Names;
use lifetrace_trace::event::{Event, Location, TraceInfo};
use lifetrace_trace::ids::{LocationCode, Timestamp};
use lifetrace_trace::memtrace;

use crate::damage::{Damage, Extent};

/// Whether a reader wants backtraces, which cost most of the time where they are deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backtraces {
    Read,
    Skip,
}

/// A trace being read.
pub struct Trace {
    pub path: PathBuf,
    /// Length of the file, in bytes.
    pub file_bytes: u64,
    reader: Reader,
}

enum Reader {
    Memtrace(Box<memtrace::Reader<File>>),
}

/// Name and version of a trace's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// As people call it.
    pub name: &'static str,
    /// As `--json` calls it.
    pub id: &'static str,
    pub version: u16,
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
    /// Opens a trace and reads what it says about itself.
    ///
    /// # Errors
    /// If it cannot be read, or is no trace of a format that is known.
    pub fn open(path: &Path, backtraces: Backtraces) -> anyhow::Result<Self> {
        let (file, file_bytes) = open_file(path)?;
        let reader = match memtrace::Reader::open(file) {
            Ok(reader) => reader,
            Err(error) => bail!("{}", Damage::new(path, error).message(Extent::Nothing)),
        };
        let reader = match backtraces {
            Backtraces::Read => reader,
            Backtraces::Skip => reader.without_backtraces(),
        };
        let reader = Reader::Memtrace(Box::new(reader));
        Ok(Self { path: path.to_owned(), file_bytes, reader })
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        match &self.reader {
            Reader::Memtrace(reader) => reader.info(),
        }
    }

    /// What it is.
    pub fn format(&self) -> Format {
        match &self.reader {
            Reader::Memtrace(reader) => {
                Format { name: "Memtrace", id: "memtrace", version: reader.version().number() }
            }
        }
    }

    /// The next event, or nothing at the end.
    ///
    /// # Errors
    /// If the rest cannot be read; there are no events after that.
    pub fn next(&mut self) -> Result<Option<(Timestamp, Event<'_>)>, Damage> {
        match &mut self.reader {
            Reader::Memtrace(reader) => {
                reader.next().map_err(|error| Damage::new(&self.path, error))
            }
        }
    }

    /// The latest time that what has been read covers.
    pub fn end_time(&self) -> Timestamp {
        match &self.reader {
            Reader::Memtrace(reader) => reader.end_time(),
        }
    }

    /// What was strange in what has been read.
    pub fn oddities(&self) -> Oddities {
        match &self.reader {
            Reader::Memtrace(reader) => Oddities {
                foreign_packets: reader.foreign_packets(),
                clock_steps: reader.clock_steps(),
            },
        }
    }

    /// The reader of a trace in Memtrace's format.
    pub fn into_memtrace(self) -> memtrace::Reader<File> {
        match self.reader {
            Reader::Memtrace(reader) => *reader,
        }
    }
}

impl Names for Trace {
    fn locations(&self, code: LocationCode) -> &[Location] {
        match &self.reader {
            Reader::Memtrace(reader) => reader.locations(code),
        }
    }
}

fn open_file(path: &Path) -> anyhow::Result<(File, u64)> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
    let metadata = file.metadata().with_context(|| format!("{name}: cannot be read"))?;
    if metadata.is_dir() {
        bail!("{name}: is a directory\n  name one of the trace files in it");
    }
    Ok((file, metadata.len()))
}
