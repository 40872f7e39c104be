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

use crate::told::Told;
use crate::{AnyReader, ReadError};

pub use repair::{DAMAGED, Salvage, repair};
pub use slice::{Plan, Span, slice};
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
    let stopped = for_each(reader, |reader, told| pass_on(reader, writer, &told))?;
    writer.extend(reader.end_time())?;
    Ok(stopped)
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
