//! Writes `.lt` traces.

use std::io::{self, Write};

use super::backtraces::MAX_DEPTH;
use super::checkpoint::Checkpoint;
use super::class::class_of;
use super::closing;
use super::data::MAX_FRAMES;
use super::dictionary::{Dictionary, fitted};
use super::draft::Draft;
use super::events::{Actor, Events, Step};
use super::header;
use super::index::{CheckpointPosition, Index, end_payload};
use super::new_birth::NewBirth;
use super::packet::MARK;
use super::segment::Segment;
use crate::event::{GROWTH, TraceInfo};
use crate::fact::Fact;
use crate::frame::Frame;
use crate::framing::output::Output;
use crate::framing::packet::Kind;
use crate::ids::{AllocationId, Bytes, DomainId, LocationCode, Size, ThreadId, Timestamp, Words};

/// A segment gets no packet more when it has so many bytes: at most 256 KiB lie between checkpoints,
/// unless a single backtrace brings more. The further a trace is, the more ([`PARTS`]).
const FULL_SEGMENT: u64 = (256 - 72) << 10;

/// A segment gets no packet more when it has so many bytes and [`OLD_SEGMENT`] has passed.
const WORTHWHILE_SEGMENT: u64 = 16 << 10;

/// A segment is old when it has lasted so long, in microseconds. The further a trace is, the longer ([`PARTS`]).
const OLD_SEGMENT: u64 = 5_000_000;

/// A segment may grow to 1/32 of the trace so far, in bytes and in time, where that is more: each begins with the same
/// names again, and damage costs no greater part of a long trace than of a short one.
const PARTS: u64 = 32;

/// The most bytes of a segment, however long the trace is.
const LARGEST_SEGMENT: u64 = (1024 - 72) << 10;

/// A segment gets no packet more when it has told more frames than this, so that memory stays bounded.
const MANY_FRAMES: usize = 1 << 15;

/// Places of checkpoints that are kept for the index; of more, every other one is left out.
const MAX_PLACES: usize = 1 << 16;

/// Writes a trace to anything that can be written; it needs no buffering of its own.
///
/// Each write is one or more whole packets. Events wait in the packet that is being filled until there
/// are 32 kB of them, or 4 kB and 5 s have passed, or 30 s; [`flush`](Self::flush) writes them now.
/// Dropping the writer loses them: call [`finish`](Self::finish). Memory stays below 16 MiB, whatever
/// the length of the trace.
///
/// ```
/// use lifetrace_trace::event::{Source, TraceInfo};
/// use lifetrace_trace::frame::Frame;
/// use lifetrace_trace::ids::*;
/// use lifetrace_trace::lt::{NewBirth, Writer};
///
/// let info = TraceInfo {
///     sample_rate: 1e-4,
///     word_bits: 64,
///     executable_name: "/usr/bin/sort".into(),
///     host_name: "localhost".into(),
///     runtime_params: String::new(),
///     pid: 1234,
///     start_time: Timestamp(1_700_000_000_000_000),
///     initial_domain: DomainId(0),
///     context: Some("sort names".into()),
/// };
/// let mut writer = Writer::new(Vec::new(), &info)?;
/// let block = NewBirth {
///     size: Size::Bytes(Bytes(4096)),
///     samples: 1,
///     source: Source::External,
///     sampler: SamplerId(0),
///     is_truncated: false,
///     backtrace: &[LocationCode(1), LocationCode(2)],
///     common_prefix: 0,
///     id: None,
/// };
/// let born = Timestamp(1_700_000_000_250_000);
/// let id = writer.birth(born, &block, &mut |_code| Frame::default())?;
/// writer.collection(Timestamp(1_700_000_000_250_900), id)?;
/// let trace = writer.finish()?;
/// # assert!(trace.len() > 200);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Limits
///
/// What doesn't fit the format is made to fit: the innermost frames beyond 524 288 are dropped, and so
/// are the locations of a frame beyond 255; names of more than 4096 bytes are cut.
///
/// # Errors
///
/// Those of the output. After one, part of a packet may have been written, so all later calls fail as
/// well; [`written`](Self::written) tells how much of the output is good.
pub struct Writer<W> {
    output: Output<W>,
    segment: Segment,
    draft: Draft,
    dictionary: Dictionary,
    /// Who acts, as the events to come have it.
    actor: Actor,
    /// Who made the last birth.
    last_born_by: Option<Actor>,
    /// Numbers of the frames that are new in a backtrace.
    numbers: Vec<u32>,
    start: Timestamp,
    now: Timestamp,
    /// The latest time that was heard of.
    end: Timestamp,
    /// Number of the next checkpoint or data packet.
    sequence: u64,
    segment_start: CheckpointPosition,
    index: Index,
    closing: closing::Draft,
}

