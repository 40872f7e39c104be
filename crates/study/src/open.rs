//! Opens a trace of whatever format, by content. The only place that knows which formats there are.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use anyhow::bail;
use lifetrace_analysis::Names;
use lifetrace_trace::event::{Location, TraceInfo};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{LocationCode, Timestamp};
use lifetrace_trace::lt::{self, Index, Passed};
use lifetrace_trace::record::{Record, RecordKind};
use lifetrace_trace::{AnyReader, Progress, memtrace};
use rustc_hash::FxHashMap;

use crate::damage::{Damage, Extent, Problem};
use crate::damages::Damages;
use crate::input::{Bytes, Input, Kind};

/// Shorter traces are read by one thread.
const WORTH_THREADS: u64 = 256 << 10;

/// What reports do with what is decoded keeps no more than that busy.
const MOST_THREADS: NonZero<usize> = NonZero::new(8).unwrap();

/// Whether a reader wants backtraces, which cost most of the time where they are deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backtraces {
    /// It does.
    Read,
    /// It does not: births have none.
    Skip,
}

/// A trace being read.
pub struct Trace {
    /// As messages call it.
    pub path: PathBuf,
    /// Length of the file in bytes, if it is one.
    pub file_bytes: Option<u64>,
    reader: AnyReader<Bytes>,
    /// Paths of the object files that were told, by their numbers.
    modules: FxHashMap<u32, Arc<str>>,
    /// Why it cannot be read any further.
    stop: Option<Problem>,
}

/// Name and version of a trace's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// As people call it.
    pub name: &'static str,
    /// As `--json` calls it.
    pub id: &'static str,
    /// The version, or its first number.
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

    /// Takes an opened input for a trace, and reads what it says about itself.
    ///
    /// # Errors
    /// If it cannot be read, or is no trace of a format that is known.
    pub fn read(input: Input, backtraces: Backtraces) -> anyhow::Result<Self> {
        let (path, file_bytes) = (input.path.clone(), input.bytes);
        let reader = match reader(input) {
            Ok(reader) => reader,
            Err(problem) => bail!("{}", Damage::new(&path, problem).message(Extent::Nothing)),
        };
        let reader = match backtraces {
            Backtraces::Read => reader,
            Backtraces::Skip => reader.without_backtraces(),
        };
        Ok(Self::new(path, file_bytes, reader))
    }

    /// Opens a `.lt` trace that is being written; nothing if not even its beginning is there yet. As long as `is_whole`
    /// is false there may be more where there is [nothing more](Self::next_record).
    ///
    /// # Errors
    /// If it cannot be read, or is no such trace.
    pub fn follow(path: &Path, is_whole: &Arc<AtomicBool>) -> anyhow::Result<Option<Self>> {
        let input = Input::growing(path, is_whole)?;
        match lt::Reader::open(input.into_bytes()) {
            Ok(reader) => Ok(Some(Self::new(path.to_owned(), None, AnyReader::lt(reader)))),
            Err(error) if error.is_for_now() => Ok(None),
            Err(error) => bail!("{}", Damage::new(path, error).message(Extent::Nothing)),
        }
    }

    fn new(path: PathBuf, file_bytes: Option<u64>, reader: AnyReader<Bytes>) -> Self {
        Self { path, file_bytes, reader, modules: FxHashMap::default(), stop: None }
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        self.reader.info()
    }

    /// What it is.
    pub fn format(&self) -> Format {
        match (self.reader.as_memtrace(), self.reader.as_lt()) {
            (Some(reader), _) => Format {
                name: "Memtrace",
                id: "memtrace",
                version: reader.version().number().into(),
                minor: None,
            },
            (None, Some(reader)) => Format::lt(reader.version()),
            (None, None) => Format::lt(lt::Version::CURRENT),
        }
    }

    /// The next record, or nothing where reading ends; [`damages`](Self::damages) tells why it does.
    #[inline]
    pub fn next_record(&mut self) -> Option<Record> {
        let record = self.reader.next().unwrap_or_else(|error| {
            if !error.is_for_now() {
                self.stop = Some(error.into());
            }
            None
        });
        if let Some(Record { kind: RecordKind::Fact(fact), .. }) = &record
            && let Fact::Module(module) = &**fact
        {
            self.modules.insert(module.number, module.path.clone());
        }
        record
    }

    /// The last birth's backtrace, outermost frame first; empty if backtraces are skipped.
    pub fn backtrace(&self) -> &[LocationCode] {
        self.reader.backtrace()
    }

    /// What a frame is beside its locations, where the format has room for it.
    pub fn frame(&self, code: LocationCode) -> Option<&Frame> {
        self.reader.as_lt()?.frame(code)
    }

    /// How far reading has come, for other threads to see.
    pub fn progress(&self) -> Arc<Progress> {
        self.reader.progress()
    }

    /// Whether the format has room for facts, threads, and sizes in bytes.
    pub fn has_facts(&self) -> bool {
        self.reader.as_lt().is_some()
    }

    /// At the end of a trace that has one: its index.
    pub fn index(&self) -> Option<&Index> {
        self.reader.as_lt()?.index()
    }

    /// What has been come past, where the format has an index to compare it with.
    pub fn passed(&self) -> Option<&Passed> {
        self.reader.as_lt().map(lt::Reader::passed)
    }

    /// At the end: whether the trace was finished by who wrote it, where the format tells.
    pub fn is_complete(&self) -> Option<bool> {
        self.reader.as_lt().map(lt::Reader::is_complete)
    }

    /// The latest time that what has been read covers.
    pub fn end_time(&self) -> Timestamp {
        self.reader.end_time()
    }

    /// What was strange in what has been read.
    pub fn oddities(&self) -> Oddities {
        self.reader.as_memtrace().map_or_else(Oddities::default, |reader| Oddities {
            foreign_packets: reader.foreign_packets(),
            clock_steps: reader.clock_steps(),
        })
    }

    /// What was wrong with the trace; to be asked when there is [nothing more](Self::next_record).
    pub fn damages(&mut self) -> Damages {
        Damages::new(&self.path, self.reader.as_lt(), self.stop.take())
    }
}

