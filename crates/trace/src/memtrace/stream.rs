//! What one domain writes: the packet being filled, and the codecs' state.
//!
//! A packet goes out before an event that might not fit, that is more than 30 s younger than the
//! packet, or for which there are no ids left; and when many frames wait for their locations. The
//! packets of the locations go before the one that uses them.

use std::io::{self, Write};
use std::ops::Range;

use super::backtrace_codec;
use super::cursor::PutFields;
use super::event_codec::{self, Kind, Shape};
use super::location_codec;
use super::new_allocation::NewAllocation;
use super::packet::{Header, MAX_PACKET, Verifier, Version};
use crate::event::Location;
use crate::ids::{AllocationId, DomainId, LocationCode, Timestamp};

/// Ids that a domain draws at a time.
pub(super) const CHUNK: u64 = 10_000;

/// Room for any event. Memtrace reserves this many bytes besides the words, and so do we, to end
/// packets where it does.
const MAX_EVENT: usize = 100 + backtrace_codec::MAX_LEN;
const _: () = assert!(event_codec::MAX_LEN <= 100);

/// Most frames that may wait for their locations to be written when an event begins.
const MAX_NEW_FRAMES: usize = 128;

/// Longest time from a packet's begin to an event in it, in microseconds: below 2^25, so that the
/// low bits of times are enough.
const MAX_SPAN: u64 = 30_000_000;

/// The slot of the first verifier, and the step to the next packet's.
const FIRST_VERIFIED: u16 = 4242;
const VERIFIED_STEP: u16 = 5413;
const VERIFIED_MASK: u16 = 0x3fff;

/// What all packets of a trace have in common.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) version: Version,
    pub(super) pid: u64,
}

/// The packets of one domain.
pub(super) struct Stream {
    origin: Origin,
    domain: DomainId,
    /// Begins with room for the header, which is filled in when the packet is written.
    packet: Vec<u8>,
    begin: Timestamp,
    /// Time of the last event.
    end: Timestamp,
    verifier: Verifier,
    next_verified: u16,
    /// Of the packet so far.
    ids: Range<u64>,
    /// Where the ids that were drawn end.
    ids_limit: u64,
    backtraces: backtrace_codec::Encoder,
    locations: location_codec::Encoder,
    new_frames: Vec<(LocationCode, Vec<Location>)>,
    /// Between events, empty.
    unlocated: Vec<LocationCode>,
}

impl Stream {
    pub(super) fn new(origin: Origin, domain: DomainId, start: Timestamp) -> Self {
        let mut packet = Vec::with_capacity(MAX_PACKET);
        packet.resize(origin.version.header_len(), 0);
        Self {
            origin,
            domain,
            packet,
            begin: start,
            end: start,
            verifier: Verifier::NONE,
            next_verified: FIRST_VERIFIED,
            ids: 0..0,
            ids_limit: 0,
            backtraces: backtrace_codec::Encoder::new(),
            locations: location_codec::Encoder::default(),
            new_frames: Vec::new(),
            unlocated: Vec::new(),
        }
    }

    pub(super) fn domain(&self) -> DomainId {
        self.domain
    }

    /// Time of the last event.
    pub(super) fn end(&self) -> Timestamp {
        self.end
    }

    pub(super) fn next_id(&self) -> u64 {
        self.ids.end
    }

    pub(super) fn is_out_of_ids(&self) -> bool {
        self.ids.end == self.ids_limit
    }

