//! What a frame of a backtrace stands for.

use crate::event::Location;

/// A frame: a function, and the functions that were inlined into it at that place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function's own first; every other one was inlined into the one before it. Empty when
    /// nothing is known.
    pub locations: Vec<Location>,
    /// Whose code it is.
    pub kind: FrameKind,
    /// Number of the [object file](crate::fact::Module) that it is in.
    pub module: Option<u32>,
}

/// Whose code a frame runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameKind {
    /// Nobody says.
    #[default]
    Unknown,
    /// Machine code: C, C++, Rust and the like.
    Native,
    /// OCaml.
    OCaml,
    /// Ruby source.
    Ruby,
    /// A method of Ruby's that is written in C.
    RubyNative,
    /// Python source.
    Python,
}

impl FrameKind {
    /// As traces have it.
    pub(crate) fn number(self) -> u64 {
        self as u64
    }

    /// Unknown, if a later version gave it a meaning.
    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            1 => Self::Native,
            2 => Self::OCaml,
            3 => Self::Ruby,
            4 => Self::RubyNative,
            5 => Self::Python,
            _ => Self::Unknown,
        }
    }
}

impl From<Vec<Location>> for Frame {
    fn from(locations: Vec<Location>) -> Self {
        Self { locations, ..Self::default() }
    }
}
