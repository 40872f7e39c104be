//! From one trace to another.

use std::io::{self, Read, Write};

use super::{Error, Item, NewBirth, Reader, Writer};
use crate::event::Event;
use crate::frame::Frame;
use crate::ids::{LocationCode, SamplerId, Size, ThreadId};
use crate::memtrace;

/// Which side failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError<E: std::error::Error + 'static> {
    /// The input can't be read further; all events before have been copied.
    #[error("reading the trace")]
    Read(#[source] E),
    /// The output can't be written.
    #[error("writing the trace")]
    Write(#[source] io::Error),
}

/// What a copy left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Facts.
    pub facts: u64,
    /// Births whose size was not a whole number of words.
    pub rounded_sizes: u64,
    /// Events of threads other than number 0, of which only the domain was kept.
    pub threads: u64,
}

/// Backtraces are lent by a reader that is asked for names at the same time.
#[derive(Default)]
struct Kept(Vec<LocationCode>);

impl Kept {
    fn take(&mut self, backtrace: &[LocationCode], common: usize) {
        self.0.truncate(common);
        self.0.extend_from_slice(&backtrace[common..]);
    }
}

/// Copies the events that are left of a Memtrace trace. Nothing is lost: the way back gives the same
/// Memtrace trace, as our writer writes it.
///
/// # Errors
///
/// When one of the two fails.
pub fn from_memtrace<R: Read, W: Write>(
    reader: &mut memtrace::Reader<R>,
    writer: &mut Writer<W>,
) -> Result<(), CopyError<memtrace::Error>> {
    let mut kept = Kept::default();
    while let Some((time, event)) = reader.next().map_err(CopyError::Read)? {
        let outcome = match event {
            Event::Allocation(allocation) => {
                kept.take(allocation.backtrace, allocation.common_prefix);
                let birth = NewBirth {
                    size: Size::Words(allocation.length),
                    samples: allocation.samples,
                    source: allocation.source,
                    sampler: SamplerId(0),
                    is_truncated: false,
                    backtrace: &kept.0,
                    common_prefix: allocation.common_prefix,
                    id: Some(allocation.id),
                };
                writer.switch(ThreadId(0), allocation.domain);
                let locate = &mut |code| Frame::from(reader.locations(code).to_vec());
                writer.birth(time, &birth, locate).map(|_| ())
            }
            Event::Promotion(id) => {
                writer.switch(ThreadId(0), reader.domain());
                writer.promotion(time, id)
            }
            Event::Collection(id) => {
                writer.switch(ThreadId(0), reader.domain());
                writer.collection(time, id)
            }
        };
        outcome.map_err(CopyError::Write)?;
    }
    Ok(())
}

/// Copies the events that are left to a Memtrace trace, and says what that has no room for.
///
/// # Errors
///
/// When one of the two fails.
pub fn to_memtrace<R: Read, W: Write>(
    reader: &mut Reader<R>,
    writer: &mut memtrace::Writer<W>,
) -> Result<Omitted, CopyError<Error>> {
    let mut kept = Kept::default();
    let mut omitted = Omitted::default();
    while let Some((time, item)) = reader.next().map_err(CopyError::Read)? {
        let outcome = match item {
            Item::Fact(_) => {
                omitted.facts += 1;
                continue;
            }
            Item::Event(Event::Allocation(allocation)) => {
                kept.take(allocation.backtrace, allocation.common_prefix);
                let copied = memtrace::NewAllocation {
                    length: allocation.length,
                    samples: allocation.samples,
                    source: allocation.source,
                    backtrace: &kept.0,
                    common_prefix: allocation.common_prefix,
                    id: Some(allocation.id),
                };
                omitted.note_size(reader);
                writer.switch_domain(reader.domain());
                let locate = &mut |code| reader.locations(code).to_vec();
                writer.allocation(time, &copied, locate).map(|_| ())
            }
            Item::Event(Event::Promotion(id)) => {
                writer.switch_domain(reader.domain());
                writer.promotion(time, id)
            }
            Item::Event(Event::Collection(id)) => {
                writer.switch_domain(reader.domain());
                writer.collection(time, id)
            }
        };
        omitted.threads += u64::from(reader.thread() != ThreadId(0));
        outcome.map_err(CopyError::Write)?;
    }
    Ok(omitted)
}

impl Omitted {
    fn note_size<R: Read>(&mut self, reader: &Reader<R>) {
        let word = u64::from(reader.info().word_bits / 8);
        if let Some(Size::Bytes(bytes)) = reader.birth().map(|birth| birth.size)
            && bytes.0 % word != 0
        {
            self.rounded_sizes += 1;
        }
    }
}

/// Copies all that is left of a trace to another of the same format: what was damaged is left out, and
/// the copy is whole.
///
/// # Errors
///
/// When one of the two fails.
pub fn copy<R: Read, W: Write>(
    reader: &mut Reader<R>,
    writer: &mut Writer<W>,
) -> Result<(), CopyError<Error>> {
    let mut kept = Kept::default();
    while let Some((time, item)) = reader.next().map_err(CopyError::Read)? {
        let outcome = match item {
            Item::Fact(fact) => {
                writer.switch(reader.thread(), reader.domain());
                writer.fact(time, &fact)
            }
            Item::Event(Event::Allocation(allocation)) => {
                kept.take(allocation.backtrace, allocation.common_prefix);
                let (samples, source) = (allocation.samples, allocation.source);
                let (common_prefix, id) = (allocation.common_prefix, Some(allocation.id));
                let Some(details) = reader.birth() else { continue };
                let birth = NewBirth {
                    size: details.size,
                    samples,
                    source,
                    sampler: details.sampler,
                    is_truncated: details.is_truncated,
                    backtrace: &kept.0,
                    common_prefix,
                    id,
                };
                writer.switch(reader.thread(), reader.domain());
                let locate = &mut |code| reader.frame(code).cloned().unwrap_or_default();
                writer.birth(time, &birth, locate).map(|_| ())
            }
            Item::Event(Event::Promotion(id)) => {
                writer.switch(reader.thread(), reader.domain());
                writer.promotion(time, id)
            }
            Item::Event(Event::Collection(id)) => {
                writer.switch(reader.thread(), reader.domain());
                writer.collection(time, id)
            }
        };
        outcome.map_err(CopyError::Write)?;
    }
    Ok(())
}
