//! Messages into events of a trace. Nowhere else do the two vocabularies meet.
//!
//! ```text
//! message                                   event
//! thread's frames, shared + fresh           whole backtrace of location codes, outermost first
//! sample id, by any thread                  allocation id, of those that live
//! bytes                                     words, rounded up
//! growth of a block                         one more innermost frame, `GROWTH`
//! monotonic nanoseconds                     microseconds of the wall clock
//! ```
//!
//! Codes come from [`Places`]; their names are looked up when the writer first asks for them.

use std::io;
use std::io::Write;
use std::sync::Arc;

use lifetrace_trace::event::{GROWTH, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, LocationCode, Words};
use lifetrace_trace::memtrace::{NewAllocation, Version, Writer};
use lifetrace_transport::message::{
    BacktraceDelta, Body, Message, MonotonicNanos, NoticeKind, SampleId, SourceKind, ThreadId,
};
use rustc_hash::FxHashMap;

use crate::clock::Anchor;
use crate::places::{Places, TRUNCATED};
use crate::process::ProcessImage;
use crate::symbolizer::Symbolizer;

/// Writes the trace of one session.
pub(crate) struct Assembler<W> {
    writer: Writer<W>,
    anchor: Anchor,
    last_time: MonotonicNanos,
    places: Places,
    stacks: FxHashMap<ThreadId, Stack>,
    /// Whose backtrace was written last.
    last_thread: Option<ThreadId>,
    live: FxHashMap<SampleId, AllocationId>,
    counts: Counts,
    notices: Vec<NoticeKind>,
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) samples: u64,
    pub(crate) events: u64,
}

/// A thread's last backtrace, outermost frame first.
#[derive(Debug, Default)]
struct Stack {
    truncated: bool,
    /// The first is [`TRUNCATED`]; it counts only if the backtrace is.
    codes: Vec<LocationCode>,
}

impl<W: Write> Assembler<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn new(
        output: W,
        info: &TraceInfo,
        anchor: Anchor,
        symbolizer: Arc<Symbolizer>,
        process: ProcessImage,
    ) -> io::Result<Self> {
        Ok(Assembler {
            writer: Writer::new(output, info, Version::V3)?,
            anchor,
            last_time: MonotonicNanos(0),
            places: Places::new(symbolizer, process),
            stacks: FxHashMap::default(),
            last_thread: None,
            live: FxHashMap::default(),
            counts: Counts::default(),
            notices: Vec::new(),
        })
    }

    /// Writes what `message` says; their times never decrease.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn apply(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.last_time = message.time;
        match message.body {
            Body::Allocation { id, size, samples, source, growth, backtrace } => {
                let block = Block { id, size, samples, source: source_of(source), growth };
                self.allocate(message, &block, &backtrace)?;
            }
            Body::Release { id } => {
                // Blocks that were inherited over a fork have no birth in this trace.
                if let Some(id) = self.live.remove(&id) {
                    self.counts.events += 1;
                    self.writer.collection(self.anchor.wall(message.time), id)?;
                }
            }
            Body::Promotion { id } => {
                if let Some(&id) = self.live.get(&id) {
                    self.counts.events += 1;
                    self.writer.promotion(self.anchor.wall(message.time), id)?;
                }
            }
            Body::ModuleLoaded(module) => self.places.load(&module),
            Body::ModuleUnloaded { start } => self.places.unload(start),
            Body::ThreadStarted { .. } | Body::ThreadEnded => {
                self.stacks.remove(&message.thread);
                self.last_thread = self.last_thread.filter(|&last| last != message.thread);
            }
            Body::Notice { kind } => self.notices.push(kind),
            Body::Exiting => {}
        }
        Ok(())
    }

    /// Writes to the output what has been applied.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush(self.anchor.wall(self.last_time))
    }

    /// Ends the trace at `time`, or at its last event if that is later, and returns the output.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn finish(mut self, time: MonotonicNanos) -> io::Result<W> {
        self.last_time = self.last_time.max(time);
        self.flush()?;
        self.writer.finish()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn written(&self) -> u64 {
        self.writer.written()
    }

    pub(crate) fn take_notices(&mut self) -> Vec<NoticeKind> {
        std::mem::take(&mut self.notices)
    }

    fn allocate(
        &mut self,
        message: &Message<'_>,
        block: &Block,
        backtrace: &BacktraceDelta<'_>,
    ) -> io::Result<()> {
        let stack = self.stacks.entry(message.thread).or_default();
        let mut common_prefix = stack.update(backtrace, &mut self.places);
        if self.last_thread.replace(message.thread) != Some(message.thread) {
            common_prefix = 0;
        }
        if block.growth {
            stack.codes.push(GROWTH);
        }
        let allocation = NewAllocation {
            length: Words(block.size.div_ceil(8)),
            samples: block.samples,
            source: block.source,
            backtrace: stack.backtrace(),
            common_prefix,
            id: None,
        };
        let places = &self.places;
        let time = self.anchor.wall(message.time);
        let id = self.writer.allocation(time, &allocation, &mut |code| places.locate(code))?;
        if block.growth {
            stack.codes.pop();
        }
        self.live.insert(block.id, id);
        self.counts.samples += 1;
        self.counts.events += 1;
        Ok(())
    }
}

struct Block {
    id: SampleId,
    size: u64,
    samples: u64,
    source: Source,
    growth: bool,
}

fn source_of(kind: SourceKind) -> Source {
    match kind {
        SourceKind::Minor => Source::Minor,
        SourceKind::Major => Source::Major,
        SourceKind::Malloc | SourceKind::External => Source::External,
    }
}

impl Stack {
    /// Applies a difference; returns how many leading frames of [`backtrace`](Self::backtrace) are
    /// as before.
    fn update(&mut self, delta: &BacktraceDelta<'_>, places: &mut Places) -> usize {
        let marker = usize::from(delta.truncated);
        let same_root = self.truncated == delta.truncated;
        self.truncated = delta.truncated;
        if self.codes.is_empty() {
            self.codes.push(TRUNCATED);
        }
        self.codes.truncate(1 + delta.shared as usize);
        let kept = self.codes.len() - 1;
        self.codes.extend(delta.fresh.iter().rev().map(|address| places.code(address)));
        if same_root { marker + kept } else { 0 }
    }

    fn backtrace(&self) -> &[LocationCode] {
        if self.truncated { &self.codes } else { &self.codes[1..] }
    }
}

#[cfg(test)]
mod tests;
