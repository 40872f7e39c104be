//! All that the packets after a checkpoint build on: its payload.
//!
//! ```text
//! varints   number of the packet, time, next id, thread, domain, living blocks
//! coded     for each living block, oldest first: distance of its id from the one before, young?
//! ```

use super::coder::{Coder, Encoder, Paused};
use super::events::{Actor, Events};
use super::live::CAPACITY;
use super::number::Number;
use super::probability::Probability;
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};
use crate::ids::{AllocationId, Timestamp};

/// What is so at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// Checkpoints and data packets are numbered from 0.
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    pub(super) next_id: AllocationId,
    pub(super) actor: Actor,
    /// Oldest first, and whether they are young.
    pub(super) living: Vec<(AllocationId, bool)>,
}

/// Codes of living blocks.
struct Models {
    distance: Number,
    young: [Probability; 2],
}

impl Models {
    fn new() -> Self {
        Self { distance: Number::mostly_zero(2), young: [Probability::EVEN; 2] }
    }

    fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        last: (AllocationId, bool),
        block: (AllocationId, bool),
    ) -> (AllocationId, bool) {
        let expected = last.0.0.wrapping_add(1);
        let distance = block.0.0.wrapping_sub(expected) as i64;
        let distance = self.distance.code_signed(coder, distance);
        let young = self.young[usize::from(last.1)].code(coder, block.1);
        (AllocationId(expected.wrapping_add(distance as u64)), young)
    }
}

const BEFORE_FIRST: (AllocationId, bool) = (AllocationId(u64::MAX), false);

impl Checkpoint {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        for field in [
            self.sequence,
            self.time.0,
            self.next_id.0,
            self.actor.thread.into(),
            self.actor.domain.into(),
            self.living.len() as u64,
        ] {
            payload.put_varint(field);
        }
        let (mut encoder, mut models) = (Encoder::new(), Models::new());
        let mut last = BEFORE_FIRST;
        for &block in &self.living {
            last = models.code(&mut encoder, last, block);
        }
        payload.extend(encoder.finish());
        payload
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, Fault> {
        let mut plain = Plain(payload);
        let sequence = plain.varint()?;
        let time = Timestamp(plain.varint()?);
        let next_id = AllocationId(plain.varint()?);
        let actor = Actor { thread: plain.small()?, domain: plain.small()? };
        let count: usize = plain.small()?;
        if count > CAPACITY {
            return Err(Fault::Unexpected("fewer living blocks"));
        }
        let mut decoder = Paused::start(plain.0).resume(plain.0);
        let (mut models, mut last) = (Models::new(), BEFORE_FIRST);
        let blocks = (0..count).map(|_| {
            last = models.code(&mut decoder, last, BEFORE_FIRST);
            last
        });
        let living = blocks.collect();
        Ok(Self { sequence, time, next_id, actor, living })
    }

    /// What events after it are understood by.
    pub(super) fn events(&self, is_writer: bool) -> Events {
        Events::new(self.next_id, self.actor, self.living.iter().copied(), is_writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_so_is_read() {
        let ids = [0, 1, 2, 77, 5, 1 << 61];
        let living = ids.map(|id| (AllocationId(id), id % 2 == 1)).to_vec();
        let checkpoint = Checkpoint {
            sequence: 3,
            time: Timestamp(1 << 50),
            next_id: AllocationId(100),
            actor: Actor { thread: u32::MAX, domain: 9 },
            living,
        };
        let payload = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&payload), Ok(checkpoint));
        assert_eq!(Checkpoint::decode(&payload[..3]), Err(Fault::CutShort));
    }
}
