//! From one trace to another, whatever the formats: as it is, or changed on the way.
//!
//! ```text
//! AnyReader -> Told (a birth's backtrace stays with the reader) -> copy | slice | strip | repair -> AnyWriter
//! ```
//!
//! All of them stream: memory is what reader and writer need, and at most something for each block
//! that lives. A trace that can't be read to its end is no reason to lose what was read: that is no
//! error, and the writer can be finished.

mod pseudonyms;
mod repair;
mod slice;
mod strip;
mod writer;

use std::io::{self, Read, Write};

use crate::told::{Told, What};
use crate::{AnyReader, ReadError};

pub use repair::{DAMAGED, Salvage, repair};
pub use slice::{Plan, Span, slice, slice_if};
pub use strip::{Strip, strip};
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
    mut keeps: impl FnMut(&AnyReader<R>, &mut Told) -> bool,
) -> io::Result<Option<ReadError>> {
    let mut gaps = Gaps::default();
    let stopped = for_each(reader, |reader, mut told| {
        let is_kept = keeps(reader, &mut told);
        gaps.close(&mut told, is_kept);
        if is_kept { pass_on(reader, writer, &told) } else { Ok(()) }
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
    fn close(&mut self, told: &mut Told, is_kept: bool) {
        let What::Birth(birth) = &mut told.what else { return };
        birth.common_prefix = birth.common_prefix.min(self.shared);
        self.shared = if is_kept { usize::MAX } else { birth.common_prefix };
    }
}

/// Does something with all that is left, and returns what kept it from being read to its end.
fn for_each<R: Read>(
    reader: &mut AnyReader<R>,
    mut work: impl FnMut(&AnyReader<R>, Told) -> io::Result<()>,
) -> io::Result<Option<ReadError>> {
    loop {
        match reader.next() {
            Ok(Some(told)) => work(reader, told)?,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// Writes what the reader has just told.
fn pass_on<R: Read, W: Write>(
    reader: &AnyReader<R>,
    writer: &mut AnyWriter<W>,
    told: &Told,
) -> io::Result<()> {
    writer.put(told, reader.backtrace(), &mut |code| reader.frame(code))
}
