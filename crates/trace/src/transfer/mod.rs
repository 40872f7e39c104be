//! From one trace to another, whatever the formats: as it is, or changed on the way.
//!
//! ```text
//! AnyReader -> Told (a birth's backtrace stays with the reader) -> copy | slice | strip | repair -> AnyWriter
//! ```
//!
//! All of them stream: memory is what reader and writer need, and at most something for each block
//! that lives. A trace that can't be read to its end is no reason to lose what was read: a
//! [`CopyError::Read`] leaves a writer that can be finished.

mod pseudonyms;
mod reader;
mod repair;
mod slice;
mod strip;
mod writer;

use std::io::{self, Read, Write};

pub use reader::{AnyReader, Birth, Progress, ReadError, Told, What};
pub use repair::{DAMAGED, Salvage, repair};
pub use slice::{Plan, Span, slice};
pub use strip::{Strip, strip};
pub use writer::{AnyWriter, Format, Omitted};

/// Which side failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The input can't be read further; all that was told before has been copied.
    #[error("reading the trace")]
    Read(#[from] ReadError),
    /// The output can't be written.
    #[error("writing the trace")]
    Write(#[from] io::Error),
}

/// Copies all that is left. Nothing of Memtrace's is lost in our own format: the way back gives the
/// same trace, as our writer writes it. What of ours Memtrace's has no room for,
/// [`AnyWriter::omitted`] tells. What was damaged in the input is left out; the copy is whole.
///
/// # Errors
///
/// When one of the two fails.
pub fn copy<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
) -> Result<(), CopyError> {
    while let Some(told) = reader.next()? {
        writer.put(&told, reader.backtrace(), &mut |code| reader.frame(code))?;
    }
    writer.extend(reader.end_time())?;
    Ok(())
}
