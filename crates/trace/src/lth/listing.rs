//! The packets of a snapshot, without what they say.

use std::io::Read;

use super::error::Error;
use super::packet::{BLOCKS, END, HEADER, KINDS, MARK, ROOTS, SAMPLES, SITES};
use crate::framing::scan::{Next, Scanner};

/// Lists the packets of a snapshot.
#[derive(Debug)]
pub struct Listing<R> {
    scanner: Scanner<R>,
    is_over: bool,
}

/// A stretch of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// What it is about; `None` if it is no intact packet.
    pub about: Option<&'static str>,
}

impl<R: Read> Listing<R> {
    /// Begins to list.
    pub fn new(input: R) -> Self {
        Listing { scanner: Scanner::new(input, MARK), is_over: false }
    }

    /// What comes next: perhaps a stretch that is no packet, and a packet, unless the snapshot ends.
    ///
    /// # Errors
    /// The input's.
    #[expect(clippy::should_implement_trait, reason = "it gives up to two at a time")]
    pub fn next(&mut self) -> Result<[Option<Stretch>; 2], Error> {
        if self.is_over {
            return Ok([None; 2]);
        }
        let start = self.scanner.offset();
        let next = self.scanner.next();
        let next = next.map_err(|source| Error::Io { offset: self.scanner.offset(), source })?;
        let damaged = |bytes| (bytes > 0).then_some(Stretch { offset: start, bytes, about: None });
        Ok(match next {
            Next::End { skipped, .. } => {
                self.is_over = true;
                [damaged(skipped), None]
            }
            Next::Packet(found) => {
                let about = Some(name(found.kind));
                let packet = Stretch { offset: found.offset, bytes: found.len(), about };
                [damaged(found.skipped), Some(packet)]
            }
        })
    }
}

fn name(kind: crate::framing::packet::Kind) -> &'static str {
    match kind {
        HEADER => "header",
        KINDS => "kinds",
        ROOTS => "roots",
        BLOCKS => "blocks",
        SITES => "sites",
        SAMPLES => "samples",
        END => "end",
        _ => "unknown",
    }
}
