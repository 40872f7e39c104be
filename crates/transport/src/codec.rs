//! Messages to bytes and back, side by side.
//!
//! Every message starts with two little-endian words; what follows depends on the tag:
//!
//! ```text
//! word 0   tag:8  detail:8  flags:16  thread:32
//! word 1   time
//! Allocation      id  size  samples  shared:32|fresh:32  fresh × frame      (detail = source)
//!  of runs        likewise, with runs of frames, of 4 bytes each
//! Release         id
//! Promotion       id
//! Placed          id  address in disguise  size
//! Measured        id  size
//! ModuleLoaded    bias  start  end  build-id bytes:32|path bytes:32  bytes…
//! ModuleUnloaded  start
//! ThreadStarted   os id
//! ThreadEnded     –
//! Notice          code bytes  bytes…
//! Exiting         –
//! AllocatorTotals in use  held
//! FrameName       number  line:32|start:32  end:32  function bytes:32|file bytes:32  bytes…
//!                                                           (detail = kind, flags = last:1  first:1)
//! Runtime         name  version bytes  bytes…               (detail = 1 if its blocks are malloc's)
//! FrameAddress    number  address
//! CollectorTotals name  which are known  the nine of them
//! Rate            bits of the probability
//! Context         frames  frames × frame
//! RuntimeCount    value  name bytes  bytes…
//! NamesPending    –                                         (detail = 1 if there are)
//! Pages           address in disguise  size  shared:32|fresh:32  fresh × frame      (detail = step)
//! ```
//!
//! An encoded message comes in two parts, a fixed head and a borrowed tail (frames, or nothing), so
//! that frames go from the agent's buffer to the ring in one copy.

use crate::message::{
    AllocationKind, BacktraceDelta, Body, EncodedTotals, FrameKind, FrameName, Frames, MemoryKind,
    Message, Module, MonotonicNanos, Place, SampleId, SourceKind, Step, ThreadId,
};
use crate::ring::Tail;
use crate::sources::SourceName;

/// Most frames a backtrace can have; deeper ones keep their innermost frames and are marked.
pub const MAX_FRAMES: usize = 12 * 1024;

/// Longest build id that is kept, in bytes.
pub const MAX_BUILD_ID: usize = 255;

/// Longest path that is kept, in bytes.
pub const MAX_PATH: usize = 4095;

const HEAD_WORDS: usize = 13;

/// Room for the head of any message, the names of a module included, in bytes.
pub const MAX_HEAD: usize = HEAD_WORDS * 8 + (MAX_BUILD_ID + MAX_PATH).next_multiple_of(8);

/// Room for any message, in bytes.
pub const MAX_LEN: usize = MAX_HEAD + MAX_FRAMES * 8;

const TRUNCATED: u64 = 1;
/// A frame name's flags.
const LAST: u64 = 1;
const FIRST: u64 = 2;
/// An allocation's flags: truncated:1  kind:3  memory:12
const KIND_SHIFT: u32 = 1;
const MEMORY_SHIFT: u32 = 4;

const ALLOCATION: u8 = 1;
const RELEASE: u8 = 2;
const PROMOTION: u8 = 3;
const MODULE_LOADED: u8 = 4;
const MODULE_UNLOADED: u8 = 5;
const THREAD_STARTED: u8 = 6;
const THREAD_ENDED: u8 = 7;
const NOTICE: u8 = 8;
const EXITING: u8 = 9;
const ALLOCATOR_TOTALS: u8 = 10;
const FRAME_NAME: u8 = 11;
const RUNTIME: u8 = 12;
const COLLECTOR_TOTALS: u8 = 13;
const RATE: u8 = 14;
const CONTEXT: u8 = 15;
const NAMES_PENDING: u8 = 18;
const RUNTIME_COUNT: u8 = 19;
const ALLOCATION_OF_RUNS: u8 = 16;
const FRAME_ADDRESS: u8 = 17;
const MEASURED: u8 = 20;
const PLACED: u8 = 21;
const PAGES: u8 = 22;

/// An encoded message: `head` in the caller's buffer, `tail` borrowed from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded<'a> {
    /// The fixed part and a module's names.
    pub head: &'a [u8],
    /// The frames, native-endian (the transport never leaves the machine).
    pub tail: Tail<'a>,
}

/// Why bytes are not a message. Only a broken agent or a damaged segment produces these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Shorter or longer than its own fields say, or runs of more frames than a backtrace can have.
    Length,
    /// A tag, source or kind that does not exist.
    Tag(u8),
}

