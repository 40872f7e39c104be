//! What frames are called.

use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;

use crate::machinery::is_machinery;

/// Knows the source locations of frames: a trace that has been read.
pub trait Names {
    /// The locations of a frame, outermost first; none if nothing is known.
    fn locations(&self, code: LocationCode) -> &[Location];

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
}

/// One line of a backtrace: a physical frame, or a function that was inlined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where.
    pub place: Place<'a>,
    /// Whether it has no frame of its own.
    pub inlined: bool,
}

impl Frame<'_> {
    /// Whether the function only hands the request on to the allocator.
    pub fn is_machinery(&self) -> bool {
        matches!(self.place, Place::Known(location) if is_machinery(location))
    }
}

/// The lines of one physical frame, innermost first; one at least.
pub fn expand(names: &impl Names, code: LocationCode) -> impl Iterator<Item = Frame<'_>> {
    let locations = names.locations(code);
    let unknown =
        locations.is_empty().then_some(Frame { place: Place::Unknown(code), inlined: false });
    let known = |(depth, location)| Frame { place: Place::Known(location), inlined: depth > 0 };
    locations.iter().enumerate().rev().map(known).chain(unknown)
}
