//! Our own format.
//!
//! A trace that must not be longer than a limit stops before it is too long to be finished: its
//! summary and index still fit.

use std::io::{self, Write};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, ThreadId, Timestamp};
use lifetrace_trace::lt::{NewBirth, Writer};

use super::Sink;
use crate::birth::Birth;
use crate::trace_file::LimitReached;

/// What an event and the last facts may take, in bytes: of small limits, no more than an eighth.
const RESERVE: u64 = 8 << 10;

/// Writes a trace in our own format, up to a limit.
pub(crate) struct Lt<W> {
    writer: Writer<W>,
    /// In bytes.
    limit: u64,
    /// Nothing is written of a time before the trace's start: where sampling is delayed, that is later than
    /// the process's.
    start: Timestamp,
    /// The name of the next block, if it does not follow from the last one's.
    next: Option<AllocationId>,
}

impl<W: Write> Lt<W> {
    pub(crate) fn begin(output: W, info: &TraceInfo, limit: u64) -> io::Result<Self> {
        let limit = limit - (limit / 8).min(RESERVE);
        Ok(Lt { writer: Writer::new(output, info)?, limit, start: info.start_time, next: None })
    }

    /// Goes on with a trace in which something is written already; the next block has this name.
    pub(crate) fn resume(writer: Writer<W>, start: Timestamp, next: AllocationId) -> Self {
        Lt { writer, limit: u64::MAX, start, next: Some(next) }
    }

    /// Ends it, and gives back what it was written to.
    #[cfg(test)]
    pub(crate) fn into_inner(self) -> io::Result<W> {
        self.writer.finish()
    }

    /// Lets what follows build on nothing before it.
    pub(crate) fn checkpoint(&mut self) -> io::Result<()> {
        self.writer.checkpoint()
    }

    fn check(&self) -> io::Result<()> {
        match self.writer.finished_len() > self.limit {
            true => Err(io::Error::other(LimitReached)),
            false => Ok(()),
        }
    }
}

impl<W: Write> Sink for Lt<W> {
    fn switch(&mut self, thread: ThreadId) {
        self.writer.switch(thread, DomainId(0));
    }

    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        self.check()?;
        let birth = NewBirth {
            size: birth.size,
            samples: birth.samples,
            source: birth.source,
            sampler: birth.sampler,
            is_truncated: birth.is_truncated,
            backtrace: birth.backtrace,
            common_prefix: birth.common_prefix,
            id: self.next.take(),
        };
        self.writer.birth(time.max(self.start), &birth, locate)
    }

    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.check()?;
        self.writer.promotion(time.max(self.start), id)
    }

    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.check()?;
        self.writer.collection(time.max(self.start), id)
    }

    /// The last facts may be said beyond the limit for events.
    fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()> {
        if matches!(
            fact,
            Fact::Counters(_)
                | Fact::Cycle(_)
                | Fact::Module(_)
                | Fact::Resize(_)
                | Fact::ThreadName(_)
        ) {
            self.check()?;
        }
        self.writer.fact(time.max(self.start), fact)
    }

    fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        self.writer.flush(time)
    }

    fn finish(mut self: Box<Self>, time: Timestamp) -> io::Result<()> {
        self.writer.flush(time)?;
        self.writer.finish().map(drop)
    }
}
