//! Reads `.lt` traces, as much of them as there is.

use std::io::Read;
use std::num::NonZero;

use super::Version;
use super::damages::Damages;
use super::error::{Cause, Damage, Error};
use super::events::Actor;
use super::header;
use super::index::{CheckpointPosition, Index, Summary};
use super::names::Names;
use super::packets::{Content, Data, Packet, Packets, Source, Start};
use super::piece::{Birth, PackedKind, Piece};
use crate::event::{Allocation, Event, Location, TraceInfo};
use crate::fact::Fact;
use crate::frame::Frame;
use crate::framing::fault::Fault;
use crate::ids::{AllocationId, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp};
use crate::memtrace::Lookalike;

/// Something that a trace tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// In the life of a sampled block.
    Event(Event<'a>),
    /// Beside these.
    Fact(Fact),
}

/// What is known of a birth beyond [`Allocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BirthDetails {
    /// The block's size, in the unit in which it is known exactly.
    pub size: Size,
    /// Who sampled it.
    pub sampler: SamplerId,
    /// Whether these are bytes that were added to a block.
    pub is_growth: bool,
    /// Whether outermost frames are missing.
    pub is_truncated: bool,
}

/// Reads a trace from anything that can be read; it needs no buffering of its own.
///
/// ```no_run
/// use lifetrace_trace::event::Event;
/// use lifetrace_trace::lt::{Item, Reader};
///
/// let mut reader = Reader::open(std::fs::File::open("program.lt")?)?;
/// let mut samples = 0;
/// while let Some((_time, item)) = reader.next()? {
///     if let Item::Event(Event::Allocation(allocation)) = item {
///         samples += allocation.samples;
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Damage
///
/// Damage is no error: what can't be read is left out, up to the next checkpoint, and
/// [`damages`](Self::damages) tells what that was. A trace that was not finished, since the recorder
/// was killed, is [not complete](Self::is_complete).
///
/// # A trace that is being written
///
/// An input that says that it would block can be asked again: the reader goes on where it was.
///
/// # Times
///
/// They never go back, but for traces that were converted from Memtrace's and have several domains. A trace that goes on where
/// another one ends begins with births of before its start.
pub struct Reader<R> {
    packets: Packets<R>,
    info: TraceInfo,
    version: Version,
    names: Names,
    /// None where the state that the next packet builds on was lost.
    segment: Option<Source>,
    /// The part of a data packet that is being read.
    piece: Piece,
    /// How many of its records, and of its backtraces' frames, have been read.
    records: usize,
    codes: usize,
    /// Where the current packet begins and how long it is.
    place: (u64, u64),
    /// Number of the next checkpoint or data packet.
    sequence: u64,
    end: Timestamp,
    actor: Actor,
    /// The last backtrace as it was delivered.
    backtrace: Vec<LocationCode>,
    last_birth: Option<BirthDetails>,
    damages: Damages,
    passed: Passed,
    index: Option<Index>,
    is_complete: bool,
    is_finished: bool,
}

/// What a reader has come past, to be compared with what an index says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Checkpoints that could be read, in the order of the file.
    pub checkpoints: Vec<CheckpointPosition>,
    /// Checkpoints and data packets, whether they could be read or not.
    pub packets: u64,
    /// Frames in the data packets that could be read.
    pub frames: u64,
}

