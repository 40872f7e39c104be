//! What both sides call things.

use lifetrace_transport::sources::SourceName;

/// The runtime's name.
pub(crate) const NAME: SourceName = SourceName::new("python");

/// Of this version it is not known where it has its frames.
pub(crate) const UNKNOWN: &[u8] = b"python-unknown";

/// Its small objects, which it has in arenas of its own, are not heard.
pub(crate) const SMALL_UNHEARD: &[u8] = b"python-small-unheard";

/// Several of its threads run Python at once: their frames are not read.
pub(crate) const FREE_THREADED: &[u8] = b"python-free-threaded";
