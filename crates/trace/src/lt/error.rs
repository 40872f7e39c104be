//! What can be wrong with a trace, and what is only damaged in it.

use std::io;

pub use crate::framing::fault::Cause;
use crate::memtrace::Lookalike;

/// Why a trace cannot be read at all. Damage is not an error: see [`Damage`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input has no bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The input does not begin as a trace does, and no beginning of one was found in it.
    #[error("not a Lifetrace trace: this looks like {0}")]
    NotATrace(Lookalike),
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

impl Error {
    /// Whether there is nothing more for now, and may be later: the input would block.
    pub fn is_for_now(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }
}

/// A stretch of a trace that could not be read. All events outside of it were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// How much of the file tells nothing.
    pub bytes: u64,
    /// How many births are missing, if a later checkpoint told.
    pub births: Option<u64>,
    /// What was found first.
    pub cause: Cause,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "byte {}: {} bytes lost, ", self.offset, self.bytes)?;
        write!(formatter, "{}", self.cause)?;
        match self.births {
            Some(births) => write!(formatter, "; {births} allocations missing"),
            None => Ok(()),
        }
    }
}