impl<W: Write> Writer<W> {
    /// Writes what the trace says about itself.
    ///
    /// # Errors
    ///
    /// Also when the sampling rate or the length of words is none.
    pub fn new(output: W, info: &TraceInfo) -> io::Result<Self> {
        if !header::is_valid(info.sample_rate, info.word_bits) {
            let problem = "a sampling rate or a length of words that can't be";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let actor = Actor { thread: 0, domain: info.initial_domain.0 };
        let start = info.start_time;
        let first = Checkpoint {
            sequence: 0,
            time: start,
            next_id: AllocationId(0),
            actor,
            living: Vec::new(),
        };
        let mut writer = Self {
            output: Output::new(output),
            segment: Segment::to_write(&first),
            draft: Draft::new(start),
            dictionary: Dictionary::new(),
            actor,
            last_born_by: None,
            numbers: Vec::new(),
            start,
            now: start,
            end: start,
            sequence: 0,
            segment_start: CheckpointPosition { offset: 0, time: start },
            index: Index::default(),
            closing: closing::Draft::new(),
        };
        let header = header::encode(info);
        let mut packets = Vec::new();
        MARK.put(Kind::HEADER, &header, &mut packets);
        MARK.put(Kind::HEADER, &header, &mut packets);
        writer.output.write(&packets)?;
        writer.write_checkpoint(&first)?;
        Ok(writer)
    }

    /// Says who acts in what follows; before, it is thread 0 in the trace's initial domain.
    pub fn switch(&mut self, thread: ThreadId, domain: DomainId) {
        self.actor = Actor { thread: thread.0, domain: domain.0 };
    }

    /// Writes that a block was allocated, and returns its name. `locate` is asked what a frame stands
    /// for when the trace does not tell yet.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn birth(
        &mut self,
        time: Timestamp,
        birth: &NewBirth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        let is_growth = birth.backtrace.last() == Some(&GROWTH);
        let depth = (birth.backtrace.len() - usize::from(is_growth)).min(MAX_DEPTH);
        let backtrace = &birth.backtrace[..depth];
        self.begin_step(time, depth)?;
        let common = self.common_prefix(backtrace, birth.common_prefix);
        self.number(&backtrace[common..], locate)?;
        if let Some(id) = birth.id.filter(|id| *id != self.events().next_id()) {
            self.step(Step::NextId(id));
        }
        let id = self.events().next_id();
        let size = match birth.size {
            Size::Words(Words(count)) | Size::Bytes(Bytes(count)) => count,
        };
        let wait = self.wait(time);
        let class = class_of(birth, is_growth);
        self.step(Step::Birth { wait, class, size, samples: birth.samples });
        self.write_backtrace(size, common);
        self.last_born_by = Some(self.actor);
        self.closing.take_birth(birth.is_truncated);
        self.index.summary.allocations += 1;
        self.index.summary.samples = self.index.summary.samples.saturating_add(birth.samples);
        Ok(id)
    }

