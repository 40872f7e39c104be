//! What fields find wrong, and what readers make of it.

use std::fmt;

/// What was found where a file is damaged.
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

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(formatter, "damaged"),
            Self::Cut => write!(formatter, "the file ends in the middle of a packet"),
            Self::Missing => write!(formatter, "a packet is missing"),
            Self::Unexpected { expected } => write!(formatter, "expected {expected}"),
        }
    }
}

/// What a model or a field finds wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
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
