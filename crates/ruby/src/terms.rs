//! What both sides call things.

use lifetrace_transport::message::FrameKind;
use lifetrace_transport::sources::SourceName;

/// The runtime's name, and its source's.
pub(crate) const NAME: SourceName = SourceName::new("ruby");

/// A frame of Ruby source.
pub(crate) const RUBY: FrameKind = FrameKind(0);

/// A method that is written in C.
pub(crate) const NATIVE: FrameKind = FrameKind(1);

/// An object's class.
pub(crate) const CLASS: FrameKind = FrameKind(2);

/// The program has begun to use ractors.
pub(crate) const RACTORS: &[u8] = b"ruby-ractors";

/// The machine lacks something that sampling needs.
pub(crate) const UNKNOWN: &[u8] = b"ruby-unknown";
