//! One event at a time, with the state that lives as long as the trace.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::MAX_DOMAINS;
use super::backtrace_codec::{self, skip_words};
use super::cursor::Cursor;
use super::error::Fault;
use super::event_codec::{self, Kind, Shape};
use super::location_codec;
use super::packet::{Header, MAX_ID};
use crate::event::{Allocation, Event, Location};
use crate::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};

/// What one trace's packets have told so far.
pub(super) struct Decoder {
    with_backtraces: bool,
    domains: Vec<Domain>,
    /// Index of the domain that wrote the current packet.
    current: usize,
    /// Index of the domain that wrote the previous allocation.
    last_allocating: Option<usize>,
    next_id: u64,
    clock_steps: u64,
    locations: FxHashMap<LocationCode, Box<[Location]>>,
}

/// One domain's codecs.
struct Domain {
    id: DomainId,
    /// Created with the first backtrace, since it is large.
    backtraces: Option<backtrace_codec::Decoder>,
    locations: location_codec::Decoder,
    /// The writer's clock when it was last read.
    clock: Timestamp,
    /// Time of the last event that was delivered.
    last_time: Timestamp,
}

/// What was read.
pub(super) enum Decoded {
    /// For the decoder itself.
    Locations,
    /// For the reader's user; [`Decoder::event`] makes it whole.
    Event(Timestamp, Happening),
}

