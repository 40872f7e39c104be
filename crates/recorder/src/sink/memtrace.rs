//! Memtrace's format: words, one sampler, no threads, no facts.

use std::io::{self, Write};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, LocationCode, ThreadId, Timestamp};
use lifetrace_trace::memtrace::{NewAllocation, Version, Writer};

use super::Sink;
use crate::birth::Birth;
use crate::samplers::WORD_BITS;

/// Writes a trace in Memtrace's format.
pub(crate) struct Memtrace<W>(Writer<W>);

impl<W: Write> Memtrace<W> {
    pub(crate) fn begin(output: W, info: &TraceInfo) -> io::Result<Self> {
        Ok(Memtrace(Writer::new(output, info, Version::V3)?))
    }
}

impl<W: Write> Sink for Memtrace<W> {
    fn switch(&mut self, _thread: ThreadId) {}

    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        let allocation = NewAllocation {
            length: birth.size.words(WORD_BITS),
            samples: birth.samples,
            source: birth.source,
            backtrace: birth.backtrace,
            common_prefix: birth.common_prefix,
            id: None,
        };
        self.0.allocation(time, &allocation, &mut |code| locate(code).locations)
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

    fn finish(mut self: Box<Self>, time: Timestamp) -> io::Result<()> {
        self.0.flush(time)?;
        self.0.finish().map(drop)
    }
}
