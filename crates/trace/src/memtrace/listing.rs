//! The physical layout of a trace, packet by packet, for people to look at.

use std::io::Read;
use std::ops::Range;

use super::Error;
use super::packet::{Header, Version};
use super::packets::Packets;
use crate::ids::{DomainId, Timestamp};

/// Lists packets; nothing but their headers is decoded.
pub struct Listing<R> {
    packets: Packets<R>,
    is_finished: bool,
}

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFacts {
    /// Of its first byte, from the start of the file.
    pub offset: u64,
    /// Its length, with its header.
    pub len: u64,
    /// Of its format.
    pub version: Version,
    /// When it was begun.
    pub begin: Timestamp,
    /// When it was written.
    pub end: Timestamp,
    /// Who wrote it.
    pub pid: u64,
    /// Whose events are in it.
    pub domain: DomainId,
    /// Ids of the allocations in it.
    pub ids: Range<u64>,
}

impl<R: Read> Listing<R> {
    /// Of a trace from its beginning.
    pub fn new(input: R) -> Self {
        Self { packets: Packets::new(input), is_finished: false }
    }

    /// A packet that is cut is none.
    fn packet(&mut self) -> Result<Option<PacketFacts>, Error> {
        let Some(header) = self.packets.advance()? else { return Ok(None) };
        let Header { version, len, begin, end, pid, domain, ids, .. } = header;
        if self.packets.bytes().len() < len {
            return Err(Error::Truncated { offset: self.packets.offset(), what: "a packet" });
        }
        let (offset, len) = (self.packets.packet_start(), len as u64);
        Ok(Some(PacketFacts { offset, len, version, begin, end, pid, domain, ids }))
    }
}

impl<R: Read> Iterator for Listing<R> {
    type Item = Result<PacketFacts, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_finished {
            return None;
        }
        let packet = self.packet().transpose();
        self.is_finished = !matches!(packet, Some(Ok(_)));
        packet
    }
}
