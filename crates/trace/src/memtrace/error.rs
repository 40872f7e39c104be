//! What can be wrong with a trace. Offsets are bytes from the start of the input.

use std::io;

use super::Lookalike;

/// Why reading stopped. Everything before the damage has been delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input has no bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The input does not begin as a trace does.
    #[error("not a Memtrace trace: this looks like {0}")]
    NotATrace(Lookalike),
    /// A packet of a version that this reader does not know.
    #[error("byte {offset}: format version {found} (versions 1 to 3 are known)")]
    UnsupportedVersion {
        /// Start of the packet.
        offset: u64,
        /// The version it claims.
        found: u16,
    },
    /// The input ends in the middle of something.
    #[error("byte {offset}: the file ends in the middle of {what}")]
    Truncated {
        /// Where the input ends.
        offset: u64,
        /// What is cut.
        what: &'static str,
    },
    /// Bytes that no writer would have written.
    #[error("byte {offset}: expected {expected}, found {found} ({found:#x})")]
    Corrupt {
        /// Start of the packet or event that makes no sense.
        offset: u64,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: u64,
    },
    /// A packet's events do not fit in it.
    #[error("byte {offset}: an event runs past the end of its packet")]
    Overrun {
        /// Start of the event.
        offset: u64,
    },
    /// More domains than this reader keeps state for.
    #[error("byte {offset}: more than {} domains", super::MAX_DOMAINS)]
    TooManyDomains {
        /// Start of the packet of one domain too many.
        offset: u64,
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

/// What a codec finds wrong with the bytes of one packet; the reader adds the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The packet ends too early.
    CutShort,
    /// A field has a value that it cannot have.
    Unexpected { expected: &'static str, found: u64 },
    /// A domain more than are kept apart.
    TooManyDomains,
}

impl Fault {
    pub(super) fn at(self, offset: u64) -> Error {
        match self {
            Self::CutShort => Error::Overrun { offset },
            Self::TooManyDomains => Error::TooManyDomains { offset },
            Self::Unexpected { expected, found } => Error::Corrupt { offset, expected, found },
        }
    }
}
