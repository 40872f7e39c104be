//! A trace of either format, told in the same words.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::{Allocation, Event, Source, TraceInfo};
use crate::fact::Fact;
use crate::frame::Frame;
use crate::ids::{AllocationId, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp};
use crate::{lt, memtrace};

/// Something that a trace tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When it was.
    pub time: Timestamp,
    /// Where it was.
    pub thread: ThreadId,
    /// Where it was.
    pub domain: DomainId,
    /// What it is.
    pub what: What,
}

/// What can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A block was allocated.
    Birth(Birth),
    /// It moved to the major heap.
    Promotion(AllocationId),
    /// It was freed, or found dead.
    Collection(AllocationId),
    /// Something beside these.
    Fact(Fact),
}

/// The birth of a sampled block; its backtrace is with the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Its name.
    pub id: AllocationId,
    /// Its size.
    pub size: Size,
    /// How many of its units the sampler hit.
    pub samples: u64,
    /// Where it lives.
    pub source: Source,
    /// Who sampled it.
    pub sampler: SamplerId,
    /// Whether outermost frames of its backtrace are missing.
    pub is_truncated: bool,
    /// As many leading frames are surely those of the previous birth's backtrace.
    pub common_prefix: usize,
}

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

/// How far reading has come, for other threads to see.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    told: AtomicU64,
}

impl Progress {
    /// How many bytes have been read.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many events and facts have been told.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

/// Reads a trace of either format. Damage is what the format's own reader says of it.
pub struct AnyReader<R> {
    inner: Inner<R>,
    told: u64,
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
        Self { inner, told: 0, progress: Arc::default() }
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

    /// What comes next, or `None` at the end.
    ///
    /// # Errors
    ///
    /// When the rest can't be read; after that, there is nothing more.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors would not be its end")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Told>, ReadError> {
        let told = match &mut self.inner {
            Inner::Memtrace(reader) => next_of_memtrace(reader)?,
            Inner::Lt(reader) => next_of_lt(reader)?,
        };
        self.told += u64::from(told.is_some());
        self.progress.told.store(self.told, Ordering::Relaxed);
        self.progress.bytes.store(self.position(), Ordering::Relaxed);
        Ok(told)
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
fn next_of_memtrace<R: Read>(reader: &mut memtrace::Reader<R>) -> Result<Option<Told>, ReadError> {
    let Some((time, event)) = reader.next()? else { return Ok(None) };
    let what = match event {
        Event::Promotion(id) => What::Promotion(id),
        Event::Collection(id) => What::Collection(id),
        Event::Allocation(allocation) => What::Birth(plain(&allocation)),
    };
    Ok(Some(Told { time, thread: ThreadId(0), domain: reader.domain(), what }))
}

#[inline]
fn next_of_lt<R: Read>(reader: &mut lt::Reader<R>) -> Result<Option<Told>, ReadError> {
    let Some((time, item)) = reader.next()? else { return Ok(None) };
    let what = match item {
        lt::Item::Fact(fact) => What::Fact(fact),
        lt::Item::Event(Event::Promotion(id)) => What::Promotion(id),
        lt::Item::Event(Event::Collection(id)) => What::Collection(id),
        lt::Item::Event(Event::Allocation(allocation)) => {
            let plain = plain(&allocation);
            What::Birth(reader.birth().map_or(plain, |known| Birth {
                size: known.size,
                sampler: known.sampler,
                is_truncated: known.is_truncated,
                ..plain
            }))
        }
    };
    Ok(Some(Told { time, thread: reader.thread(), domain: reader.domain(), what }))
}

/// A birth as Memtrace's format knows it.
#[inline]
fn plain(allocation: &Allocation<'_>) -> Birth {
    let Allocation { id, length, samples, source, common_prefix, .. } = *allocation;
    let (size, sampler) = (Size::Words(length), SamplerId(0));
    Birth { id, size, samples, source, sampler, is_truncated: false, common_prefix }
}
