//! Packet headers. See the table in `docs/format-memtrace.md`.

use std::fmt;
use std::ops::Range;

use super::cursor::{Cursor, PutFields};
use super::error::Fault;
use crate::ids::{DomainId, Timestamp};

/// First four bytes of every packet.
pub(super) const MAGIC: u32 = 0xc1fc_1fc1;

/// Longest packet, header included, in bytes.
pub const MAX_PACKET: usize = 32 * 1024;

/// Bytes of a header up to and with the version, which says how long the rest is.
pub(super) const HEADER_START: usize = 30;

/// Object ids and codes come from 63-bit integers, of which ids use the positive half.
pub(super) const MAX_ID: u64 = 1 << 62;

/// A version of the format. The default is the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Without the context string.
    V1,
    /// With the context string.
    V2,
    /// With the domain in each header.
    #[default]
    V3,
}

impl Version {
    /// As headers have it.
    pub fn number(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The version of this number, if there is one.
    pub fn from_number(number: u16) -> Option<Self> {
        [Self::V1, Self::V2, Self::V3].into_iter().find(|version| version.number() == number)
    }

    pub(super) fn has_context(self) -> bool {
        self >= Self::V2
    }

    pub(super) fn has_domains(self) -> bool {
        self >= Self::V3
    }

    /// Length of a header, in bytes.
    pub(super) fn header_len(self) -> usize {
        if self.has_domains() { 68 } else { 66 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// One slot of the writer's frame cache, as it was when the packet was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verifier {
    pub(super) slot: u16,
    pub(super) next: u16,
    pub(super) code: u64,
}

impl Verifier {
    /// In packets that say nothing about the cache.
    pub(super) const NONE: Self = Self { slot: 0xffff, next: 0, code: 0 };
}

/// What a packet says about its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: Version,
    /// Length of the packet with its header, in bytes.
    pub(super) len: usize,
    pub(super) begin: Timestamp,
    pub(super) end: Timestamp,
    pub(super) pid: u64,
    pub(super) domain: DomainId,
    pub(super) verifier: Verifier,
    /// Ids of the packet's allocations.
    pub(super) ids: Range<u64>,
}

impl Header {
    /// Reads a header whose magic and version have been looked at.
    pub(super) fn decode(version: Version, bytes: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, 4);
        let bits = cursor.u32()?;
        let begin = cursor.u64().map(Timestamp)?;
        let end = cursor.u64().map(Timestamp)?;
        cursor.skip(HEADER_START - 24)?;
        let header = Self {
            version,
            len: bits as usize / 8,
            begin,
            end,
            pid: cursor.u64()?,
            domain: DomainId(if version.has_domains() { cursor.u16()? } else { 0 }),
            verifier: Verifier { slot: cursor.u16()?, next: cursor.u16()?, code: cursor.u64()? },
            ids: cursor.u64()?..cursor.u64()?,
        };
        header.check(bits)?;
        Ok(header)
    }

    fn check(&self, bits: u32) -> Result<(), Fault> {
        let unexpected = |expected, found| Err(Fault::Unexpected { expected, found });
        if !bits.is_multiple_of(8) {
            return unexpected("a packet length of whole bytes, in bits", bits.into());
        }
        if self.len < self.version.header_len() || self.len > MAX_PACKET {
            return unexpected("a packet length from its header's to 32768 bytes", self.len as u64);
        }
        if self.begin > self.end {
            return unexpected("a packet that ends no earlier than it begins", self.end.0);
        }
        if self.ids.start > self.ids.end || self.ids.end > MAX_ID {
            return unexpected("allocation ids in ascending order", self.ids.end);
        }
        Ok(())
    }

    /// Writes the header over the first bytes of its packet.
    pub(super) fn encode(&self, packet: &mut [u8]) {
        let mut bytes = Vec::with_capacity(self.version.header_len());
        bytes.put_u32(MAGIC);
        bytes.put_u32(self.len as u32 * 8);
        bytes.put_u64(self.begin.0);
        bytes.put_u64(self.end.0);
        bytes.put_u32(0); // How long the flush took: no writer measures it.
        bytes.put_u16(self.version.number());
        bytes.put_u64(self.pid);
        if self.version.has_domains() {
            bytes.put_u16(self.domain.0);
        }
        bytes.put_u16(self.verifier.slot);
        bytes.put_u16(self.verifier.next);
        bytes.put_u64(self.verifier.code);
        bytes.put_u64(self.ids.start);
        bytes.put_u64(self.ids.end);
        packet[..bytes.len()].copy_from_slice(&bytes);
    }
}