    /// Writes that a block moved to the major heap.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.index.summary.promotions += 1;
        self.change(time, id, true)
    }

    /// Writes that a block was freed, or found dead.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.index.summary.collections += 1;
        self.change(time, id, false)
    }

    /// Writes a fact.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()> {
        self.begin_step(time, 0)?;
        self.step(Step::Fact);
        let wait = self.wait(time);
        self.draft.fact_bytes += self.segment.facts.encode(&mut self.draft.facts, wait, fact);
        self.closing.take_fact(fact);
        self.index.summary.facts += 1;
        Ok(())
    }

    /// Writes all events so far. `time` is when that is; the trace lasts until then at least.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        self.output.check()?;
        self.end = self.end.max(time);
        self.close_packet()?;
        self.output.inner.flush()
    }

    /// Writes all events so far, and lets what follows build on nothing before it: damage on one side
    /// does no harm on the other. Happens by itself after 256 KiB, and after 5 s if there
    /// are 16 KiB; in long traces after as much as is a thirty-second part of what there is.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn checkpoint(&mut self) -> io::Result<()> {
        self.output.check()?;
        self.close_packet()?;
        self.begin_segment()
    }

    /// Writes all events so far, the index and the end.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.check()?;
        self.close_packet()?;
        self.index.summary.duration = self.end.0.saturating_sub(self.start.0);
        self.index.summary.packets = self.sequence;
        self.index.closing = self.closing.finish();
        let mut packets = Vec::new();
        MARK.put(Kind::INDEX, &self.index.encode(), &mut packets);
        MARK.put(Kind::END, &end_payload(self.output.written), &mut packets);
        self.output.write(&packets)?;
        self.output.inner.flush()?;
        Ok(self.output.inner)
    }

    /// Length of the whole packets written so far, in bytes.
    pub fn written(&self) -> u64 {
        self.output.written
    }

    /// Length of the trace in bytes if it were finished now, or a little more.
    pub fn finished_len(&self) -> u64 {
        let index = Index::longest(self.index.checkpoints.len());
        self.output.written + self.draft.longest() as u64 + index + self.closing.longest()
    }

    fn change(&mut self, time: Timestamp, id: AllocationId, is_promotion: bool) -> io::Result<()> {
        self.begin_step(time, 0)?;
        let wait = self.wait(time);
        self.step(Step::Change { wait, id, is_promotion });
        Ok(())
    }

    fn events(&self) -> &Events {
        &self.segment.events
    }

    /// Closes the packet and the segment if they are full, and writes the directives that a step at
    /// `time` needs. It may bring so many new frames.
    fn begin_step(&mut self, time: Timestamp, frames: usize) -> io::Result<()> {
        self.output.check()?;
        if self.draft.is_due(time) {
            self.close_packet()?;
        }
        if self.draft.is_empty() {
            self.draft = Draft::new(time);
        }
        let is_last_number_near = self.dictionary.len() + frames > MAX_FRAMES;
        if is_last_number_near || self.draft.is_empty() && self.is_segment_due(time) {
            self.checkpoint()?;
        }
        let last = self.events().actor();
        if self.actor != last {
            self.step(Step::Actor(self.actor));
            self.segment.stacks.switch(&mut self.segment.backtraces, last, self.actor);
        }
        if time < self.now {
            self.step(Step::Back(self.now.0 - time.0));
            self.now = time;
        }
        self.end = self.end.max(time);
        Ok(())
    }

    /// Time since the last step.
    fn wait(&mut self, time: Timestamp) -> u64 {
        let wait = time.0 - self.now.0;
        self.now = time;
        wait
    }

    fn step(&mut self, step: Step) {
        let outcome = self.segment.events.code(&mut self.draft.events, step);
        debug_assert_eq!(outcome, Ok(step));
        self.draft.steps += 1;
    }

    /// How many leading frames `backtrace` shares with the one it is coded against, if `known` are
    /// those of the last birth's.
    fn common_prefix(&self, backtrace: &[LocationCode], known: usize) -> usize {
        let stack = self.segment.backtraces.stack();
        let longest = backtrace.len().min(stack.len());
        let is_same = self.last_born_by == Some(self.actor);
        let known = if is_same { known.min(longest) } else { 0 };
        let codes =
            self.segment.backtraces.frames(known).map(|number| self.dictionary.code(number));
        let pairs = backtrace[known..].iter().zip(codes);
        known + pairs.take_while(|(new, old)| *new == old).count()
    }

    /// Puts the numbers of frames into [`numbers`](Self::numbers), and tells those that are new.
    fn number(
        &mut self,
        frames: &[LocationCode],
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<()> {
        self.numbers.resize(frames.len(), 0);
        let mut done = 0;
        loop {
            done += self.dictionary.recent(&frames[done..], &mut self.numbers[done..]);
            let Some(&code) = frames.get(done) else { return Ok(()) };
            self.numbers[done] = match self.dictionary.number(code) {
                Some(number) => number,
                None => self.tell(code, &fitted(locate(code)))?,
            };
            done += 1;
        }
    }

    #[cold]
    fn tell(&mut self, code: LocationCode, frame: &Frame) -> io::Result<u32> {
        if self.draft.is_full_of_frames() {
            self.close_packet()?;
        }
        let before = self.segment.frames.text_len();
        let outcome = self.segment.frames.code(&mut self.draft.frames, code, frame);
        debug_assert!(outcome.is_ok_and(|told| told.0 == code && told.1 == *frame));
        let names = self.segment.frames.text_len() - before;
        self.draft.told += names + 16 * (1 + frame.locations.len());
        self.draft.frame_count += 1;
        self.index.summary.frames += 1;
        let number = self.dictionary.add(code);
        self.segment.backtraces.tell(number + 1);
        Ok(number)
    }

    fn write_backtrace(&mut self, size: u64, common: usize) {
        let backtraces = &mut self.segment.backtraces;
        let coder = &mut self.draft.backtraces;
        let outcome = backtraces.code(coder, size, common, &self.numbers, usize::MAX);
        debug_assert_eq!(outcome, Ok(common));
        self.draft.pushed += backtraces.take_pushed();
    }

    fn close_packet(&mut self) -> io::Result<()> {
        if self.draft.is_empty() {
            return Ok(());
        }
        let draft = std::mem::replace(&mut self.draft, Draft::new(self.now));
        let mut packet = Vec::new();
        MARK.put(Kind::DATA, &draft.finish(self.sequence), &mut packet);
        self.sequence += 1;
        self.output.write(&packet)
    }

    fn is_segment_due(&self, time: Timestamp) -> bool {
        let CheckpointPosition { offset, time: begun } = self.segment_start;
        let full = (offset / PARTS).clamp(FULL_SEGMENT, LARGEST_SEGMENT);
        let old = (begun.0.saturating_sub(self.start.0) / PARTS).max(OLD_SEGMENT);
        let bytes = self.output.written - offset;
        let is_old = time.0.saturating_sub(begun.0) >= old && bytes >= WORTHWHILE_SEGMENT;
        bytes >= full || is_old || self.dictionary.len() > MANY_FRAMES
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        self.dictionary = Dictionary::new();
        let checkpoint = Checkpoint {
            sequence: self.sequence,
            time: self.now,
            next_id: self.events().next_id(),
            actor: self.events().actor(),
            living: self.events().living().collect(),
        };
        self.segment.renew(&checkpoint);
        self.last_born_by = None;
        self.write_checkpoint(&checkpoint)
    }

    fn write_checkpoint(&mut self, checkpoint: &Checkpoint) -> io::Result<()> {
        self.segment_start = CheckpointPosition { offset: self.output.written, time: self.now };
        let places = &mut self.index.checkpoints;
        if places.len() == MAX_PLACES {
            let mut number = 0;
            places.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        places.push(self.segment_start);
        let mut packet = Vec::new();
        MARK.put(Kind::CHECKPOINT, &checkpoint.encode(), &mut packet);
        self.sequence += 1;
        self.output.write(&packet)
    }
}
