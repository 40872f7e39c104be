//! Messages into events of a trace. Nowhere else do the two vocabularies meet.
//!
//! ```text
//! message                                   event
//! thread's frames, shared + fresh           whole backtrace of location codes, outermost first
//! sample id, by any thread                  allocation id, of those that live
//! growth of a block, one that was read      one more innermost frame, `GROWTH`, `DESERIALISED`
//! memory that no allocator sees             likewise, with its kind's name
//! pages that are mapped, unmapped, moved     births and deaths of mappings
//! what a thread is at                       outermost frames
//! bytes of a heap that is sampled by words   words
//! monotonic nanoseconds                     microseconds of the wall clock
//! ```
//!
//! Codes come from [`Places`]; their names are looked up when the sink first asks for them.

use std::io;
use std::sync::Arc;

use lifetrace_trace::fact::{self, Counters, Fact, Looked, RuntimeCount};
use lifetrace_trace::ids::{self, AllocationId, Bytes, SamplerId};
use lifetrace_transport::message::{
    AllocationKind, BacktraceDelta, Body, FrameName, Message, MonotonicNanos, SampleId, SourceKind,
};
use lifetrace_transport::sources::SourceName;
use rustc_hash::{FxHashMap, FxHashSet};

use self::awaited::Awaited;
use crate::birth::Birth;
use crate::clock::{Anchor, monotonic_now};
use crate::collections::{Collections, LastTotals};
use crate::contexts::Contexts;
use crate::cuts::Cuts;
use crate::lost::Found;
use crate::mappings::{Mappings, PieceId};
use crate::notice::Notice;
use crate::places::Places;
use crate::process::ProcessImage;
use crate::runtimes;
use crate::samplers::Samplers;
use crate::sink::Sink;
use crate::stacks::{Stacks, Stream};
use crate::symbolizer::Symbolizer;
use block::{Block, mark_of, module_fact, source_of};
use rates::ThreadRates;

/// Writes the trace of one session.
pub(crate) struct Assembler {
    sink: Box<dyn Sink>,
    anchor: Anchor,
    last_time: MonotonicNanos,
    samplers: Samplers,
    /// Malloc's rate of a thread that has said nothing of it.
    first_rate: Option<f64>,
    rates: ThreadRates,
    places: Places,
    stacks: Stacks,
    contexts: Contexts,
    /// Whose backtrace was written last.
    last_stream: Option<Stream>,
    live: FxHashMap<SampleId, AllocationId>,
    /// Of a managed runtime's live samples, those in no heap of its own: when the block that stands for one is promoted,
    /// it is not.
    outside: FxHashSet<SampleId>,
    mappings: Mappings,
    /// Pieces of these that have births in the trace, and live.
    mapped: FxHashMap<PieceId, AllocationId>,
    counts: Counts,
    notices: Vec<Notice>,
    cuts: Cuts,
    allocator: Option<AllocatorTotals>,
    collections: Collections,
    /// The runtime whose arenas have blocks that are told as malloc's.
    told_as_mallocs: Option<SourceName>,
    /// As it was told last.
    process: Option<fact::Process>,
    awaited: Awaited,
}

/// What the target's allocator said last, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AllocatorTotals {
    in_use: u64,
    held: u64,
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) samples: u64,
    /// Bytes that these stand for.
    pub(crate) allocated: u64,
    pub(crate) events: u64,
}

impl Assembler {
    /// Writes to `sink`.
    pub(crate) fn new(
        sink: Box<dyn Sink>,
        anchor: Anchor,
        samplers: Samplers,
        symbolizer: Arc<Symbolizer>,
        process: ProcessImage,
    ) -> Self {
        let language = samplers.runtime().and_then(runtimes::language);
        let mut places = Places::new(symbolizer, process);
        language.into_iter().for_each(|language| places.are_of(language));
        Assembler {
            sink,
            anchor,
            last_time: monotonic_now(),
            first_rate: samplers.malloc_rate(),
            samplers,
            rates: ThreadRates::default(),
            places,
            stacks: Stacks::default(),
            contexts: Contexts::default(),
            last_stream: None,
            live: FxHashMap::default(),
            outside: FxHashSet::default(),
            mappings: Mappings::default(),
            mapped: FxHashMap::default(),
            counts: Counts::default(),
            notices: Vec::new(),
            cuts: Cuts::default(),
            allocator: None,
            collections: Collections::default(),
            told_as_mallocs: None,
            process: None,
            awaited: Awaited::default(),
        }
    }

    /// Has what an interpreter has called within itself stay in backtraces, or not.
    pub(crate) fn with_native_frames(mut self, stay: bool) -> Self {
        self.contexts.keeps_interpreter = stay;
        self
    }

    /// What the samples that live are called in the trace.
    pub(crate) fn numbers(&self) -> Vec<(SampleId, AllocationId)> {
        self.live.iter().map(|(&sample, &id)| (sample, id)).collect()
    }