impl Format {
    /// Ours, of this version.
    pub fn lt(version: lt::Version) -> Self {
        let lt::Version { major, minor } = version;
        Self { name: "Lifetrace", id: "lt", version: major, minor: Some(minor) }
    }
}

fn reader(input: Input) -> Result<AnyReader<Bytes>, Problem> {
    let threads = input.bytes.and_then(threads);
    Ok(match (input.kind, threads) {
        (Kind::Memtrace, _) => AnyReader::memtrace(memtrace::Reader::open(input.into_bytes())?),
        (Kind::Lt, None) => AnyReader::lt(lt::Reader::open(input.into_bytes())?),
        (Kind::Lt, Some(threads)) => {
            AnyReader::lt(lt::Reader::open(input.into_bytes())?.ahead(threads))
        }
    })
}

/// How many threads decode a file of so many bytes: none where there is one core, or hardly more than
/// one segment.
fn threads(bytes: u64) -> Option<NonZero<usize>> {
    let cores = available_parallelism().ok()?.min(MOST_THREADS);
    (bytes >= WORTH_THREADS && cores.get() > 1).then_some(cores)
}

impl Names for Trace {
    fn locations(&self, code: LocationCode) -> &[Location] {
        self.reader.locations(code)
    }

    fn kind(&self, code: LocationCode) -> FrameKind {
        let frame = self.reader.as_lt().and_then(|reader| reader.frame(code));
        frame.map_or(FrameKind::Unknown, |frame| frame.kind)
    }

    fn module(&self, code: LocationCode) -> Option<&str> {
        let number = self.reader.as_lt()?.frame(code)?.module?;
        self.modules.get(&number).map(|path| &**path)
    }
}
