//! From one trace to another.

use std::io::{self, Read, Write};

use super::{Error, NewAllocation, Reader, Writer};
use crate::event::Event;

/// Which side failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The input is damaged; all events before the damage have been copied.
    #[error("reading the trace")]
    Read(#[from] Error),
    /// The output can't be written.
    #[error("writing the trace")]
    Write(#[from] io::Error),
}

/// Copies the events that are left, with their ids. When all of Memtrace's own trace is copied to a
/// writer of the same version, the copy has the same bytes, unless a backtrace was truncated in it.
pub fn copy<R: Read, W: Write>(
    reader: &mut Reader<R>,
    writer: &mut Writer<W>,
) -> Result<(), CopyError> {
    let mut backtrace = Vec::new();
    while let Some((time, event)) = reader.next()? {
        match event {
            Event::Allocation(allocation) => {
                let common_prefix = allocation.common_prefix;
                backtrace.truncate(common_prefix);
                backtrace.extend_from_slice(&allocation.backtrace[common_prefix..]);
                let copied = NewAllocation {
                    length: allocation.length,
                    samples: allocation.samples,
                    source: allocation.source,
                    backtrace: &backtrace,
                    common_prefix,
                    id: Some(allocation.id),
                };
                writer.switch_domain(allocation.domain);
                writer.allocation(time, &copied, &mut |code| reader.locations(code).to_vec())?;
            }
            Event::Promotion(id) => {
                writer.switch_domain(reader.domain());
                writer.promotion(time, id)?;
            }
            Event::Collection(id) => {
                writer.switch_domain(reader.domain());
                writer.collection(time, id)?;
            }
        }
    }
    Ok(())
}
