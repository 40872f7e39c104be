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

/// The kernel does not let the machine's code be changed, so that its start is not seen.
pub(crate) const UNWATCHED: &[u8] = b"ruby-unwatched";

/// Garbage was collected where we did not see it.
pub(crate) const HIDDEN_COLLECTIONS: &[u8] = b"ruby-collections-hidden";

/// The machine lacks something that sampling needs.
pub(crate) const UNKNOWN: &[u8] = b"ruby-unknown";

/// A snapshot that nobody asks for could not be taken: the machine does not export what the walk needs.
pub(crate) const NO_SNAPSHOT_WALK: &[u8] = b"ruby-snapshot-without-walk";

/// A snapshot that nobody asks for could not be taken: the system has refused to fork.
pub(crate) const NO_SNAPSHOT_CHILD: &[u8] = b"ruby-snapshot-without-child";

/// A snapshot that nobody asks for could not be taken: parts of the program run at the same time.
pub(crate) const SNAPSHOT_WITH_RACTORS: &[u8] = b"ruby-snapshot-with-ractors";
