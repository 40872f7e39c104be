//! Reads `.lt` traces, as much of them as there is.

use std::io::Read;

use super::checkpoint::Checkpoint;
use super::class::Kinds;
use super::current::Current;
use super::damages::Damages;
use super::data::Layout;
use super::error::{Cause, Damage, Error, Fault};
use super::events::{Actor, Class, Step};
use super::header;
use super::index::{Index, Place, Summary};
use super::names::Names;
use super::packet::Kind;
use super::scan::{Found, Next, Scanner};
use super::segment::Segment;
use crate::event::{Allocation, Event, GROWTH, Location, TraceInfo};
use crate::fact::Fact;
use crate::frame::Frame;
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
/// # Times
///
/// They never go back, but for traces that were converted from Memtrace's and have several domains.
pub struct Reader<R> {
    scanner: Scanner<R>,
    info: TraceInfo,
    minor: u64,
    with_backtraces: bool,
    names: Names,
    /// None where the state that the next packet builds on was lost.
    segment: Option<Segment>,
    current: Option<Current>,
    /// Where the current packet begins and how long it is.
    place: (u64, u64),
    /// Number of the next checkpoint or data packet.
    sequence: u64,
    now: Timestamp,
    end: Timestamp,
    actor: Actor,
    /// The last backtrace as it was delivered.
    backtrace: Vec<LocationCode>,
    /// Whether that was coded against another one than the next will be.
    has_switched: bool,
    last_birth: Option<BirthDetails>,
    /// A fact that is to be delivered.
    fact: Option<Fact>,
    /// The id that was due when the state was lost.
    due_id: AllocationId,
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
    pub checkpoints: Vec<Place>,
    /// Checkpoints and data packets, whether they could be read or not.
    pub packets: u64,
    /// Frames in the data packets that could be read.
    pub frames: u64,
}

/// An event without what the reader keeps.
enum Happening {
    Change { id: AllocationId, is_promotion: bool },
    Birth { id: AllocationId, kinds: Kinds, size: Size, samples: u64, common_prefix: usize },
}

