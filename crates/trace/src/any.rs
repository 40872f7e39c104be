//! A trace of either format, as the same records.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::{Location, TraceInfo};
use crate::frame::Frame;
use crate::ids::{LocationCode, ThreadId, Timestamp};
use crate::record::{Birth, Record, RecordKind};
use crate::{lt, memtrace};

/// Why reading stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A trace in Memtrace's format.
    #[error(transparent)]
    Memtrace(#[from] memtrace::Error),
    /// One in ours.
    #[error(transparent)]
    Lt(#[from] lt::Error),
}

impl ReadError {
    /// Whether there is nothing more for now, and may be later: the input would block, and can be asked again.
    pub fn is_for_now(&self) -> bool {
        matches!(self, Self::Lt(error) if error.is_for_now())
    }
}

/// How far reading has come, for other threads to see.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    records: AtomicU64,
}

impl Progress {
    /// How many bytes have been read.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many records have been read.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }
}

/// Reads a trace of either format. Damage is what the format's own reader says of it.
pub struct AnyReader<R> {
    inner: Inner<R>,
    records: u64,
    progress: Arc<Progress>,
}

enum Inner<R> {
    Memtrace(Box<memtrace::Reader<R>>),
    Lt(Box<lt::Reader<R>>),
}

impl<R: Read> AnyReader<R> {
    /// Of a trace in Memtrace's format.
    pub fn memtrace(reader: memtrace::Reader<R>) -> Self {
        Self::new(Inner::Memtrace(Box::new(reader)))
    }

    /// Of a trace in ours.
    pub fn lt(reader: lt::Reader<R>) -> Self {
        Self::new(Inner::Lt(Box::new(reader)))
    }

    fn new(inner: Inner<R>) -> Self {
        Self { inner, records: 0, progress: Arc::default() }
    }

    /// Leaves all backtraces empty, which is several times as fast.
    pub fn without_backtraces(mut self) -> Self {
        self.inner = match self.inner {
            Inner::Memtrace(reader) => Inner::Memtrace(Box::new(reader.without_backtraces())),
            Inner::Lt(reader) => Inner::Lt(Box::new(reader.without_backtraces())),
        };
        self
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        match &self.inner {
            Inner::Memtrace(reader) => reader.info(),
            Inner::Lt(reader) => reader.info(),
        }
    }

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    ///
    /// When the rest can't be read; after that, there is nothing more, but [for now](ReadError::is_for_now).
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors would not be its end")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record>, ReadError> {
        let record = match &mut self.inner {
            Inner::Memtrace(reader) => next_of_memtrace(reader)?,
            Inner::Lt(reader) => next_of_lt(reader)?,
        };
        self.records += u64::from(record.is_some());
        self.progress.records.store(self.records, Ordering::Relaxed);
        self.progress.bytes.store(self.position(), Ordering::Relaxed);
        Ok(record)
    }

    /// The last birth's backtrace, outermost frame first.
    pub fn backtrace(&self) -> &[LocationCode] {
        match &self.inner {
            Inner::Memtrace(reader) => reader.backtrace(),
            Inner::Lt(reader) => reader.backtrace(),
        }
    }

    /// What a frame stands for; empty when the trace doesn't tell.
    pub fn frame(&self, code: LocationCode) -> Frame {
        match &self.inner {
            Inner::Memtrace(reader) => Frame::from(reader.locations(code).to_vec()),
            Inner::Lt(reader) => reader.frame(code).cloned().unwrap_or_default(),
        }
    }

    /// The locations of a frame, outermost first; empty when the trace doesn't tell.
    pub fn locations(&self, code: LocationCode) -> &[Location] {
        match &self.inner {
            Inner::Memtrace(reader) => reader.locations(code),
            Inner::Lt(reader) => reader.locations(code),
        }
    }

    /// The latest time that what has been read covers.
    pub fn end_time(&self) -> Timestamp {
        match &self.inner {
            Inner::Memtrace(reader) => reader.end_time(),
            Inner::Lt(reader) => reader.end_time(),
        }
    }

    /// The reader, if the trace is in our own format.
    pub fn as_lt(&self) -> Option<&lt::Reader<R>> {
        match &self.inner {
            Inner::Memtrace(_) => None,
            Inner::Lt(reader) => Some(reader),
        }
    }

    /// The reader, if the trace is in Memtrace's format.
    pub fn as_memtrace(&self) -> Option<&memtrace::Reader<R>> {
        match &self.inner {
            Inner::Memtrace(reader) => Some(reader),
            Inner::Lt(_) => None,
        }
    }

    /// How far it has come, from now on.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    fn position(&self) -> u64 {
        match &self.inner {
            Inner::Memtrace(reader) => reader.position(),
            Inner::Lt(reader) => reader.position(),
        }
    }
}

#[inline]
fn next_of_memtrace<R: Read>(
    reader: &mut memtrace::Reader<R>,
) -> Result<Option<Record>, ReadError> {
    let Some((time, event)) = reader.next()? else { return Ok(None) };
    let kind = RecordKind::from(&event);
    Ok(Some(Record { time, thread: ThreadId(0), domain: reader.domain(), kind }))
}

#[inline]
fn next_of_lt<R: Read>(reader: &mut lt::Reader<R>) -> Result<Option<Record>, ReadError> {
    let Some((time, item)) = reader.next()? else { return Ok(None) };
    let mut kind = match item {
        lt::Item::Fact(fact) => RecordKind::from(fact),
        lt::Item::Event(event) => RecordKind::from(&event),
    };
    if let (RecordKind::Birth(birth), Some(known)) = (&mut kind, reader.birth()) {
        *birth = Birth {
            size: known.size,
            sampler: known.sampler,
            is_growth: known.is_growth,
            is_truncated: known.is_truncated,
            ..*birth
        };
    }
    Ok(Some(Record { time, thread: reader.thread(), domain: reader.domain(), kind }))
}
