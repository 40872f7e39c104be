//! Where a trace goes: the seam between what happened and a format for it.
//!
//! [`open`] is the one place that chooses a format, or memory, or both; everybody else knows a [`Sink`].

mod heap;
mod lasting;
mod lt;
mod memtrace;
mod succession;

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::{Fact, Resize};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, Size, ThreadId, Timestamp};

use rustc_hash::FxHashSet;

use crate::birth::Birth;
use crate::folder::Part;
use crate::format::Format;
use crate::heap::State;
use crate::plan::Plan;
use crate::trace_file::{Length, TraceFile};
use heap::HeapSink;
pub(crate) use lt::Lt;
pub(crate) use memtrace::Memtrace;
use succession::Succession;

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

    /// Nothing has been born for some time: memory is given back that is needed only for what is written next.
    fn rest(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the trace is to go on in another file, or can be written again: then it waits for
    /// [`renew`](Self::renew).
    fn is_renewal_due(&self) -> bool {
        false
    }

    /// Goes on in another file. `living` are all blocks that live; those that are unknown there are left in it: nothing
    /// more may be told of them.
    fn renew(&mut self, _time: Timestamp, living: &mut FxHashSet<AllocationId>) {
        living.clear();
    }

    /// Ends the trace at `time`.
    fn finish(self: Box<Self>, time: Timestamp) -> io::Result<()>;
}

/// Where a trace goes that is no heap.
#[derive(Debug)]
pub(crate) enum Destination {
    /// One file.
    File(TraceFile),
    /// Files in a folder, one after the other, of which this is the first.
    Folder(Part, File),
}

impl Destination {
    /// Follows what is written.
    pub(crate) fn new_length(&self) -> Length {
        match self {
            Destination::File(file) => file.length(),
            Destination::Folder(..) => Length::default(),
        }
    }
}

/// Begins a trace in a file or in files, or a heap, or both. `length` is the destination's.
///
/// # Errors
/// The file's.
pub(crate) fn open(
    plan: &Plan,
    destination: Option<Destination>,
    length: &Length,
    heap: Option<Arc<Mutex<State>>>,
    info: &TraceInfo,
) -> io::Result<Box<dyn Sink>> {
    let trace = destination.map(|to| begin(plan, to, length, info)).transpose()?;
    Ok(match (heap, trace) {
        (None, Some(trace)) => trace,
        (heap, trace) => Box::new(HeapSink::new(heap, trace, info)),
    })
}

fn begin(
    plan: &Plan,
    destination: Destination,
    length: &Length,
    info: &TraceInfo,
) -> io::Result<Box<dyn Sink>> {
    Ok(match (destination, plan.format) {
        (Destination::Folder(part, file), _) => {
            Box::new(Succession::begin(part, file, length.clone(), info, plan.keeps_empty))
        }
        (Destination::File(file), Format::Lt) => {
            let limit = file.limit();
            Box::new(Lt::begin(file, info, limit)?)
        }
        (Destination::File(file), Format::Memtrace) => Box::new(Memtrace::begin(file, info)?),
    })
}
