//! No file, or a file beside: what is live now.

use std::io;
use std::sync::{Arc, Mutex};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, ThreadId, Timestamp};

use rustc_hash::FxHashSet;

use super::Sink;
use crate::birth::Birth;
use crate::heap::{Heap, State, lock};

/// Writes to a heap, and to a trace, if there is one. When that cannot be written any more, the heap
/// ends with it.
pub(crate) struct HeapSink {
    heap: Arc<Mutex<State>>,
    trace: Option<Box<dyn Sink>>,
    /// Of the next block, where no trace has names for them.
    next: u64,
}

impl HeapSink {
    /// Without a heap it tells nobody but the trace.
    pub(crate) fn new(
        heap: Option<Arc<Mutex<State>>>,
        trace: Option<Box<dyn Sink>>,
        info: &TraceInfo,
    ) -> Self {
        let heap = heap.unwrap_or_else(|| Heap::new().enter(info));
        lock(&heap).begin(info.start_time);
        HeapSink { heap, trace, next: 0 }
    }

    fn trace(&mut self, tell: impl FnOnce(&mut Box<dyn Sink>) -> io::Result<()>) -> io::Result<()> {
        self.trace.as_mut().map_or(Ok(()), tell)
    }
}

impl Sink for HeapSink {
    fn switch(&mut self, thread: ThreadId) {
        if let Some(trace) = &mut self.trace {
            trace.switch(thread);
        }
    }

    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        let id = match &mut self.trace {
            Some(trace) => trace.allocation(time, birth, locate)?,
            None => {
                self.next += 1;
                AllocationId(self.next)
            }
        };
        lock(&self.heap).allocate(id, birth, locate);
        Ok(id)
    }

    /// A promoted block is live as before.
    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.trace(|trace| trace.promotion(time, id))
    }

    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        lock(&self.heap).free(id);
        self.trace(|trace| trace.collection(time, id))
    }

    fn measured(&mut self, time: Timestamp, id: AllocationId, size: Bytes) -> io::Result<()> {
        lock(&self.heap).measure(id, size);
        self.trace(|trace| trace.measured(time, id, size))
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()> {
        lock(&self.heap).note(fact);
        self.trace(|trace| trace.fact(time, fact))
    }

    fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        self.trace(|trace| trace.flush(time))
    }

    fn rest(&mut self) -> io::Result<()> {
        self.trace(|trace| trace.rest())
    }

    fn is_renewal_due(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.is_renewal_due())
    }

    fn renew(&mut self, time: Timestamp, living: &mut FxHashSet<AllocationId>) {
        match &mut self.trace {
            Some(trace) => trace.renew(time, living),
            None => living.clear(),
        }
    }

    fn finish(self: Box<Self>, time: Timestamp) -> io::Result<()> {
        self.trace.map_or(Ok(()), |trace| trace.finish(time))
    }
}
