//! What can be wrong with a snapshot, and what is only damaged in it.

use std::{fmt, io};

use crate::framing::fault::Cause;
use crate::memtrace::Lookalike;

/// Why a snapshot cannot be read at all. Damage is not an error: see [`Damage`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input has no bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The input does not begin as a snapshot does, and no beginning of one was found in it.
    #[error("not a heap snapshot of Lifetrace: this looks like {0}")]
    NotASnapshot(Lookalike),
    /// A later major version.
    #[error("format version {major}.{minor} (versions up to {}.x are known)", super::MAJOR)]
    UnsupportedVersion {
        /// Readers of an earlier one cannot read it.
        major: u64,
        /// Readers of an earlier one pass over what is new.
        minor: u64,
    },
    /// The input failed.
    #[error("byte {offset}: reading failed")]
    Io {
        /// How far it had been read.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
}

/// A stretch of a snapshot that could not be read. All records outside of it were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// How much of the file tells nothing.
    pub bytes: u64,
    /// How many blocks are missing, if a later packet told.
    pub blocks: Option<u64>,
    /// What was found first.
    pub cause: Cause,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "byte {}: {} bytes lost, {}", self.offset, self.bytes, self.cause)?;
        match self.blocks {
            Some(blocks) => write!(formatter, "; {blocks} blocks missing"),
            None => Ok(()),
        }
    }
}
