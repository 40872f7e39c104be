//! The end of a trace: a summary, where the checkpoints are, what is so of all of it, and where all
//! that is.

use std::io::{Read, Seek, SeekFrom};

use super::closing::Closing;
use super::packet::MARK;
use crate::framing::fault::Fault;
use crate::framing::packet::{self, HEAD, Kind};
use crate::framing::varint::{Plain, PutPlain};
use crate::ids::Timestamp;

/// What a trace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Births.
    pub allocations: u64,
    /// Samples of all births.
    pub samples: u64,
    /// Promotions.
    pub promotions: u64,
    /// Deaths.
    pub collections: u64,
    /// Facts.
    pub facts: u64,
    /// Frames that were told, anew after each checkpoint.
    pub frames: u64,
    /// Microseconds from the trace's start to its end.
    pub duration: u64,
    /// Checkpoints and data packets.
    pub packets: u64,
}

/// A checkpoint's position: where decoding can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPosition {
    /// Of the checkpoint, in bytes from the start of the file.
    pub offset: u64,
    /// Time of the last event before it.
    pub time: Timestamp,
}

/// What is known of a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Counts.
    pub summary: Summary,
    /// In the order of the file.
    pub checkpoints: Vec<CheckpointPosition>,
    /// `None` before version 2.1, and where there is too much of it: then it must be read.
    pub closing: Option<Closing>,
}

/// Length of the last packet.
const END_LEN: u64 = HEAD as u64 + 8;

impl Summary {
    fn fields(&mut self) -> [&mut u64; 8] {
        let Self {
            allocations,
            samples,
            promotions,
            collections,
            facts,
            frames,
            duration,
            packets,
        } = self;
        [allocations, samples, promotions, collections, facts, frames, duration, packets]
    }
}

impl Index {
    /// Reads it from the end of a trace, without reading the rest. None if the trace was not finished,
    /// or its end is damaged: then a [`Reader`](super::Reader) finds out what is in it.
    ///
    /// # Errors
    /// The input's.
    pub fn read<R: Read + Seek>(input: &mut R) -> std::io::Result<Option<Self>> {
        let len = input.seek(SeekFrom::End(0))?;
        let Some(end) = len.checked_sub(END_LEN) else { return Ok(None) };
        let Some(payload) = read_packet(input, end, Kind::END, END_LEN)? else { return Ok(None) };
        let Ok(offset) = Plain(&payload).u64() else { return Ok(None) };
        if offset >= end {
            return Ok(None);
        }
        let payload = read_packet(input, offset, Kind::INDEX, end - offset)?;
        Ok(payload.and_then(|payload| Self::decode(&payload).ok()))
    }

    /// Length of the end of a trace with so many checkpoints, without what is so of all of it, or a
    /// little more.
    pub(super) fn longest(checkpoints: usize) -> u64 {
        const VARINT: u64 = 10;
        const FIELDS: u64 = 9;
        HEAD as u64 + END_LEN + VARINT * (FIELDS + 2 * checkpoints as u64)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut summary = self.summary;
        summary.fields().into_iter().for_each(|field| payload.put_varint(*field));
        payload.put_varint(self.checkpoints.len() as u64);
        let (mut offset, mut time) = (0, 0);
        for place in &self.checkpoints {
            payload.put_varint(place.offset - offset);
            payload.put_signed(place.time.0.wrapping_sub(time) as i64);
            (offset, time) = (place.offset, place.time.0);
        }
        if let Some(closing) = &self.closing {
            closing.encode(&mut payload);
        }
        payload
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, Fault> {
        let mut plain = Plain(payload);
        let mut index = Self::default();
        for field in index.summary.fields() {
            *field = plain.varint()?;
        }
        let count = plain.varint()?;
        let (mut offset, mut time) = (0u64, 0u64);
        for _ in 0..count {
            let further = offset.checked_add(plain.varint()?);
            offset = further.ok_or(Fault::Unexpected("the place of a checkpoint"))?;
            time = time.wrapping_add(plain.signed()? as u64);
            index.checkpoints.push(CheckpointPosition { offset, time: Timestamp(time) });
        }
        if !plain.0.is_empty() {
            index.closing = Some(Closing::decode(&mut plain)?);
        }
        Ok(index)
    }
}

/// The payload of the packet at `offset`, if there is one of that kind and at most that length.
fn read_packet<R: Read + Seek>(
    input: &mut R,
    offset: u64,
    kind: Kind,
    max: u64,
) -> std::io::Result<Option<Vec<u8>>> {
    input.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    input.by_ref().take(max.min((HEAD + packet::MAX_PAYLOAD) as u64)).read_to_end(&mut bytes)?;
    let head = bytes.first_chunk().and_then(|head| MARK.head(head));
    let Some((found, len)) = head else { return Ok(None) };
    if found != kind || bytes.len() < HEAD + len {
        return Ok(None);
    }
    bytes.truncate(HEAD + len);
    Ok(packet::is_intact(&bytes).then(|| bytes.split_off(HEAD)))
}

/// The last packet's payload.
pub(super) fn end_payload(index_offset: u64) -> [u8; 8] {
    index_offset.to_le_bytes()
}
