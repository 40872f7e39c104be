//! The physical layout of a trace, packet by packet, for people to look at.

use std::io::Read;

use super::Error;
use super::data::Layout;
use super::packet::MARK;
use crate::framing::packet::Kind;
use crate::framing::scan::{Found, Next, Scanner};

/// Lists packets; nothing in them is decoded.
#[derive(Debug)]
pub struct Listing<R> {
    scanner: Scanner<R>,
    is_finished: bool,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFacts {
    /// Of its first byte, from the start of the file.
    pub offset: u64,
    /// Its length, with its head.
    pub len: u64,
    /// Bytes before it that belong to no packet.
    pub skipped: u64,
    /// What it is about.
    pub kind: PacketKind,
}

/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketKind {
    /// What the trace says about itself.
    Header,
    /// All that the packets up to the next one build on.
    Checkpoint,
    /// Events.
    Data(ColumnSizes),
    /// Summary and places of checkpoints.
    Index,
    /// Where the index is.
    End,
    /// Something of a later version.
    Unknown(u8),
}

/// What a data packet holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSizes {
    /// Its number.
    pub sequence: u64,
    /// Events, facts, and changes of thread and the like.
    pub steps: u64,
    /// Frames that are told.
    pub frame_count: u64,
    /// Bytes of the column of frames.
    pub frames: u64,
    /// Bytes of the column of events.
    pub events: u64,
    /// Bytes of the column of backtraces.
    pub backtraces: u64,
    /// Bytes of the column of facts.
    pub facts: u64,
}

impl<R: Read> Listing<R> {
    /// Of a trace from its beginning.
    pub fn new(input: R) -> Self {
        Self { scanner: Scanner::new(input, MARK), is_finished: false }
    }

    /// How many bytes have been looked at: at the end, all. What lies between the last packet and that
    /// is none.
    pub fn position(&self) -> u64 {
        self.scanner.offset()
    }

    fn describe(&self, found: &Found) -> PacketFacts {
        let kind = match found.kind {
            Kind::HEADER => PacketKind::Header,
            Kind::CHECKPOINT => PacketKind::Checkpoint,
            Kind::DATA => PacketKind::Data(columns(self.scanner.payload(found))),
            Kind::INDEX => PacketKind::Index,
            Kind::END => PacketKind::End,
            Kind(other) => PacketKind::Unknown(other),
        };
        PacketFacts { offset: found.offset, len: found.len(), skipped: found.skipped, kind }
    }
}

impl<R: Read> Iterator for Listing<R> {
    type Item = Result<PacketFacts, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_finished {
            return None;
        }
        match self.scanner.next() {
            Ok(Next::Packet(found)) => Some(Ok(self.describe(&found))),
            Ok(Next::End { .. }) => {
                self.is_finished = true;
                None
            }
            Err(source) => {
                self.is_finished = true;
                Some(Err(Error::Io { offset: self.scanner.offset(), source }))
            }
        }
    }
}

/// All zero if the packet makes no sense.
fn columns(payload: &[u8]) -> ColumnSizes {
    let Ok(layout) = Layout::decode(payload) else { return ColumnSizes::default() };
    let Layout { sequence, steps, frame_count, frames, events, backtraces, facts } = layout;
    ColumnSizes {
        sequence,
        steps,
        frame_count,
        frames: frames.len() as u64,
        events: events.len() as u64,
        backtraces: backtraces.len() as u64,
        facts: facts.len() as u64,
    }
}
