//! What frames are called.

use lifetrace_trace::event::{Location, is_remark};
use lifetrace_trace::frame::FrameKind;
use lifetrace_trace::ids::LocationCode;

/// Knows the source locations of frames: a trace that has been read.
pub trait Names {
    /// The locations of a frame, outermost first; none if nothing is known.
    fn locations(&self, code: LocationCode) -> &[Location];

    /// Whose code a frame runs.
    fn kind(&self, _code: LocationCode) -> FrameKind {
        FrameKind::Unknown
    }

    /// Path of the object file that a frame is in; nothing where nobody says.
    fn module(&self, _code: LocationCode) -> Option<&str> {
        None
    }
}

/// What can be said of where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A place in source code.
    Known(&'a Location),
    /// A frame without any location.
    Unknown(LocationCode),
    /// There was no backtrace.
    NoBacktrace,
}

impl<'a> Place<'a> {
    /// The function's name, if it has one.
    pub fn function(&self) -> Option<&'a str> {
        match self {
            Self::Known(location) => Some(&location.defname),
            Self::Unknown(_) | Self::NoBacktrace => None,
        }
    }

    /// The first and the last column, as the compiler counts them; if it has told any.
    pub fn columns(&self) -> Option<(u32, u32)> {
        match self {
            Self::Known(Location { start_char, end_char, .. }) if *end_char > 0 => {
                Some((*start_char, *end_char))
            }
            _ => None,
        }
    }
}

/// One line of a backtrace: a physical frame, or a function that was inlined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFrame<'a> {
    /// Where.
    pub place: Place<'a>,
    /// Whether it has no frame of its own.
    pub inlined: bool,
    /// Whether the function only hands the request on to the allocator.
    pub is_machinery: bool,
}

impl NamedFrame<'_> {
    /// Whether it is no place, but something to know of the backtrace or the block.
    fn is_remark(&self) -> bool {
        matches!(self.place, Place::Known(location) if is_remark(location))
    }
}

/// What gives a reason for an allocation, of the lines of a backtrace so far, outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reason {
    has_lines: bool,
    is_found: bool,
    /// A function that is known, and more than how a program or a thread starts.
    is_named: bool,
}

impl Reason {
    /// Goes on by one line inwards. True if that is the innermost reason so far: it is no machinery, nor a
    /// function without a name that one with a name has called.
    pub fn is_now(&mut self, frame: &NamedFrame<'_>) -> bool {
        let is_one = match frame.place {
            _ if frame.is_machinery => false,
            Place::Unknown(_) => !self.is_named,
            Place::Known(_) | Place::NoBacktrace => true,
        };
        let is_start = frame.place.function().is_some_and(is_start);
        self.is_named |= is_one && !is_start && frame.place.function().is_some();
        // While nothing gives a reason, the innermost line is the best that there is, unless it only says what the block is.
        let is_worse = self.has_lines && frame.is_remark();
        let is_best = is_one || !self.is_found && !is_worse;
        self.is_found |= is_one;
        self.has_lines = true;
        is_best
    }
}

/// Whether a function only starts a program or a thread, by its name.
pub fn is_start(function: &str) -> bool {
    STARTS.contains(&function)
}

/// Functions that only start a program or a thread.
const STARTS: [&str; 8] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone3",
];

/// The lines of one physical frame, innermost first; one at least. None is taken to be machinery.
pub fn expand(names: &impl Names, code: LocationCode) -> impl Iterator<Item = NamedFrame<'_>> {
    let locations = names.locations(code);
    let frame = |place, inlined| NamedFrame { place, inlined, is_machinery: false };
    let unknown = locations.is_empty().then(|| frame(Place::Unknown(code), false));
    let known = move |(depth, location)| frame(Place::Known(location), depth > 0);
    locations.iter().enumerate().rev().map(known).chain(unknown)
}

/// Names for tests.
#[cfg(test)]
pub(crate) mod testing {
    use std::collections::HashMap;

    use super::*;

    /// What each code stands for.
    pub(crate) struct Book(pub(crate) HashMap<LocationCode, Vec<Location>>);

    impl Names for Book {
        fn locations(&self, code: LocationCode) -> &[Location] {
            self.0.get(&code).map_or(&[], Vec::as_slice)
        }
    }
}
