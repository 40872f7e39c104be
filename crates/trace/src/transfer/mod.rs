//! From one trace to another, whatever the formats: as it is, or changed on the way.
//!
//! ```text
//! AnyReader -> Record (a birth's backtrace stays with the reader) -> copy | slice | strip | repair -> AnyWriter
//! ```
//!
//! All of them stream: memory is what reader and writer need, and at most something for each block
//! that lives. A trace that can't be read to its end is no reason to lose what was read: that is no
//! error, and the writer can be finished.

mod pseudonyms;
mod repair;
mod slice;
mod strip;
mod succession;
mod writer;

use std::io::{self, Read, Write};

use crate::record::{Record, RecordKind};
use crate::{AnyReader, ReadError};

pub use repair::{DAMAGED, Salvage, repair};
pub use slice::{Plan, Span, slice, slice_if};
pub use strip::{Strip, strip};
pub use succession::{CONTINUES, Join, carry_over, may_follow};
pub use writer::{AnyWriter, Format, Omitted};

/// Copies all that is left. Nothing of Memtrace's is lost in our own format: the way back gives the
/// same trace, as our writer writes it. What of ours Memtrace's has no room for,
/// [`AnyWriter::omitted`] tells. What was damaged in the input is left out; the copy is whole.
///
/// Returns what kept the input from being read to its end; what was told before has been copied.
///
/// # Errors
///
/// The output's.
pub fn copy<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
) -> io::Result<Option<ReadError>> {
    copy_if(reader, writer, |_, _| true)
}

/// Copies what `keeps` lets through of all that is left, as `keeps` leaves it. It is asked of all that the input
/// tells, when the reader has just told it. The copy lasts as long as the input.
///
/// Returns what kept the input from being read to its end; what was told before has been copied.
///
/// # Errors
///
/// The output's.
pub fn copy_if<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
    mut keeps: impl FnMut(&AnyReader<R>, &mut Record) -> bool,
) -> io::Result<Option<ReadError>> {
    let mut gaps = Gaps::default();
    let stopped = for_each(reader, |reader, mut record| {
        let is_kept = keeps(reader, &mut record);
        gaps.close(&mut record, is_kept);
        if is_kept { pass_on(reader, writer, &record) } else { Ok(()) }
    })?;
    writer.extend(reader.end_time())?;
    Ok(stopped)
}

/// Where births are left out, what the next one shares with the last one that was kept.
struct Gaps {
    shared: usize,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { shared: usize::MAX }
    }
}

impl Gaps {
    /// To be called with all that is told.
    fn close(&mut self, record: &mut Record, is_kept: bool) {
        let RecordKind::Birth(birth) = &mut record.kind else { return };
        birth.common_prefix = birth.common_prefix.min(self.shared);
        self.shared = if is_kept { usize::MAX } else { birth.common_prefix };
    }
}

/// Does something with all that is left, and returns what kept it from being read to its end.
fn for_each<R: Read>(
    reader: &mut AnyReader<R>,
    mut work: impl FnMut(&AnyReader<R>, Record) -> io::Result<()>,
) -> io::Result<Option<ReadError>> {
    loop {
        match reader.next() {
            Ok(Some(record)) => work(reader, record)?,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// Writes what the reader has just told.
fn pass_on<R: Read, W: Write>(
    reader: &AnyReader<R>,
    writer: &mut AnyWriter<W>,
    record: &Record,
) -> io::Result<()> {
    writer.put(record, reader.backtrace(), &mut |code| reader.frame(code))
}