/// An event without the backtrace, which the decoder keeps.
pub(super) enum Happening {
    Allocation(Shape, AllocationId),
    Promotion(AllocationId),
    Collection(AllocationId),
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            with_backtraces: true,
            domains: Vec::new(),
            current: 0,
            last_allocating: None,
            next_id: 0,
            clock_steps: 0,
            locations: FxHashMap::default(),
        }
    }

    pub(super) fn skip_backtraces(&mut self) {
        self.with_backtraces = false;
    }

    pub(super) fn clock_steps(&self) -> u64 {
        self.clock_steps
    }

    pub(super) fn locations(&self, code: LocationCode) -> &[Location] {
        self.locations.get(&code).map(|locations| &**locations).unwrap_or_default()
    }

    /// Turns to a packet's events.
    pub(super) fn begin_packet(&mut self, header: &Header) -> Result<(), Fault> {
        self.current = self.find_domain(header.domain)?;
        self.next_id = header.ids.start;
        let domain = &mut self.domains[self.current];
        self.clock_steps += u64::from(header.begin < domain.clock);
        domain.clock = header.begin;
        if let Some(backtraces) = &domain.backtraces
            && !backtraces.agrees_with(header.verifier)
        {
            let expected = "the frame that this reader's cache has too (it has drifted)";
            return Err(Fault::Unexpected { expected, found: header.verifier.code });
        }
        Ok(())
    }

    /// Checks what can be said only after a packet's last event.
    pub(super) fn end_packet(&self, header: &Header) -> Result<(), Fault> {
        if self.next_id == header.ids.end {
            return Ok(());
        }
        let expected = "as many allocations as the packet has ids for";
        Err(Fault::Unexpected { expected, found: self.next_id - header.ids.start })
    }

    pub(super) fn decode(
        &mut self,
        cursor: &mut Cursor<'_>,
        header: &Header,
    ) -> Result<Decoded, Fault> {
        let (kind, time) = event_codec::head(cursor, header.begin)?;
        let clock = &mut self.domains[self.current].clock;
        if time < *clock || time > header.end {
            let expected = "a time after the previous event's and within the packet's";
            return Err(Fault::Unexpected { expected, found: time.0 });
        }
        *clock = time;
        let happening = match kind {
            Kind::Info => {
                let expected = "an event other than a second trace info";
                return Err(Fault::Unexpected { expected, found: 0 });
            }
            Kind::Location => {
                self.decode_locations(cursor)?;
                return Ok(Decoded::Locations);
            }
            Kind::Allocation | Kind::ShortAllocation(_) => {
                self.decode_allocation(kind, cursor, header)?
            }
            Kind::Promotion => Happening::Promotion(self.decode_id(cursor)?),
            Kind::Collection => Happening::Collection(self.decode_id(cursor)?),
        };
        let last_time = &mut self.domains[self.current].last_time;
        *last_time = time.max(*last_time);
        Ok(Decoded::Event(*last_time, happening))
    }

    /// The event that was decoded last.
    pub(super) fn event(&self, happening: Happening) -> Event<'_> {
        match happening {
            Happening::Promotion(id) => Event::Promotion(id),
            Happening::Collection(id) => Event::Collection(id),
            Happening::Allocation(shape, id) => Event::Allocation(Allocation {
                id,
                length: Words(shape.length),
                samples: shape.samples,
                source: shape.source,
                domain: self.domains[self.current].id,
                backtrace: self.backtrace(),
                common_prefix: shape.common_prefix as usize,
            }),
        }
    }

    /// The last allocation's.
    pub(super) fn backtrace(&self) -> &[LocationCode] {
        let domain = self.last_allocating.map(|index| &self.domains[index]);
        let backtraces = domain.and_then(|domain| domain.backtraces.as_ref());
        backtraces.map(|it| it.backtrace()).unwrap_or_default()
    }

    fn find_domain(&mut self, id: DomainId) -> Result<usize, Fault> {
        if let Some(found) = self.domains.iter().position(|domain| domain.id == id) {
            return Ok(found);
        }
        if self.domains.len() == MAX_DOMAINS {
            return Err(Fault::TooManyDomains);
        }
        self.domains.push(Domain {
            id,
            backtraces: None,
            locations: location_codec::Decoder::default(),
            clock: Timestamp(0),
            last_time: Timestamp(0),
        });
        Ok(self.domains.len() - 1)
    }

    fn decode_locations(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let (code, locations) = self.domains[self.current].locations.decode(cursor)?;
        match self.locations.entry(code) {
            Entry::Vacant(entry) => {
                entry.insert(locations);
                return Ok(());
            }
            Entry::Occupied(known) if *known.get() == locations => return Ok(()),
            Entry::Occupied(_) => {}
        }
        let expected = "the same locations as before for a frame that was evicted from the cache";
        Err(Fault::Unexpected { expected, found: code.0 })
    }

    /// The shape's common prefix becomes that with the previous allocation that was delivered.
    fn decode_allocation(
        &mut self,
        kind: Kind,
        cursor: &mut Cursor<'_>,
        header: &Header,
    ) -> Result<Happening, Fault> {
        let id = AllocationId(self.next_id);
        if self.next_id == header.ids.end {
            let expected = "no more allocations than the packet has ids for";
            return Err(Fault::Unexpected { expected, found: self.next_id });
        }
        let (mut shape, words) = Shape::decode(kind, cursor)?;
        let common = self.decode_backtrace(cursor, shape.common_prefix, words)?;
        let same_domain = self.last_allocating == Some(self.current);
        shape.common_prefix = if same_domain { common as u64 } else { 0 };
        self.last_allocating = Some(self.current);
        self.next_id += 1;
        Ok(Happening::Allocation(shape, id))
    }

    fn decode_backtrace(
        &mut self,
        cursor: &mut Cursor<'_>,
        common: u64,
        words: u16,
    ) -> Result<usize, Fault> {
        if !self.with_backtraces {
            return skip_words(cursor, words).map(|()| 0);
        }
        let backtraces = &mut self.domains[self.current].backtraces;
        backtraces.get_or_insert_with(backtrace_codec::Decoder::new).decode(cursor, common, words)
    }

    /// Ids are written as the distance from the last allocation's; it is negative where the block was
    /// allocated by another domain.
    fn decode_id(&mut self, cursor: &mut Cursor<'_>) -> Result<AllocationId, Fault> {
        let distance = cursor.vint()?;
        let id = (self.next_id as i64 - 1).checked_sub(distance);
        let id = id.and_then(|id| u64::try_from(id).ok()).filter(|id| *id < MAX_ID);
        let expected = "the distance to an allocation";
        id.map(AllocationId).ok_or(Fault::Unexpected { expected, found: distance as u64 })
    }
}
