//! The records of a part of a data packet, when its columns have been decoded.
//!
//! A packet is decoded in pieces of bounded size, so that whoever decodes ahead of the reader holds no
//! more than a few of them, whatever the packet says.

use super::class::Kinds;
use super::events::Actor;
use crate::fact::Fact;
use crate::frame::Frame;
use crate::framing::fault::Fault;
use crate::ids::{AllocationId, LocationCode, Timestamp};

/// Steps after which a piece ends.
const MAX_STEPS: usize = 2048;

/// New frames of backtraces after which it ends; the last backtrace may bring more.
const MAX_CODES: usize = 1 << 15;

/// A part of a data packet.
#[derive(Debug)]
pub(super) struct Piece {
    /// Frames that the packet names; all of them are in its first piece.
    pub(super) frames: Vec<(LocationCode, Frame)>,
    /// What happened, in its order.
    pub(super) records: Vec<PackedRecord>,
    /// The facts among that.
    pub(super) facts: std::vec::IntoIter<Fact>,
    /// The frames of backtraces that are not those of the backtrace before, one after the other.
    pub(super) codes: Vec<LocationCode>,
    /// The latest time so far.
    pub(super) end: Timestamp,
    /// The id of the next birth.
    pub(super) next_id: AllocationId,
    /// None if more of the packet follows.
    pub(super) outcome: Option<Result<(), Fault>>,
}

/// A record as a piece has it: what is large is beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedRecord {
    pub(super) time: Timestamp,
    pub(super) actor: Actor,
    pub(super) kind: PackedKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PackedKind {
    Birth(Birth),
    Change {
        id: AllocationId,
        is_promotion: bool,
    },
    /// The next one of the piece's facts.
    Fact,
}

/// A birth. Its backtrace is the first frames of the one before, and then the next ones of the
/// piece's codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) id: AllocationId,
    pub(super) kinds: Kinds,
    pub(super) count: u64,
    pub(super) samples: u64,
    pub(super) common: u32,
    pub(super) new: u32,
}

impl Piece {
    /// Of a packet that is over.
    pub(super) fn empty(end: Timestamp, next_id: AllocationId) -> Self {
        Self {
            frames: Vec::new(),
            records: Vec::new(),
            facts: Vec::new().into_iter(),
            codes: Vec::new(),
            end,
            next_id,
            outcome: Some(Ok(())),
        }
    }
}

/// A piece that is being decoded.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) frames: Vec<(LocationCode, Frame)>,
    pub(super) records: Vec<PackedRecord>,
    pub(super) facts: Vec<Fact>,
    pub(super) codes: Vec<LocationCode>,
    /// Directives included.
    pub(super) steps: usize,
}

impl Pending {
    pub(super) fn is_full(&self) -> bool {
        self.steps >= MAX_STEPS || self.codes.len() >= MAX_CODES
    }
}
