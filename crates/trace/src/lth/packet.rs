//! How packets of a snapshot begin, and what they are about.

use crate::framing::packet::{Kind, Mark};

/// Not that of traces: nobody shall read one as the other.
pub(super) const MARK: Mark = Mark([0xf5, b'L', b'H', 0x1a]);

/// What the snapshot says about itself; the first packet, and once more the second.
pub(super) const HEADER: Kind = Kind(1);
/// Kinds of blocks.
pub(super) const KINDS: Kind = Kind(2);
/// What holds blocks.
pub(super) const ROOTS: Kind = Kind(3);
/// Blocks with what they refer to.
pub(super) const BLOCKS: Kind = Kind(4);
/// Backtraces.
pub(super) const SITES: Kind = Kind(5);
/// Which blocks were sampled at their birth.
pub(super) const SAMPLES: Kind = Kind(6);
/// How it went; the last packet of a snapshot that was finished.
pub(super) const END: Kind = Kind(7);
