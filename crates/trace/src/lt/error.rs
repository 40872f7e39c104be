//! What can be wrong with a trace, and what is only damaged in it.

use std::io;

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

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Bytes that belong to no packet.
    Bytes,
    /// The file ends in the middle of a packet.
    Cut,
    /// A packet is missing between its neighbours.
    Missing,
    /// A packet whose checksum is right says what no writer says.
    Unexpected {
        /// What should be there.
        expected: &'static str,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "byte {}: {} bytes lost, ", self.offset, self.bytes)?;
        match self.cause {
            Cause::Bytes => write!(formatter, "damaged"),
            Cause::Cut => write!(formatter, "the file ends in the middle of a packet"),
            Cause::Missing => write!(formatter, "a packet is missing"),
            Cause::Unexpected { expected } => write!(formatter, "expected {expected}"),
        }?;
        match self.births {
            Some(births) => write!(formatter, "; {births} allocations missing"),
            None => Ok(()),
        }
    }
}

/// What a model or a field finds wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes end too early.
    CutShort,
    /// Something else is there.
    Unexpected(&'static str),
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::CutShort => Self::Unexpected { expected: "more bytes" },
            Fault::Unexpected(expected) => Self::Unexpected { expected },
        }
    }
}