    /// Writes what `message` says; their times never decrease.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn apply(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.last_time = message.time;
        self.sink.switch(ids::ThreadId(message.thread.0));
        if self.places.are_many() {
            let used = self.stacks.codes_mut().chain(self.contexts.codes_mut());
            self.places.renew(used.chain(self.mappings.codes_mut()));
            self.last_stream = None;
        }
        match message.body {
            Body::Allocation { id, size, samples, source, kind, backtrace } => {
                if !source.is_managed() {
                    self.follow_rate(message)?;
                }
                let sampler = self.sampler_of(message.time, source, kind)?;
                let mark = mark_of(kind, &mut self.places);
                let counts_words = self.samplers.counts_words(source);
                let block = Block { id, size, samples, source, sampler, counts_words, mark };
                self.allocate(message, &block, &backtrace)?;
            }
            Body::Release { id } => {
                // Blocks that were inherited over a fork have no birth in this trace.
                self.outside.remove(&id);
                if let Some(id) = self.live.remove(&id) {
                    self.counts.events += 1;
                    self.sink.collection(self.anchor.wall(message.time), id)?;
                }
            }
            Body::Promotion { id } => {
                if let Some(&id) = self.live.get(&id).filter(|_| !self.outside.contains(&id)) {
                    self.counts.events += 1;
                    self.sink.promotion(self.anchor.wall(message.time), id)?;
                }
            }
            Body::Measured { id, size } => {
                if let Some(&id) = self.live.get(&id) {
                    self.sink.measured(self.anchor.wall(message.time), id, Bytes(size))?;
                }
            }
            Body::ModuleLoaded(module) => {
                let number = self.places.load(&module);
                let path = self.places.path_of(&module);
                self.fact(message.time, &Fact::Module(module_fact(number, path, &module)))?;
            }
            Body::ModuleUnloaded { start } => self.places.unload(start),
            Body::ThreadStarted { .. } | Body::ThreadEnded => {
                self.stacks.remove(message.thread);
                self.contexts.remove(message.thread);
                self.rates.remove(message.thread);
                self.last_stream = self.last_stream.filter(|last| last.thread != message.thread);
            }
            Body::Notice { code } => {
                runtimes::notice(code).map_or(Ok(()), |notice| self.notice(notice))?;
            }
            Body::AllocatorTotals { in_use, held } => {
                self.allocator = Some(AllocatorTotals { in_use, held });
            }
            Body::FrameName(name) => self.places.name(&name),
            Body::FrameAddress { frame, address } => self.places.name_address(frame, address),
            Body::Runtime { name, blocks_are_mallocs, version } => {
                self.told_as_mallocs = blocks_are_mallocs.then_some(name);
                self.name_runtime(name, version)?;
            }
            Body::CollectorTotals(totals) => {
                let is_first = self.collections.are_new();
                let mut cycles = self.collections.take(&totals.totals());
                cycles.try_for_each(|cycle| self.fact(message.time, &cycle))?;
                if is_first {
                    self.write_collector()?;
                }
            }
            Body::RuntimeCount { name, value } => self.runtime_count(message.time, name, value)?,
            Body::Context { frames } => {
                self.contexts.set(message.thread, frames, &mut self.places);
            }
            Body::Pages { step, pages, backtrace } => {
                self.pages(message, step, pages, &backtrace)?;
            }
            Body::Exiting | Body::NamesPending { .. } | Body::Placed { .. } => {}
            Body::Rate { bits } => self.take_rate(message.thread, bits),
        }
        Ok(())
    }

    fn runtime_count(&mut self, time: MonotonicNanos, name: &[u8], value: u64) -> io::Result<()> {
        let is_name = |name: &&str| name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        match std::str::from_utf8(name).ok().filter(is_name) {
            Some(name) => {
                let count = RuntimeCount { name: name.into(), value };
                self.fact(time, &Fact::RuntimeCount(count))
            }
            None => Ok(()),
        }
    }

    /// Takes note of a frame's name, before it is used.
    pub(crate) fn learn(&mut self, name: &FrameName<'_>) {
        self.places.name(name);
    }

    /// Writes a fact of `time`, or of the last message's if that is later. The process's counters are
    /// joined by what its allocator has said, and followed by what its collector has.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn fact(&mut self, time: MonotonicNanos, fact: &Fact) -> io::Result<()> {
        self.last_time = self.last_time.max(time);
        let time = self.anchor.wall(self.last_time);
        match fact {
            Fact::Counters(counters) => {
                self.sink.fact(time, &Fact::Counters(self.with_totals(*counters)))?;
                self.write_collector()
            }
            Fact::Process(process) => {
                self.process = Some(process.clone());
                self.sink.fact(time, fact)
            }
            _ => self.sink.fact(time, fact),
        }
    }

    /// Says, and has the trace say, what a user should know; once.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn notice(&mut self, notice: Notice) -> io::Result<()> {
        if self.notices.contains(&notice) {
            return Ok(());
        }
        let code = notice.code();
        self.notices.push(notice);
        self.fact(self.last_time, &Fact::Notice(code.into()))
    }

    /// Writes what a look through the process's memory has found.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_found(&mut self, found: &Found) -> io::Result<()> {
        let (bytes, micros) = (Bytes(found.bytes), found.stopped.as_micros() as u64);
        self.fact(found.time, &Fact::Looked(Looked { bytes, micros }))?;
        let facts = verdicts::facts(found, &self.live);
        facts.into_iter().try_for_each(|held| self.fact(found.time, &Fact::Held(held)))
    }

    /// Writes where backtraces were cut off.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_cuts(&mut self) -> io::Result<()> {
        let codes = self.cuts.codes();
        codes.into_iter().try_for_each(|code| self.fact(self.last_time, &Fact::Notice(code.into())))
    }

    /// Writes of which files the debug information could not be read.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_unread(&mut self) -> io::Result<()> {
        let mut notices = self.places.unread();
        notices.sort_by_cached_key(|notice| notice.code().into_owned());
        notices.into_iter().try_for_each(|notice| self.notice(notice))
    }

    /// Writes what the process calls itself.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_title(&mut self, title: Arc<str>) -> io::Result<()> {
        let Some(process) = &mut self.process else { return Ok(()) };
        process.title = title;
        let told = Fact::Process(process.clone());
        self.fact(self.last_time, &told)
    }

    /// Whose a block is; the trace has a kind's fact before its first block.
    fn sampler_of(
        &mut self,
        time: MonotonicNanos,
        source: SourceKind,
        kind: AllocationKind,
    ) -> io::Result<SamplerId> {
        let AllocationKind::Outside(kind) = kind else {
            return Ok(self.samplers.of_source(source));
        };
        let Assembler { samplers, places, .. } = self;
        if let Some(told) = samplers.add_kind(kind, || places.name_of(kind.frame())) {
            self.fact(time, &Fact::Sampler(told))?;
        }
        Ok(self.samplers.of_kind(kind))
    }

    /// Takes what the agent has left behind of the collector, at the end.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn take_last_totals(
        &mut self,
        time: MonotonicNanos,
        totals: &LastTotals,
    ) -> io::Result<()> {
        let mut cycles = self.collections.take_last(totals);
        cycles.try_for_each(|cycle| self.fact(time, &cycle))
    }

    /// Writes the managed heap's figures if they have changed.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_collector(&mut self) -> io::Result<()> {
        let time = self.anchor.wall(self.last_time);
        self.collections.news().map_or(Ok(()), |figures| self.sink.fact(time, &figures))
    }

    /// Writes to the file what has been applied.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush(self.anchor.wall(self.last_time))
    }

    /// Ends the trace at `time`, or at its last event if that is later.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn finish(mut self, time: MonotonicNanos) -> io::Result<()> {
        self.last_time = self.last_time.max(time);
        self.sink.finish(self.anchor.wall(self.last_time))
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }

    fn with_totals(&self, counters: Counters) -> Counters {
        let Some(totals) = self.allocator else { return counters };
        Counters {
            allocator_in_use: Some(Bytes(totals.in_use)),
            allocator_held: Some(Bytes(totals.held)),
            ..counters
        }
    }

    fn allocate(
        &mut self,
        message: &Message<'_>,
        block: &Block,
        backtrace: &BacktraceDelta<'_>,
    ) -> io::Result<()> {
        let stream = Stream { thread: message.thread, is_managed: block.source.is_managed() };
        let (stack, mut common_prefix) = self.stacks.update(stream, backtrace, &mut self.places);
        if self.last_stream.replace(stream) != Some(stream) {
            common_prefix = 0;
        }
        stack.codes_mut().extend(block.mark);
        let is_truncated = stack.is_cut();
        if let Some((end, frames)) = stack.end_of_cut().filter(|_| !stream.is_managed)
            && let Some(cut) = self.places.cut(end, frames)
        {
            self.cuts.count(cut);
        }
        let (backtrace, common_prefix) = match stream.is_managed {
            true => (stack.backtrace(), common_prefix),
            false => {
                let marks = usize::from(block.mark.is_some());
                let is_interpreters = |code| self.places.is_interpreters(code);
                self.contexts.join(message.thread, stack, marks, common_prefix, is_interpreters)
            }
        };
        let birth = Birth {
            size: block.size(),
            samples: block.samples,
            source: source_of(block.source),
            sampler: block.sampler,
            is_truncated,
            backtrace,
            common_prefix,
        };
        let places = &self.places;
        let time = self.anchor.wall(message.time);
        let id = self.sink.allocation(time, &birth, &mut |code| places.locate(code))?;
        if block.mark.is_some() {
            stack.codes_mut().pop();
        }
        self.live.insert(block.id, id);
        if block.source == SourceKind::External {
            self.outside.insert(block.id);
        }
        self.counts.samples += 1;
        let allocated = self.samplers.bytes_of(block.source, block.size, block.samples);
        self.counts.allocated = self.counts.allocated.saturating_add(allocated as u64);
        self.counts.events += 1;
        Ok(())
    }
}

mod awaited;
mod block;
mod pages;
mod rates;
mod renewal;
mod verdicts;

#[cfg(test)]
mod fake_tests;
#[cfg(test)]
mod managed_tests;
#[cfg(test)]
mod pages_tests;
#[cfg(test)]
mod span_tests;
#[cfg(test)]
mod tests;
