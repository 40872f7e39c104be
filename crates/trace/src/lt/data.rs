//! The layout of a data packet's payload.
//!
//! ```text
//! varints   number of the packet, steps, frames, lengths of the first three columns
//! columns   frames | events | backtraces | facts
//! ```
//!
//! Each column is a stream of its own, so that a reader who wants no backtraces skips them. A stream
//! may have zeros after its end. Writers add them so that no column says much more than its length
//! allows: a reader need not believe in more work, or more memory, than a multiple of the file's size.

use std::ops::Range;

use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Most steps of a packet.
pub(super) const MAX_STEPS: u64 = 1 << 16;

/// Most frames that are told between two checkpoints.
pub(super) const MAX_FRAMES: usize = 1 << 20;

/// What a column of so many bytes may say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    per_byte: usize,
    always: usize,
}

/// Steps in the column of events.
pub(super) const STEPS: Allowance = Allowance { per_byte: 64, always: 64 };

/// New frames in the column of backtraces.
pub(super) const PUSHED: Allowance = Allowance { per_byte: 256, always: 4096 };

/// Bytes of names in the column of frames; a frame or a location counts as 16.
pub(super) const TOLD: Allowance = Allowance { per_byte: 256, always: 4096 };

/// Bytes of facts in the column of facts.
pub(super) const FACTS: Allowance = Allowance { per_byte: 256, always: 4096 };

impl Allowance {
    /// What may be said in so many bytes.
    pub(super) fn of(self, len: usize) -> usize {
        self.always.saturating_add(len.saturating_mul(self.per_byte))
    }

    /// How long a column must be for what it says.
    pub(super) fn needed(self, said: usize) -> usize {
        said.saturating_sub(self.always).div_ceil(self.per_byte)
    }

    /// Makes a column long enough for what it says.
    pub(super) fn pad(self, column: &mut Vec<u8>, said: usize) {
        let needed = self.needed(said);
        if column.len() < needed {
            column.resize(needed, 0);
        }
    }
}

/// A data packet as it is written.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) frames: Vec<u8>,
    pub(super) events: Vec<u8>,
    pub(super) backtraces: Vec<u8>,
    pub(super) facts: Vec<u8>,
}

/// Where everything is in a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Checkpoints and data packets are numbered from 0.
    pub(super) sequence: u64,
    /// Steps in the column of events.
    pub(super) steps: u64,
    /// Frames in the column of frames.
    pub(super) frame_count: u64,
    /// Bytes of the column of frames, from the start of the payload; so with the others.
    pub(super) frames: Range<usize>,
    /// The column of events.
    pub(super) events: Range<usize>,
    /// The column of backtraces.
    pub(super) backtraces: Range<usize>,
    /// The column of facts.
    pub(super) facts: Range<usize>,
}

impl Columns {
    pub(super) fn encode(&self, sequence: u64, steps: u64, frame_count: u64) -> Vec<u8> {
        let mut payload = Vec::new();
        for field in [sequence, steps, frame_count] {
            payload.put_varint(field);
        }
        for column in [&self.frames, &self.events, &self.backtraces] {
            payload.put_varint(column.len() as u64);
        }
        for column in [&self.frames, &self.events, &self.backtraces, &self.facts] {
            payload.extend_from_slice(column);
        }
        payload
    }
}

impl Layout {
    pub(super) fn decode(payload: &[u8]) -> Result<Self, Fault> {
        let mut plain = Plain(payload);
        let (sequence, steps, frame_count) = (plain.varint()?, plain.varint()?, plain.varint()?);
        let mut lengths = [0; 3];
        for length in &mut lengths {
            *length = plain.small()?;
        }
        let mut end = payload.len() - plain.0.len();
        let mut take = |length: usize| {
            let start = end;
            plain.take(length)?;
            end += length;
            Ok(start..end)
        };
        let (frames, events) = (take(lengths[0])?, take(lengths[1])?);
        let backtraces = take(lengths[2])?;
        let facts = backtraces.end..payload.len();
        if steps > MAX_STEPS || steps > STEPS.of(events.len()) as u64 {
            return Err(Fault::Unexpected("fewer steps in so few bytes"));
        }
        Ok(Self { sequence, steps, frame_count, frames, events, backtraces, facts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found() {
        let columns = Columns {
            frames: vec![1; 3],
            events: vec![2; 200],
            backtraces: Vec::new(),
            facts: vec![4],
        };
        let payload = columns.encode(300, 17, 2);
        let layout = Layout::decode(&payload).unwrap();
        assert_eq!((layout.sequence, layout.steps, layout.frame_count), (300, 17, 2));
        assert_eq!(payload[layout.frames], [1; 3]);
        assert_eq!(payload[layout.events], [2; 200]);
        assert!(layout.backtraces.is_empty());
        assert_eq!(payload[layout.facts], [4]);
        assert_eq!(Layout::decode(&payload[..100]), Err(Fault::CutShort));
    }

    #[test]
    fn much_cannot_be_said_in_few_bytes() {
        let mut events = vec![0; 2];
        let payload = Columns { events: events.clone(), ..Columns::default() }.encode(0, 400, 0);
        assert!(Layout::decode(&payload).is_err());
        STEPS.pad(&mut events, 400);
        let payload = Columns { events, ..Columns::default() }.encode(0, 400, 0);
        assert!(Layout::decode(&payload).is_ok());
    }
}
