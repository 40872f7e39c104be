//! Writes what another profiler knows as a trace of ours.

use std::io::{self, Write};
use std::sync::Arc;

use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::{GROWTH, Source, TraceInfo};
use lifetrace_trace::fact::{Fact, Label, Module, Process, SampledUnit, Sampler};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::record::{Birth, Record, RecordKind};
use lifetrace_trace::transfer::{AnyWriter, Format};

use super::lacks::{self, Lack};

/// The program and the run, as far as the file tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// As it was typed.
    pub command: String,
    pub pid: u64,
    /// Zero where nobody says.
    pub start: Timestamp,
    /// What recorded it, and its version.
    pub profiler: String,
}

/// What most blocks are seen by.
pub const FIRST: SamplerId = SamplerId(0);

/// A block to be born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBlock {
    pub size: Bytes,
    pub sampler: SamplerId,
}

/// A backtrace, outermost frame first.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    pub frames: &'a [LocationCode],
    /// As many leading frames are those of the block before.
    pub common: usize,
}

/// Writes a trace.
pub struct Scribe<'w> {
    writer: AnyWriter<&'w mut dyn Write>,
    /// Whether `FIRST` sees every byte.
    is_exact: bool,
    modules: u32,
    /// When the last event was; nothing is earlier than what was before it.
    now: Timestamp,
    pub births: u64,
    pub deaths: u64,
}

impl<'w> Scribe<'w> {
    /// Begins a trace. `FIRST` sees a byte with the probability `rate`.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(output: &'w mut dyn Write, subject: &Subject, rate: f64) -> io::Result<Self> {
        let executable = subject.command.split(' ').next().unwrap_or_default();
        let info = TraceInfo {
            // Of words: one is hit if one of its bytes is.
            sample_rate: Chance::per_unit(rate).any_of(8.0),
            word_bits: 64,
            executable_name: executable.to_owned(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: subject.pid,
            start_time: subject.start,
            initial_domain: DomainId(0),
            context: Some(subject.command.clone()).filter(|command| !command.is_empty()),
        };
        let writer = AnyWriter::new(output, &info, Format::Lt)?;
        let now = subject.start;
        let is_exact = rate == 1.0;
        let mut scribe = Self { writer, is_exact, modules: 0, now, births: 0, deaths: 0 };
        scribe.fact(Fact::Process(Process {
            executable: executable.into(),
            pid: subject.pid,
            agent_version: subject.profiler.as_str().into(),
            ..Process::default()
        }))?;
        scribe.sampler(FIRST, SampledUnit::Byte, rate)?;
        scribe.label(lacks::FROM, &subject.profiler)?;
        Ok(scribe)
    }

    /// When it is.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Lets time pass; it never goes back.
    pub fn advance(&mut self, time: Timestamp) {
        self.now = self.now.max(time);
    }

    pub fn fact(&mut self, fact: Fact) -> io::Result<()> {
        self.put(RecordKind::from(fact), &[], &mut |_| Frame::default())
    }

    pub fn label(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.fact(Fact::Label(Label { key: key.into(), value: value.into() }))
    }

    /// Says what the input did not tell.
    pub fn lacks(&mut self, lacks: &[Lack]) -> io::Result<()> {
        lacks.iter().try_for_each(|lack| self.label(lack.key(), lack.words()))
    }

    pub fn sampler(&mut self, id: SamplerId, unit: SampledUnit, rate: f64) -> io::Result<()> {
        self.fact(Fact::Sampler(Sampler { id, name: "import".into(), unit, rate }))
    }

    /// Tells of an object file of which nothing but the path is known; the number that frames call
    /// it by.
    pub fn module(&mut self, path: Arc<str>) -> io::Result<u32> {
        let number = self.modules;
        self.modules += 1;
        let build_id = Vec::new();
        self.fact(Fact::Module(Module { number, start: 0, end: 0, bias: 0, build_id, path }))?;
        Ok(number)
    }

    /// A block is born. `locate` is asked what a frame stands for, once for each.
    pub fn birth(
        &mut self,
        block: NewBlock,
        path: Path<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        let id = AllocationId(self.births);
        let is_seen_whole = block.sampler == FIRST && self.is_exact;
        let samples = if is_seen_whole { block.size.0.max(1) } else { 1 };
        self.births += 1;
        let birth = Birth {
            id,
            size: Size::Bytes(block.size),
            samples,
            source: Source::External,
            sampler: block.sampler,
            is_truncated: false,
            is_growth: path.frames.last() == Some(&GROWTH),
            common_prefix: path.common,
        };
        self.put(RecordKind::Birth(birth), path.frames, locate)?;
        Ok(id)
    }

    /// It is freed.
    pub fn death(&mut self, id: AllocationId) -> io::Result<()> {
        self.deaths += 1;
        self.put(RecordKind::Collection(id), &[], &mut |_| Frame::default())
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.writer.extend(self.now)?;
        self.writer.finish()?;
        Ok((self.births, self.deaths))
    }

    fn put(
        &mut self,
        kind: RecordKind,
        frames: &[LocationCode],
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<()> {
        let record = Record { time: self.now, thread: ThreadId(0), domain: DomainId(0), kind };
        self.writer.put(&record, frames, locate)
    }
}
