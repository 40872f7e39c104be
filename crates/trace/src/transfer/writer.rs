//! A trace of either format, written in the same words.

use std::io::{self, Write};

use crate::event::TraceInfo;
use crate::frame::Frame;
use crate::ids::{DomainId, LocationCode, Size, ThreadId, Timestamp};
use crate::record::{Birth, Record, RecordKind};
use crate::{lt, memtrace};

/// Which format is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own.
    Lt,
    /// OCaml Memtrace's.
    Memtrace(memtrace::Version),
}

/// What the format had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Facts.
    pub facts: u64,
    /// Births whose size was not a whole number of words: it was rounded up.
    pub rounded_sizes: u64,
    /// Events of threads other than number 0, of which only the domain was kept.
    pub threads: u64,
}

/// Writes a trace of either format. Its limits are those of the format's own writer.
pub struct AnyWriter<W>(Inner<W>);

enum Inner<W> {
    Memtrace(Box<ToMemtrace<W>>),
    Lt(Box<lt::Writer<W>>),
}

struct ToMemtrace<W> {
    writer: memtrace::Writer<W>,
    word_bits: u8,
    omitted: Omitted,
    /// Where the last birth was.
    last_birth: Option<DomainId>,
}

impl<W: Write> AnyWriter<W> {
    /// Writes what the trace says about itself.
    ///
    /// # Errors
    ///
    /// Also when the sampling rate or the length of words is none.
    pub fn new(output: W, info: &TraceInfo, format: Format) -> io::Result<Self> {
        let inner = match format {
            Format::Lt => Inner::Lt(Box::new(lt::Writer::new(output, info)?)),
            Format::Memtrace(version) => Inner::Memtrace(Box::new(ToMemtrace {
                writer: memtrace::Writer::new(output, info, version)?,
                word_bits: info.word_bits,
                omitted: Omitted::default(),
                last_birth: None,
            })),
        };
        Ok(Self(inner))
    }

    /// Writes something. If it is a birth, `backtrace` is its backtrace, and `locate` is asked what a
    /// frame stands for.
    ///
    /// # Errors
    ///
    /// The output's, and when a block's id doesn't fit the format.
    pub fn put(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<()> {
        match &mut self.0 {
            Inner::Lt(writer) => put_lt(writer, record, backtrace, locate),
            Inner::Memtrace(writer) => writer.put(record, backtrace, locate),
        }
    }

    /// Lets the trace last until `time` at least. Nothing may come that is earlier.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn extend(&mut self, time: Timestamp) -> io::Result<()> {
        match &mut self.0 {
            Inner::Lt(writer) => writer.flush(time),
            Inner::Memtrace(to) => to.writer.extend(time),
        }
    }

    /// Writes all that was put, and ends the trace.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Inner::Lt(writer) => writer.finish(),
            Inner::Memtrace(to) => to.writer.finish(),
        }
    }

    /// What the format had no room for so far.
    pub fn omitted(&self) -> Omitted {
        match &self.0 {
            Inner::Lt(_) => Omitted::default(),
            Inner::Memtrace(to) => to.omitted,
        }
    }

    /// Whether the format has room for facts.
    pub fn has_facts(&self) -> bool {
        matches!(self.0, Inner::Lt(_))
    }

    /// Length of what was written so far and is good, in bytes.
    pub fn written(&self) -> u64 {
        match &self.0 {
            Inner::Lt(writer) => writer.written(),
            Inner::Memtrace(to) => to.writer.written(),
        }
    }
}

pub(super) fn put_lt<W: Write>(
    writer: &mut lt::Writer<W>,
    record: &Record,
    backtrace: &[LocationCode],
    locate: &mut dyn FnMut(LocationCode) -> Frame,
) -> io::Result<()> {
    writer.switch(record.thread, record.domain);
    match &record.kind {
        RecordKind::Fact(fact) => writer.fact(record.time, fact),
        RecordKind::Promotion(id) => writer.promotion(record.time, *id),
        RecordKind::Collection(id) => writer.collection(record.time, *id),
        RecordKind::Birth(birth) => {
            let birth = lt::NewBirth {
                size: birth.size,
                samples: birth.samples,
                source: birth.source,
                sampler: birth.sampler,
                is_truncated: birth.is_truncated,
                backtrace,
                common_prefix: birth.common_prefix,
                id: Some(birth.id),
            };
            writer.birth(record.time, &birth, locate).map(drop)
        }
    }
}

impl<W: Write> ToMemtrace<W> {
    fn put(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<()> {
        if matches!(record.kind, RecordKind::Fact(_)) {
            self.omitted.facts += 1;
            return Ok(());
        }
        self.omitted.threads += u64::from(record.thread != ThreadId(0));
        self.writer.switch_domain(record.domain);
        match &record.kind {
            RecordKind::Fact(_) => Ok(()),
            RecordKind::Promotion(id) => self.writer.promotion(record.time, *id),
            RecordKind::Collection(id) => self.writer.collection(record.time, *id),
            RecordKind::Birth(birth) => {
                let allocation = self.allocation(record.domain, birth, backtrace);
                let locate = &mut |code| locate(code).locations;
                self.writer.allocation(record.time, &allocation, locate).map(drop)
            }
        }
    }

    fn allocation<'a>(
        &mut self,
        domain: DomainId,
        birth: &Birth,
        backtrace: &'a [LocationCode],
    ) -> memtrace::NewAllocation<'a> {
        // Each domain's backtraces are coded against its own.
        let is_prefix_known = self.last_birth.replace(domain) == Some(domain);
        let length = birth.size.words(self.word_bits);
        let is_whole =
            Size::Words(length).bytes(self.word_bits) == birth.size.bytes(self.word_bits);
        self.omitted.rounded_sizes += u64::from(!is_whole);
        memtrace::NewAllocation {
            length,
            samples: birth.samples,
            source: birth.source,
            backtrace,
            common_prefix: if is_prefix_known { birth.common_prefix } else { 0 },
            id: Some(birth.id),
        }
    }
}
