//! Where a trace goes: the seam between what happened and a format for it.
//!
//! [`open`] is the one place that chooses a format; everybody else knows a [`Sink`].

use std::io::{self, Write};

use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, ThreadId, Timestamp, Words};
use lifetrace_trace::memtrace::{NewAllocation, Version, Writer};

use crate::trace_file::TraceFile;

/// The birth of a sampled block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth<'a> {
    /// As the program asked for it; of a growth, what was added.
    pub(crate) size: Bytes,
    pub(crate) samples: u64,
    pub(crate) source: Source,
    #[allow(dead_code, reason = "Memtrace's format has no threads")]
    pub(crate) thread: ThreadId,
    /// Outermost frame first; the last is [`GROWTH`](lifetrace_trace::event::GROWTH) if these are
    /// bytes added to a block.
    pub(crate) backtrace: &'a [LocationCode],
    /// So many leading frames are those of the last birth's backtrace.
    pub(crate) common_prefix: usize,
}

/// A trace being written. Times never decrease. After an error, nothing more can be written.
pub(crate) trait Sink {
    /// Writes a birth and names it. `locate` is asked what a frame stands for when a reader would
    /// not know.
    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Vec<Location>,
    ) -> io::Result<AllocationId>;

    /// Writes that a block moved to the major heap.
    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()>;

    /// Writes that a block died.
    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()>;

    /// Writes a fact, if the format has room for facts.
    fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()>;

    /// Puts into the file what has been said until `time`.
    fn flush(&mut self, time: Timestamp) -> io::Result<()>;

    /// Ends the trace.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Begins a trace.
///
/// # Errors
/// The file's.
pub(crate) fn open(file: TraceFile, info: &TraceInfo) -> io::Result<Box<dyn Sink>> {
    Ok(Box::new(Memtrace::begin(file, info)?))
}

/// Memtrace's format: words, no threads, no facts.
pub(crate) struct Memtrace<W>(Writer<W>);

impl<W: Write> Memtrace<W> {
    pub(crate) fn begin(output: W, info: &TraceInfo) -> io::Result<Self> {
        Ok(Memtrace(Writer::new(output, info, Version::V3)?))
    }
}

impl<W: Write> Sink for Memtrace<W> {
    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Vec<Location>,
    ) -> io::Result<AllocationId> {
        let allocation = NewAllocation {
            length: Words(birth.size.0.div_ceil(8)),
            samples: birth.samples,
            source: birth.source,
            backtrace: birth.backtrace,
            common_prefix: birth.common_prefix,
            id: None,
        };
        self.0.allocation(time, &allocation, locate)
    }

    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.0.promotion(time, id)
    }

    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.0.collection(time, id)
    }

    fn fact(&mut self, _time: Timestamp, _fact: &Fact) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        self.0.flush(time)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish().map(drop)
    }
}