impl<R: Read> Reader<R> {
    /// Reads what the trace says about itself.
    ///
    /// # Errors
    ///
    /// When that is nowhere to be found, or of a version that is not known.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut packets = Packets::new(input);
        let beginning = packets.beginning()?;
        if beginning.is_empty() {
            return Err(Error::Empty);
        }
        let lookalike = Lookalike::guess(&beginning[..beginning.len().min(512)]);
        let mut damages = Damages::default();
        let (place, payload) = loop {
            let packet = packets.next()?;
            note_gap(&packet, &mut damages);
            match packet.content {
                Content::Header(payload) => break ((packet.offset, packet.len), payload),
                Content::Nothing => return Err(Error::NotATrace(lookalike)),
                _ => {}
            }
        };
        let (info, version) = match header::decode(&payload) {
            Ok(outcome) => outcome?,
            Err(_) => return Err(Error::NotATrace(lookalike)),
        };
        packets.set_major(version.major);
        let (start, domain) = (info.start_time, info.initial_domain.0);
        Ok(Self {
            packets,
            info,
            version,
            names: Names::new(),
            segment: None,
            piece: Piece::empty(start, AllocationId(0)),
            records: 0,
            codes: 0,
            place,
            sequence: 0,
            end: start,
            actor: Actor { thread: 0, domain },
            backtrace: Vec::new(),
            last_birth: None,
            damages,
            passed: Passed::default(),
            index: None,
            is_complete: false,
            is_finished: false,
        })
    }

    /// Leaves all backtraces empty, which is several times as fast. To be called before
    /// [`next`](Self::next).
    pub fn without_backtraces(mut self) -> Self {
        self.packets.skip_backtraces();
        self
    }

    /// Decodes ahead, in so many threads, what is told between two checkpoints, if the system has the
    /// threads. Nothing else changes but that the input is read up to some megabytes further than what
    /// has been told: not for one that comes slowly. To be called before [`next`](Self::next).
    pub fn ahead(mut self, threads: NonZero<usize>) -> Self {
        self.packets.decode_ahead(threads);
        self
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The format's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What comes next and its time, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Only the input's; after one, there is nothing more, but [for now](Error::is_for_now).
    #[expect(clippy::should_implement_trait, reason = "events are lent, iterators can't do that")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(Timestamp, Item<'_>)>, Error> {
        loop {
            let Some(record) = self.piece.records.get(self.records) else {
                if self.go_on()? {
                    continue;
                }
                return Ok(None);
            };
            let (time, kind) = (record.time, record.kind);
            self.records += 1;
            self.actor = record.actor;
            self.end = self.end.max(time);
            let item = match kind {
                PackedKind::Change { id, is_promotion: true } => Item::Event(Event::Promotion(id)),
                PackedKind::Change { id, is_promotion: false } => {
                    Item::Event(Event::Collection(id))
                }
                PackedKind::Birth(birth) => Item::Event(Event::Allocation(self.birth_of(birth))),
                PackedKind::Fact => match self.piece.facts.next() {
                    Some(fact) => Item::Fact(fact),
                    None => continue,
                },
            };
            return Ok(Some((time, item)));
        }
    }

    /// What a frame stands for: a function first, then what was inlined into it. Empty when the trace
    /// does not tell: a frame is told before its first use.
    pub fn locations(&self, code: LocationCode) -> &[Location] {
        self.frame(code).map(|frame| &*frame.locations).unwrap_or_default()
    }

    /// All that is known of a frame.
    pub fn frame(&self, code: LocationCode) -> Option<&Frame> {
        self.names.frame(code)
    }

    /// The thread in which the last event happened.
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.actor.thread)
    }

    /// The domain in which the last event happened.
    pub fn domain(&self) -> DomainId {
        DomainId(self.actor.domain)
    }

    /// What is known of the last birth.
    pub fn birth(&self) -> Option<&BirthDetails> {
        self.last_birth.as_ref()
    }

    /// The last birth's backtrace, outermost frame first.
    pub fn backtrace(&self) -> &[LocationCode] {
        &self.backtrace
    }

    /// What could not be read so far: at most the first 1000 stretches.
    pub fn damages(&self) -> &[Damage] {
        self.damages.listed()
    }

    /// How many stretches could not be read so far.
    pub fn damage_count(&self) -> u64 {
        self.damages.count()
    }

    /// At the end: whether the trace was finished by who wrote it.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What has been come past so far.
    pub fn passed(&self) -> &Passed {
        &self.passed
    }

    /// At the end of a trace that was finished: its index.
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Up to which byte packets have been come to.
    pub fn position(&self) -> u64 {
        self.place.0 + self.place.1
    }

    /// The latest time that the trace covers as far as it has been read.
    pub fn end_time(&self) -> Timestamp {
        self.end
    }

    /// Goes on to the next piece; false at the end.
    #[cold]
    fn go_on(&mut self) -> Result<bool, Error> {
        self.end = self.end.max(self.piece.end);
        match self.piece.outcome.replace(Ok(())) {
            None => self.take_piece(),
            Some(Err(fault)) => self.give_up(fault.into()),
            Some(Ok(())) if self.is_finished => return Ok(false),
            Some(Ok(())) => self.next_packet()?,
        }
        Ok(true)
    }

    fn next_packet(&mut self) -> Result<(), Error> {
        let packet = self.packets.next();
        let packet = packet.inspect_err(|error| self.is_finished = !error.is_for_now())?;
        note_gap(&packet, &mut self.damages);
        self.place = (packet.offset, packet.len);
        if let Err(fault) = self.take_packet(packet.content) {
            self.give_up(fault.into());
        }
        Ok(())
    }

    fn take_packet(&mut self, content: Content) -> Result<(), Fault> {
        let is_numbered = matches!(content, Content::Checkpoint(_) | Content::Data(_));
        self.passed.packets += u64::from(is_numbered);
        match content {
            Content::Checkpoint(start) => self.take_checkpoint(start?),
            Content::Data(data) => self.take_data(data?),
            Content::Index(index) => self.take_index(index?),
            Content::End => self.is_complete = true,
            Content::Header(_) | Content::Unknown => {}
            Content::Nothing => self.is_finished = true,
        }
        Ok(())
    }

    fn take_index(&mut self, index: Index) {
        let Summary { duration, packets, .. } = index.summary;
        if packets != self.sequence {
            self.damages.add(self.place.0, 0, Cause::Missing);
        }
        let end = Timestamp(self.info.start_time.0.saturating_add(duration));
        self.end = self.end.max(end);
        self.index = Some(index);
        self.damages.close(None);
    }

    fn take_checkpoint(&mut self, start: Start) {
        if start.sequence != self.sequence && self.segment.is_some() {
            self.damages.add(self.place.0, 0, Cause::Missing);
        }
        let due = self.piece.next_id;
        self.damages.close(start.next_id.0.checked_sub(due.0));
        self.segment = Some(start.segment);
        self.passed.checkpoints.push(CheckpointPosition { offset: self.place.0, time: start.time });
        self.piece = Piece::empty(self.end, start.next_id);
        self.records = 0;
        self.sequence = start.sequence.wrapping_add(1);
        self.actor = start.actor;
    }

    fn take_data(&mut self, data: Data) {
        let is_next = data.sequence == self.sequence;
        self.sequence = data.sequence.wrapping_add(1);
        let Some(segment) = self.segment.as_mut().filter(|_| is_next) else {
            return self.give_up(Cause::Missing);
        };
        self.passed.frames += data.frame_count;
        self.damages.close(Some(0));
        segment.begin(data);
        self.take_piece();
    }

    fn take_piece(&mut self) {
        let Some(segment) = &mut self.segment else { return };
        self.piece = segment.piece();
        (self.records, self.codes) = (0, 0);
        for (code, frame) in self.piece.frames.drain(..) {
            self.names.add(code, frame);
        }
    }

    /// Nothing can be understood until the next checkpoint.
    fn give_up(&mut self, cause: Cause) {
        self.damages.add(self.place.0, self.place.1, cause);
        self.segment = None;
    }

    #[inline]
    fn birth_of(&mut self, birth: Birth) -> Allocation<'_> {
        let Birth { id, kinds, count, samples, common, new } = birth;
        let new = self.codes..self.codes + new as usize;
        self.codes = new.end;
        self.backtrace.truncate(common as usize);
        self.backtrace.extend_from_slice(&self.piece.codes[new]);
        let size = kinds.size(count);
        self.last_birth = Some(BirthDetails {
            size,
            sampler: kinds.sampler,
            is_growth: kinds.is_growth,
            is_truncated: kinds.is_truncated,
        });
        Allocation {
            id,
            length: size.words(self.info.word_bits),
            samples,
            source: kinds.source,
            domain: DomainId(self.actor.domain),
            backtrace: &self.backtrace,
            common_prefix: common as usize,
        }
    }
}

/// What lies before a packet is damage.
fn note_gap(packet: &Packet, damages: &mut Damages) {
    if let Some((offset, bytes, cause)) = packet.gap {
        damages.add(offset, bytes, cause);
    }
}