impl<R: Read> Reader<R> {
    /// Reads what the trace says about itself.
    ///
    /// # Errors
    ///
    /// When that is nowhere to be found, or of a version that is not known.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut scanner = Scanner::new(input);
        let beginning = scanner.beginning().map_err(|source| Error::Io { offset: 0, source })?;
        if beginning.is_empty() {
            return Err(Error::Empty);
        }
        let lookalike = Lookalike::guess(&beginning[..beginning.len().min(512)]);
        let mut damages = Damages::default();
        let found = loop {
            match next(&mut scanner, &mut damages)? {
                Some(found) if found.kind == Kind::HEADER => break found,
                Some(_) => {}
                None => return Err(Error::NotATrace(lookalike)),
            }
        };
        let (info, minor) = match header::decode(scanner.payload(&found)) {
            Ok(outcome) => outcome?,
            Err(_) => return Err(Error::NotATrace(lookalike)),
        };
        let (now, domain) = (info.start_time, info.initial_domain.0);
        Ok(Self {
            scanner,
            info,
            minor,
            with_backtraces: true,
            names: Names::new(),
            segment: None,
            current: None,
            place: (0, 0),
            sequence: 0,
            now,
            end: now,
            actor: Actor { thread: 0, domain },
            backtrace: Vec::new(),
            has_switched: true,
            last_birth: None,
            fact: None,
            due_id: AllocationId(0),
            damages,
            passed: Passed::default(),
            index: None,
            is_complete: false,
            is_finished: false,
        })
    }

    /// Leaves all backtraces empty, which is several times as fast.
    pub fn without_backtraces(mut self) -> Self {
        self.with_backtraces = false;
        self
    }

    /// What the trace says about itself.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The format's minor version; its major one is [`MAJOR`](super::MAJOR).
    pub fn minor_version(&self) -> u64 {
        self.minor
    }

    /// What comes next and its time, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Only the input's; after one, there is nothing more.
    #[expect(clippy::should_implement_trait, reason = "events are lent, iterators can't do that")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(Timestamp, Item<'_>)>, Error> {
        loop {
            let (Some(current), Some(segment)) = (&mut self.current, &mut self.segment) else {
                if self.next_packet()? {
                    continue;
                }
                return Ok(None);
            };
            if current.is_read() {
                self.current = None;
                continue;
            }
            let step = current.step(segment);
            match step.and_then(|step| self.take_step(step)) {
                Ok(Some(happening)) => {
                    return Ok(Some((self.now, Item::Event(self.event(happening)))));
                }
                Ok(None) => {
                    if let Some(fact) = self.fact.take() {
                        return Ok(Some((self.now, Item::Fact(fact))));
                    }
                }
                Err(fault) => self.give_up(fault.into()),
            }
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

    /// How many bytes have been looked at.
    pub fn position(&self) -> u64 {
        self.scanner.offset()
    }

    /// The latest time that the trace covers as far as it has been read.
    pub fn end_time(&self) -> Timestamp {
        self.end
    }

    /// Goes on to the next data packet that can be read; false at the end.
    #[cold]
    fn next_packet(&mut self) -> Result<bool, Error> {
        while !self.is_finished {
            let outcome = next(&mut self.scanner, &mut self.damages);
            let Some(found) = outcome.inspect_err(|_| self.is_finished = true)? else {
                self.is_finished = true;
                break;
            };
            self.place = (found.offset, found.len());
            match self.take_packet(&found) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(fault) => self.give_up(fault.into()),
            }
        }
        Ok(false)
    }

    /// True if it is one of events.
    fn take_packet(&mut self, found: &Found) -> Result<bool, Fault> {
        self.passed.packets += u64::from(matches!(found.kind, Kind::CHECKPOINT | Kind::DATA));
        match found.kind {
            Kind::CHECKPOINT => self.take_checkpoint(found).map(|()| false),
            Kind::DATA => self.take_data(found),
            Kind::INDEX => self.take_index(found).map(|()| false),
            Kind::END => {
                self.is_complete = true;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    fn take_index(&mut self, found: &Found) -> Result<(), Fault> {
        let index = Index::decode(self.scanner.payload(found))?;
        let Summary { duration, packets, .. } = index.summary;
        if packets != self.sequence {
            self.damages.add(found.offset, 0, Cause::Missing);
        }
        self.end = self.end.max(later(self.info.start_time, duration));
        self.index = Some(index);
        self.damages.close(None);
        Ok(())
    }

    fn take_checkpoint(&mut self, found: &Found) -> Result<(), Fault> {
        let checkpoint = Checkpoint::decode(self.scanner.payload(found))?;
        let due = self.segment.as_ref().map_or(self.due_id, |segment| segment.events.next_id());
        if checkpoint.sequence != self.sequence && self.segment.is_some() {
            self.damages.add(found.offset, 0, Cause::Missing);
        }
        self.damages.close(checkpoint.next_id.0.checked_sub(due.0));
        self.segment = Some(Segment::new(&checkpoint, false));
        self.passed.checkpoints.push(Place { offset: found.offset, time: checkpoint.time });
        self.names.forget_numbers();
        self.sequence = checkpoint.sequence.wrapping_add(1);
        self.actor = checkpoint.actor;
        self.now = checkpoint.time;
        self.has_switched = true;
        Ok(())
    }

    fn take_data(&mut self, found: &Found) -> Result<bool, Fault> {
        let payload = self.scanner.payload(found);
        let layout = Layout::decode(payload)?;
        let frame_count = layout.frame_count;
        let is_next = layout.sequence == self.sequence;
        self.sequence = layout.sequence.wrapping_add(1);
        if self.segment.is_none() || !is_next {
            self.give_up(Cause::Missing);
            return Ok(false);
        }
        let current = Current::new(payload.to_vec(), layout);
        let Some(segment) = &mut self.segment else { return Ok(false) };
        self.passed.frames += frame_count;
        self.damages.close(Some(0));
        if self.with_backtraces {
            current.tell(segment, &mut self.names)?;
        }
        self.current = Some(current);
        Ok(true)
    }

    /// Nothing can be understood until the next checkpoint.
    fn give_up(&mut self, cause: Cause) {
        self.damages.add(self.place.0, self.place.1, cause);
        self.current = None;
        if let Some(segment) = self.segment.take() {
            self.due_id = segment.events.next_id();
        }
    }

    /// None for a directive, and for a fact, which is left in `fact`.
    #[inline]
    fn take_step(&mut self, step: Step) -> Result<Option<Happening>, Fault> {
        let happening = match step {
            Step::Birth { wait, class, size, samples } => {
                self.now = later(self.now, wait);
                self.take_birth(class, size, samples)?
            }
            Step::Change { wait, id, is_promotion } => {
                self.now = later(self.now, wait);
                Happening::Change { id, is_promotion }
            }
            Step::Fact => {
                self.fact = self.take_fact()?;
                self.end = self.end.max(self.now);
                return Ok(None);
            }
            Step::Actor(actor) => {
                self.switch(actor);
                return Ok(None);
            }
            Step::Back(distance) => {
                self.now = Timestamp(self.now.0.saturating_sub(distance));
                return Ok(None);
            }
            Step::NextId(_) => return Ok(None),
        };
        self.end = self.end.max(self.now);
        Ok(Some(happening))
    }

    fn switch(&mut self, actor: Actor) {
        if let Some(segment) = &mut self.segment {
            segment.stacks.switch(&mut segment.backtraces, self.actor, actor);
        }
        self.has_switched |= actor != self.actor;
        self.actor = actor;
    }

    fn take_fact(&mut self) -> Result<Option<Fact>, Fault> {
        let (Some(current), Some(segment)) = (&mut self.current, &mut self.segment) else {
            return Ok(None);
        };
        let (wait, fact) = current.fact(segment)?;
        self.now = later(self.now, wait);
        Ok(fact)
    }

    #[inline]
    fn take_birth(&mut self, class: Class, count: u64, samples: u64) -> Result<Happening, Fault> {
        let (Some(current), Some(segment)) = (&mut self.current, &mut self.segment) else {
            return Err(Fault::Unexpected("a checkpoint"));
        };
        let kinds = Kinds::of(class)?;
        let id = AllocationId(segment.events.next_id().0.wrapping_sub(1));
        let mut common_prefix = 0;
        if self.with_backtraces {
            let kept = current.backtrace(segment, count)?;
            let frames = segment.backtraces.frames(0);
            if self.has_switched {
                self.has_switched = false;
                common_prefix = replace(&mut self.backtrace, frames.map(|it| self.names.code(it)));
            } else {
                common_prefix = kept;
                self.backtrace.truncate(kept);
                let new = segment.backtraces.frames(kept);
                self.backtrace.extend(new.map(|number| self.names.code(number)));
            }
            if kinds.is_growth {
                self.backtrace.push(GROWTH);
            }
        }
        Ok(Happening::Birth { id, kinds, size: kinds.size(count), samples, common_prefix })
    }

    #[inline]
    fn event(&mut self, happening: Happening) -> Event<'_> {
        match happening {
            Happening::Change { id, is_promotion: true } => Event::Promotion(id),
            Happening::Change { id, is_promotion: false } => Event::Collection(id),
            Happening::Birth { id, kinds, size, samples, common_prefix } => {
                let Kinds { source, is_growth, is_truncated, sampler, .. } = kinds;
                self.last_birth = Some(BirthDetails { size, sampler, is_growth, is_truncated });
                Event::Allocation(Allocation {
                    id,
                    length: size.words(self.info.word_bits),
                    samples,
                    source,
                    domain: DomainId(self.actor.domain),
                    backtrace: &self.backtrace,
                    common_prefix,
                })
            }
        }
    }
}

/// Makes a backtrace another one, and says how many leading frames are the same.
fn replace(backtrace: &mut Vec<LocationCode>, new: impl Iterator<Item = LocationCode>) -> usize {
    let mut new = new.peekable();
    let mut common = 0;
    while new.next_if(|code| backtrace.get(common) == Some(code)).is_some() {
        common += 1;
    }
    backtrace.truncate(common);
    backtrace.extend(new);
    common
}

fn later(time: Timestamp, wait: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(wait))
}

/// The next intact packet; what lies before it is damage.
fn next<R: Read>(scanner: &mut Scanner<R>, damages: &mut Damages) -> Result<Option<Found>, Error> {
    let offset = scanner.offset();
    match scanner.next() {
        Err(source) => Err(Error::Io { offset: scanner.offset(), source }),
        Ok(Next::Packet(found)) => {
            if found.skipped > 0 {
                damages.add(offset, found.skipped, Cause::Bytes);
            }
            Ok(Some(found))
        }
        Ok(Next::End { skipped, is_cut }) => {
            if skipped > 0 {
                damages.add(offset, skipped, if is_cut { Cause::Cut } else { Cause::Bytes });
            }
            Ok(None)
        }
    }
}