    /// Whether the packet must go before an event at `now`.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        MAX_PACKET - self.packet.len() < MAX_EVENT
            || self.new_frames.len() > MAX_NEW_FRAMES
            || now.0.saturating_sub(self.begin.0) > MAX_SPAN
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packet.len() == self.origin.version.header_len()
    }

    /// Gives the allocations that follow the ids from `first` on; the packet must be empty.
    pub(super) fn draw_ids(&mut self, first: u64) {
        debug_assert!(self.is_empty());
        self.ids = first..first;
        self.ids_limit = (first / CHUNK + 1) * CHUNK;
    }

    pub(super) fn allocation(
        &mut self,
        now: Timestamp,
        allocation: &NewAllocation<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Vec<Location>,
    ) -> AllocationId {
        let NewAllocation { length, samples, source, backtrace, common_prefix, .. } = *allocation;
        let id = self.ids.end;
        let common = self.backtraces.common_prefix(backtrace, common_prefix);
        let shape = Shape {
            length: length.0.min(i64::MAX as u64),
            samples: samples.min(i64::MAX as u64),
            source,
            common_prefix: common as u64,
        };
        let kind = shape.kind(backtrace.len() - common);
        self.put_head(kind, now);
        shape.encode(kind, &mut self.packet);
        self.put_words(kind, id, backtrace, common);
        self.ids.end += 1;
        let located = self.unlocated.drain(..).map(|code| (code, locate(code)));
        self.new_frames.extend(located);
        AllocationId(id)
    }

    pub(super) fn promotion(&mut self, now: Timestamp, id: AllocationId) {
        self.put_head(Kind::Promotion, now);
        self.put_id(id);
    }

    pub(super) fn collection(&mut self, now: Timestamp, id: AllocationId) {
        self.put_head(Kind::Collection, now);
        self.put_id(id);
    }

    /// The next event is no earlier than `now`.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.end = now.max(self.end);
        if self.is_empty() {
            self.begin = self.end;
        }
    }

    /// Writes the packet, and begins the next one at `now`.
    pub(super) fn flush(&mut self, now: Timestamp, output: &mut impl Write) -> io::Result<()> {
        self.flush_locations(output)?;
        let header = self.header(self.end, self.verifier, self.ids.clone());
        finish_packet(header, &mut self.packet, output)?;
        self.begin = now;
        self.end = now;
        self.ids.start = self.ids.end;
        self.verifier = self.backtraces.verifier(self.next_verified);
        self.next_verified = (self.next_verified + VERIFIED_STEP) & VERIFIED_MASK;
        Ok(())
    }

    fn flush_locations(&mut self, output: &mut impl Write) -> io::Result<()> {
        if self.new_frames.is_empty() {
            return Ok(());
        }
        let header = self.header(self.begin, Verifier::NONE, self.ids.start..self.ids.start);
        let mut packet = vec![0; self.origin.version.header_len()];
        for (code, locations) in std::mem::take(&mut self.new_frames) {
            if MAX_PACKET - packet.len() <= location_codec::MAX_LEN {
                finish_packet(header.clone(), &mut packet, output)?;
            }
            event_codec::put_head(Kind::Location, self.begin, &mut packet);
            self.locations.encode(code, &locations, &mut packet);
        }
        finish_packet(header, &mut packet, output)
    }

    /// A header but for the packet's length.
    fn header(&self, end: Timestamp, verifier: Verifier, ids: Range<u64>) -> Header {
        let Self { origin: Origin { version, pid }, domain, begin, .. } = *self;
        Header { version, len: 0, begin, end, pid, domain, verifier, ids }
    }

    fn put_head(&mut self, kind: Kind, now: Timestamp) {
        self.end = now;
        event_codec::put_head(kind, now, &mut self.packet);
    }

    fn put_words(&mut self, kind: Kind, date: u64, backtrace: &[LocationCode], common: usize) {
        let (packet, new) = (&mut self.packet, &mut self.unlocated);
        let count_at = packet.len();
        if kind == Kind::Allocation {
            packet.put_u16(0);
            let count = self.backtraces.encode(date, backtrace, common, packet, new);
            packet[count_at..count_at + 2].copy_from_slice(&count.to_le_bytes());
        } else {
            packet.put_u8(0);
            packet[count_at] = self.backtraces.encode(date, backtrace, common, packet, new) as u8;
        }
    }

    fn put_id(&mut self, id: AllocationId) {
        self.packet.put_vint(self.ids.end as i64 - 1 - id.0 as i64);
    }
}

/// Fills in the header and writes the packet, of which its room for a header is left.
pub(super) fn finish_packet(
    mut header: Header,
    packet: &mut Vec<u8>,
    output: &mut impl Write,
) -> io::Result<()> {
    header.len = packet.len();
    header.encode(packet);
    output.write_all(packet)?;
    packet.truncate(header.version.header_len());
    Ok(())
}
