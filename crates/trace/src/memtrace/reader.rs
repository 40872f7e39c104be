//! The events of a trace.

use std::io::Read;

use super::cursor::Cursor;
use super::decoder::{Decoded, Decoder, Happening};
use super::error::Fault;
use super::event_codec::{self, Kind};
use super::packet::{Header, Version};
use super::packets::Packets;
use super::{Error, info};
use crate::event::{Event, Location, TraceInfo};
use crate::ids::{DomainId, LocationCode, Timestamp};

/// Reads a trace from anything that can be read; it needs no buffering of its own.
///
/// ```no_run
/// use lifetrace_trace::event::Event;
/// use lifetrace_trace::memtrace::Reader;
///
/// let mut reader = Reader::open(std::fs::File::open("program.ctf")?)?;
/// let mut samples = 0;
/// while let Some((_time, event)) = reader.next()? {
///     if let Event::Allocation(allocation) = event {
///         samples += allocation.samples;
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Damage
///
/// When the input is damaged or cut, [`next`](Self::next) first delivers every event before that
/// point and then says once what is wrong and where.
///
/// # Times
///
/// They never go back within a domain. Memtrace uses the wall clock: where that was set back between two
/// packets, events keep the latest time seen until the clock has caught up, and
/// [`clock_steps`](Self::clock_steps) counts it.
pub struct Reader<R> {
    packets: Packets<R>,
    header: Header,
    /// Position in the current packet.
    position: usize,
    decoder: Decoder,
    info: TraceInfo,
    pid: u64,
    foreign_packets: u64,
    end_time: Timestamp,
    is_finished: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the first packet, which is about the trace itself.
    ///
    /// # Errors
    ///
    /// When that is not the beginning of a trace of a version that is known.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut packets = Packets::new(input);
        let header = packets.advance()?.ok_or(Error::Empty)?;
        let mut cursor = Cursor::new(packets.bytes(), header.version.header_len());
        let info = open_info(&mut cursor, &header)
            .map_err(|fault| explain(fault, &packets, &header, header.version.header_len()))?;
        let position = cursor.position();
        let mut reader = Self {
            packets,
            position,
            decoder: Decoder::new(),
            info,
            pid: header.pid,
            foreign_packets: 0,
            end_time: header.end,
            is_finished: false,
            header,
        };
        reader.begin_packet()?;
        Ok(reader)
    }

    /// Leaves all backtraces empty, which is several times as fast where they are deep.
    pub fn without_backtraces(mut self) -> Self {
        self.decoder.skip_backtraces();
        self
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// Of the current packet; all packets of a trace have the same.
    pub fn version(&self) -> Version {
        self.header.version
    }

    /// The next event and its time, or `None` at the end.
    ///
    /// # Errors
    ///
    /// When the rest of the input can't be read; after that, there are no more events.
    #[expect(clippy::should_implement_trait, reason = "events are lent, iterators can't do that")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(Timestamp, Event<'_>)>, Error> {
        if self.is_finished {
            return Ok(None);
        }
        match self.decode_next() {
            Ok(Some((time, happening))) => Ok(Some((time, self.decoder.event(happening)))),
            outcome => {
                self.is_finished = true;
                outcome.map(|_| None)
            }
        }
    }

    /// What a frame stands for: a function first, then what was inlined into it. Empty when the trace
    /// does not tell, or has not told yet: a frame's locations come before its first use.
    pub fn locations(&self, code: LocationCode) -> &[Location] {
        self.decoder.locations(code)
    }

    /// The last allocation's backtrace, outermost frame first.
    pub fn backtrace(&self) -> &[LocationCode] {
        self.decoder.backtrace()
    }

    /// The domain in which the last event happened.
    pub fn domain(&self) -> DomainId {
        self.header.domain
    }

    /// How many bytes have been decoded.
    pub fn position(&self) -> u64 {
        let decoded = self.position.min(self.packets.bytes().len());
        self.packets.packet_start() + decoded as u64
    }

    /// The latest time that any packet so far covers, which may be later than its last event.
    pub fn end_time(&self) -> Timestamp {
        self.end_time
    }

    /// Packets passed over because another process wrote them: a child that went on tracing into its
    /// parent's file.
    pub fn foreign_packets(&self) -> u64 {
        self.foreign_packets
    }

    /// How often the clock was set back between one packet and the next.
    pub fn clock_steps(&self) -> u64 {
        self.decoder.clock_steps()
    }

    fn decode_next(&mut self) -> Result<Option<(Timestamp, Happening)>, Error> {
        loop {
            if self.position == self.packets.bytes().len() {
                if !self.next_packet()? {
                    return Ok(None);
                }
                continue;
            }
            let mut cursor = Cursor::new(self.packets.bytes(), self.position);
            match self.decoder.decode(&mut cursor, &self.header) {
                Err(fault) => {
                    return Err(explain(fault, &self.packets, &self.header, self.position));
                }
                Ok(decoded) => {
                    self.position = cursor.position();
                    if let Decoded::Event(time, happening) = decoded {
                        return Ok(Some((time, happening)));
                    }
                }
            }
        }
    }

    /// Goes on to the next packet of this process that isn't empty, if there is one.
    fn next_packet(&mut self) -> Result<bool, Error> {
        self.end_packet()?;
        loop {
            let Some(header) = self.packets.advance()? else {
                return Ok(false);
            };
            self.position = header.version.header_len();
            self.header = header;
            if self.header.pid == self.pid {
                self.begin_packet()?;
                return Ok(true);
            }
            self.foreign_packets += 1;
            self.position = self.packets.bytes().len();
            self.check_whole()?;
        }
    }

    fn begin_packet(&mut self) -> Result<(), Error> {
        let outcome = self.decoder.begin_packet(&self.header);
        outcome.map_err(|fault| fault.at(self.packets.packet_start()))?;
        self.end_time = self.end_time.max(self.header.end);
        Ok(())
    }

    fn end_packet(&self) -> Result<(), Error> {
        self.check_whole()?;
        if self.header.pid != self.pid {
            return Ok(());
        }
        let outcome = self.decoder.end_packet(&self.header);
        outcome.map_err(|fault| fault.at(self.packets.packet_start()))
    }

    fn check_whole(&self) -> Result<(), Error> {
        if is_cut(&self.packets, &self.header) { Err(cut(&self.packets)) } else { Ok(()) }
    }
}

fn open_info(cursor: &mut Cursor<'_>, header: &Header) -> Result<TraceInfo, Fault> {
    match event_codec::head(cursor, header.begin)? {
        (Kind::Info, _) => info::decode(cursor, header),
        (_, time) => Err(Fault::Unexpected { expected: "a trace info event", found: time.0 }),
    }
}

/// In a packet that is cut, running out of bytes is not the writer's fault.
fn explain<R: Read>(fault: Fault, packets: &Packets<R>, header: &Header, position: usize) -> Error {
    if fault == Fault::CutShort && is_cut(packets, header) {
        return cut(packets);
    }
    fault.at(packets.packet_start() + position as u64)
}

fn is_cut<R: Read>(packets: &Packets<R>, header: &Header) -> bool {
    packets.bytes().len() < header.len
}

fn cut<R: Read>(packets: &Packets<R>) -> Error {
    Error::Truncated { offset: packets.offset(), what: "a packet" }
}
