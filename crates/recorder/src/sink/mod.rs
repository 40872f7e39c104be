//! Where a trace goes: the seam between what happened and a format for it.
//!
//! [`open`] is the one place that chooses a format, or memory, or both; everybody else knows a [`Sink`].

mod heap;
mod lt;
mod memtrace;

use std::io;
use std::sync::{Arc, Mutex};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::{Fact, Resize};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, Size, ThreadId, Timestamp};

use crate::birth::Birth;
use crate::format::Format;
use crate::heap::State;
use crate::trace_file::TraceFile;
use heap::HeapSink;
pub(crate) use lt::Lt;
pub(crate) use memtrace::Memtrace;

/// A trace being written. Times never decrease. After an error, nothing more can be written, but for
/// [`is_limit`](crate::trace_file::is_limit)'s: then it can still be finished.
pub(crate) trait Sink {
    /// Says whose events follow.
    fn switch(&mut self, thread: ThreadId);

    /// Writes a birth and names it. `locate` is asked what a frame stands for when a reader would
    /// not know.
    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId>;

    /// Writes that a block moved to the major heap.
    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()>;

    /// Writes that a block died.
    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()>;

    /// Writes what a block takes now, with what belongs to it elsewhere, if the format has room for it.
    fn measured(&mut self, time: Timestamp, id: AllocationId, size: Bytes) -> io::Result<()> {
        self.fact(time, &Fact::Resize(Resize { id, size: Size::Bytes(size) }))
    }

    /// Writes a fact, if the format has room for facts.
    fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()>;

    /// Puts into the file what has been said until `time`.
    fn flush(&mut self, time: Timestamp) -> io::Result<()>;

    /// Ends the trace at `time`.
    fn finish(self: Box<Self>, time: Timestamp) -> io::Result<()>;
}

/// Begins a trace in a file, or a heap, or both.
///
/// # Errors
/// The file's.
pub(crate) fn open(
    format: Format,
    file: Option<TraceFile>,
    heap: Option<Arc<Mutex<State>>>,
    info: &TraceInfo,
) -> io::Result<Box<dyn Sink>> {
    let trace = file.map(|file| begin(format, file, info)).transpose()?;
    Ok(match (heap, trace) {
        (None, Some(trace)) => trace,
        (heap, trace) => Box::new(HeapSink::new(heap, trace, info)),
    })
}

fn begin(format: Format, file: TraceFile, info: &TraceInfo) -> io::Result<Box<dyn Sink>> {
    Ok(match format {
        Format::Lt => {
            let limit = file.limit();
            Box::new(Lt::begin(file, info, limit)?)
        }
        Format::Memtrace => Box::new(Memtrace::begin(file, info)?),
    })
}