/// Encodes `message`, using `buffer` for the head. Frames in wire form are not re-encoded: an agent
/// has them in memory.
#[inline(always)]
pub fn encode<'a>(message: &Message<'a>, buffer: &'a mut [u8; MAX_HEAD]) -> Encoded<'a> {
    let mut head = Head { buffer, used: 16 };
    let ((tag, detail, flags), tail) = match message.body {
        Body::Allocation { id, size, samples, source, kind, backtrace } => {
            let (tag, count, tail) = frames_to_send(backtrace.fresh);
            head.word(id.0);
            head.word(size);
            head.word(samples);
            head.word(pair(backtrace.shared, count as u32));
            let truncated = if backtrace.truncated { TRUNCATED } else { 0 };
            ((tag, source as u8, truncated | kind_flags(kind)), tail)
        }
        Body::Release { id } => {
            head.word(id.0);
            ((RELEASE, 0, 0), Tail::EMPTY)
        }
        Body::Promotion { id } => {
            head.word(id.0);
            ((PROMOTION, 0, 0), Tail::EMPTY)
        }
        Body::Placed { id, block } => {
            head.word(id.0);
            head.word(block.disguised);
            head.word(block.size);
            ((PLACED, 0, 0), Tail::EMPTY)
        }
        rare => encode_rare(rare, &mut head),
    };
    let first =
        u64::from(tag) | u64::from(detail) << 8 | flags << 16 | u64::from(message.thread.0) << 32;
    head.buffer[..8].copy_from_slice(&first.to_le_bytes());
    head.buffer[8..16].copy_from_slice(&message.time.0.to_le_bytes());
    let Head { buffer, used } = head;
    Encoded { head: &buffer[..used], tail }
}

/// A message's tag, detail and flags.
type Kind = (u8, u8, u64);

/// Encodes a message that is not sent for each sample.
#[cold]
fn encode_rare<'a>(body: Body<'a>, head: &mut Head<'_>) -> (Kind, Tail<'a>) {
    let kind = match body {
        Body::Measured { id, size } => {
            head.word(id.0);
            head.word(size);
            (MEASURED, 0, 0)
        }
        Body::ModuleLoaded(module) => {
            head.module(&module);
            (MODULE_LOADED, 0, 0)
        }
        Body::ModuleUnloaded { start } => {
            head.word(start);
            (MODULE_UNLOADED, 0, 0)
        }
        Body::ThreadStarted { os_id } => {
            head.word(u64::from(os_id));
            (THREAD_STARTED, 0, 0)
        }
        Body::ThreadEnded => (THREAD_ENDED, 0, 0),
        Body::Notice { code } => {
            head.text(code);
            (NOTICE, 0, 0)
        }
        Body::Exiting => (EXITING, 0, 0),
        Body::AllocatorTotals { in_use, held } => {
            head.word(in_use);
            head.word(held);
            (ALLOCATOR_TOTALS, 0, 0)
        }
        Body::FrameName(name) => {
            head.frame_name(&name);
            let last = if name.is_last { LAST } else { 0 };
            let first = if name.is_first { FIRST } else { 0 };
            (FRAME_NAME, name.kind.0, last | first)
        }
        Body::FrameAddress { frame, address } => {
            head.word(frame);
            head.word(address);
            (FRAME_ADDRESS, 0, 0)
        }
        Body::Runtime { name, blocks_are_mallocs, version } => {
            head.word(name.word());
            head.text(version);
            (RUNTIME, blocks_are_mallocs.into(), 0)
        }
        Body::CollectorTotals(totals) => {
            head.bytes(totals.bytes());
            (COLLECTOR_TOTALS, 0, 0)
        }
        Body::RuntimeCount { name, value } => {
            head.word(value);
            head.text(name);
            (RUNTIME_COUNT, 0, 0)
        }
        Body::NamesPending { are_pending } => (NAMES_PENDING, are_pending.into(), 0),
        Body::Rate { bits } => {
            head.word(bits);
            (RATE, 0, 0)
        }
        Body::Context { frames } => {
            let words = words_to_send(frames);
            head.word(words.len() as u64);
            return ((CONTEXT, 0, 0), Tail::Words(words));
        }
        Body::Pages { step, pages, backtrace } => {
            let words = words_to_send(backtrace.fresh);
            head.word(pages.disguised);
            head.word(pages.size);
            head.word(pair(backtrace.shared, words.len() as u32));
            let truncated = if backtrace.truncated { TRUNCATED } else { 0 };
            return ((PAGES, step as u8, truncated), Tail::Words(words));
        }
        // `encode` has said these; from here no decoder would take them.
        Body::Allocation { .. }
        | Body::Placed { .. }
        | Body::Release { .. }
        | Body::Promotion { .. } => (0, 0, 0),
    };
    (kind, Tail::EMPTY)
}

