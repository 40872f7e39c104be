//! How packets of a trace begin, and what they are about.

use crate::framing::packet::{Kind, Mark};

/// UTF-8 has no byte f5; 1a ends a text file.
pub(super) const MARK: Mark = Mark([0xf5, b'L', b'T', 0x1a]);

impl Kind {
    /// What the trace says about itself; the first packet, and once more the second.
    pub(super) const HEADER: Self = Self(1);
    /// All that the packets up to the next one build on.
    pub(super) const CHECKPOINT: Self = Self(2);
    /// Events.
    pub(super) const DATA: Self = Self(3);
    /// Summary, and where the checkpoints are.
    pub(super) const INDEX: Self = Self(4);
    /// Where the index is; the last packet of a trace that was finished.
    pub(super) const END: Self = Self(5);
}