/// Decodes one message; frames and names borrow from `bytes`.
///
/// # Errors
/// [`DecodeError`] when the bytes are not what [`encode`] produces.
pub fn decode(bytes: &[u8]) -> Result<Message<'_>, DecodeError> {
    let mut fields = Fields { bytes };
    let first = fields.word()?;
    let (tag, detail, flags) = (first as u8, (first >> 8) as u8, (first >> 16) as u16);
    let time = MonotonicNanos(fields.word()?);
    let body = match tag {
        ALLOCATION | ALLOCATION_OF_RUNS => {
            let id = SampleId(fields.word()?);
            let size = fields.word()?;
            let samples = fields.word()?;
            let backtrace = fields.backtrace(tag, flags)?;
            Body::Allocation {
                id,
                size,
                samples,
                source: source_kind(detail)?,
                kind: allocation_kind(flags)?,
                backtrace,
            }
        }
        RELEASE => Body::Release { id: SampleId(fields.word()?) },
        PROMOTION => Body::Promotion { id: SampleId(fields.word()?) },
        PLACED => Body::Placed { id: SampleId(fields.word()?), block: fields.place()? },
        MEASURED => Body::Measured { id: SampleId(fields.word()?), size: fields.word()? },
        MODULE_LOADED => Body::ModuleLoaded(fields.module()?),
        MODULE_UNLOADED => Body::ModuleUnloaded { start: fields.word()? },
        THREAD_STARTED => Body::ThreadStarted { os_id: fields.word()? as u32 },
        THREAD_ENDED => Body::ThreadEnded,
        NOTICE => Body::Notice { code: fields.text()? },
        EXITING => Body::Exiting,
        ALLOCATOR_TOTALS => Body::AllocatorTotals { in_use: fields.word()?, held: fields.word()? },
        FRAME_ADDRESS => Body::FrameAddress { frame: fields.word()?, address: fields.word()? },
        FRAME_NAME => Body::FrameName(fields.frame_name(FrameKind(detail), flags.into())?),
        RUNTIME => {
            let name = SourceName::of_word(fields.word()?);
            Body::Runtime { name, blocks_are_mallocs: detail == 1, version: fields.text()? }
        }
        COLLECTOR_TOTALS => Body::CollectorTotals(fields.collector_totals()?),
        RATE => Body::Rate { bits: fields.word()? },
        RUNTIME_COUNT => {
            let value = fields.word()?;
            Body::RuntimeCount { name: fields.text()?, value }
        }
        NAMES_PENDING => Body::NamesPending { are_pending: detail == 1 },
        CONTEXT => {
            let count = usize::try_from(fields.word()?).unwrap_or(usize::MAX);
            Body::Context { frames: fields.frames(tag, count)? }
        }
        PAGES => {
            let step = Step::ALL.get(usize::from(detail)).ok_or(DecodeError::Tag(detail))?;
            let pages = fields.place()?;
            Body::Pages { step: *step, pages, backtrace: fields.backtrace(tag, flags)? }
        }
        other => return Err(DecodeError::Tag(other)),
    };
    if fields.bytes.is_empty() {
        Ok(Message { time, thread: ThreadId((first >> 32) as u32), body })
    } else {
        Err(DecodeError::Length)
    }
}

struct Head<'a> {
    buffer: &'a mut [u8; MAX_HEAD],
    used: usize,
}

impl Head<'_> {
    fn word(&mut self, word: u64) {
        self.buffer[self.used..self.used + 8].copy_from_slice(&word.to_le_bytes());
        self.used += 8;
    }

    fn module(&mut self, module: &Module<'_>) {
        let build_id = &module.build_id[..module.build_id.len().min(MAX_BUILD_ID)];
        let path = &module.path[..module.path.len().min(MAX_PATH)];
        self.word(module.bias);
        self.word(module.start);
        self.word(module.end);
        self.word(pair(build_id.len() as u32, path.len() as u32));
        self.bytes(build_id);
        self.bytes(path);
    }

    fn frame_name(&mut self, name: &FrameName<'_>) {
        let function = &name.function[..name.function.len().min(MAX_BUILD_ID)];
        let file = &name.file[..name.file.len().min(MAX_PATH)];
        self.word(name.frame);
        self.word(pair(name.line, name.start_char));
        self.word(pair(name.end_char, 0));
        self.word(pair(function.len() as u32, file.len() as u32));
        self.bytes(function);
        self.bytes(file);
    }

    /// A short one, which is cut if need be.
    fn text(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(MAX_BUILD_ID)];
        self.word(text.len() as u64);
        self.bytes(text);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }
}

struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(DecodeError::Length)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn text(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.word()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// As a message with that tag has them.
    fn frames(&mut self, tag: u8, count: usize) -> Result<Frames<'a>, DecodeError> {
        Ok(match tag {
            ALLOCATION_OF_RUNS => self.runs(count)?,
            _ => Frames::WordBytes(self.take(count.saturating_mul(8))?),
        })
    }

    fn backtrace(&mut self, tag: u8, flags: u16) -> Result<BacktraceDelta<'a>, DecodeError> {
        let (shared, fresh) = unpair(self.word()?);
        let fresh = self.frames(tag, fresh as usize)?;
        Ok(BacktraceDelta { shared, fresh, truncated: u64::from(flags) & TRUNCATED != 0 })
    }

    /// A few bytes can say a great many: there are no more than a backtrace can have.
    fn runs(&mut self, count: usize) -> Result<Frames<'a>, DecodeError> {
        let frames = Frames::RunBytes(self.take(count.saturating_mul(4))?);
        if frames.len() <= MAX_FRAMES { Ok(frames) } else { Err(DecodeError::Length) }
    }

    fn place(&mut self) -> Result<Place, DecodeError> {
        Ok(Place { disguised: self.word()?, size: self.word()? })
    }

    fn word(&mut self) -> Result<u64, DecodeError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    fn module(&mut self) -> Result<Module<'a>, DecodeError> {
        let (bias, start, end) = (self.word()?, self.word()?, self.word()?);
        let (build_id, path) = unpair(self.word()?);
        let build_id = self.take(build_id as usize)?;
        let path = self.take(path as usize)?;
        Ok(Module { bias, start, end, build_id, path })
    }

    fn frame_name(&mut self, kind: FrameKind, flags: u64) -> Result<FrameName<'a>, DecodeError> {
        let (is_first, is_last) = (flags & FIRST != 0, flags & LAST != 0);
        let frame = self.word()?;
        let (line, start_char) = unpair(self.word()?);
        let (end_char, _) = unpair(self.word()?);
        let (function, file) = unpair(self.word()?);
        let function = self.take(function as usize)?;
        let file = self.take(file as usize)?;
        Ok(FrameName { frame, kind, is_first, is_last, line, start_char, end_char, function, file })
    }

    fn collector_totals(&mut self) -> Result<EncodedTotals<'a>, DecodeError> {
        let (bytes, rest) = self.bytes.split_first_chunk().ok_or(DecodeError::Length)?;
        self.bytes = rest;
        EncodedTotals::new(bytes).ok_or(DecodeError::Tag(COLLECTOR_TOTALS))
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn unpair(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

fn source_kind(byte: u8) -> Result<SourceKind, DecodeError> {
    [SourceKind::Malloc, SourceKind::Minor, SourceKind::Major, SourceKind::External]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
        .ok_or(DecodeError::Tag(byte))
}

fn kind_flags(kind: AllocationKind) -> u64 {
    let (code, kind) = match kind {
        AllocationKind::Plain => (0, 0),
        AllocationKind::Growth => (1, 0),
        AllocationKind::Deserialised => (2, 0),
        AllocationKind::Outside(kind) => (3, kind.number()),
    };
    code << KIND_SHIFT | u64::from(kind) << MEMORY_SHIFT
}

fn allocation_kind(flags: u16) -> Result<AllocationKind, DecodeError> {
    let (code, kind) = (flags >> KIND_SHIFT & 7, flags >> MEMORY_SHIFT);
    match (code, kind) {
        (0, 0) => Ok(AllocationKind::Plain),
        (1, 0) => Ok(AllocationKind::Growth),
        (2, 0) => Ok(AllocationKind::Deserialised),
        (3, _) => {
            MemoryKind::new(kind).map(AllocationKind::Outside).ok_or(DecodeError::Tag(code as u8))
        }
        _ => Err(DecodeError::Tag(code as u8)),
    }
}

/// An allocation's tag, the number of its frames or runs, and these.
fn frames_to_send(frames: Frames<'_>) -> (u8, usize, Tail<'_>) {
    match frames {
        Frames::Runs(runs) => {
            let runs = &runs[..runs.len().min(MAX_FRAMES)];
            (ALLOCATION_OF_RUNS, runs.len(), Tail::Halves(runs))
        }
        words => {
            let words = words_to_send(words);
            (ALLOCATION, words.len(), Tail::Words(words))
        }
    }
}

fn words_to_send(frames: Frames<'_>) -> &[u64] {
    match frames {
        Frames::Words(words) => &words[..words.len().min(MAX_FRAMES)],
        Frames::Runs(_) | Frames::WordBytes(_) | Frames::RunBytes(_) => &[],
    }
}
