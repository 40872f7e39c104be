//! The packets of a trace in their order, as far as they can be understood without what came before;
//! and who decodes the segments.
//!
//! With threads that decode [ahead](super::ahead), packets are read before the reader asks for them:
//! so many segments, and no more than so many bytes of them. Without, each when it is asked for.
//! Either way the reader hears of the same packets, and what lies between them, in the same order.

use std::collections::VecDeque;
use std::io::Read;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender};

use super::MAJOR;
use super::ahead::Ahead;
use super::checkpoint::Checkpoint;
use super::data::Layout;
use super::decoding::{Body, Decoding, Reading};
use super::error::{Cause, Error};
use super::events::Actor;
use super::index::Index;
use super::packet::MARK;
use super::piece::Piece;
use crate::framing::fault::Fault;
use crate::framing::packet::Kind;
use crate::framing::scan::{Next, Scanner};
use crate::ids::{AllocationId, Timestamp};

/// Bytes of packets that are read ahead, but for the last one's.
const MAX_AHEAD: u64 = 8 << 20;

/// Reads packets.
pub(super) struct Packets<R> {
    scanner: Scanner<R>,
    reading: Reading,
    ahead: Option<Ahead>,
    /// Where the packets of the last segment go, if that is a thread.
    feed: Option<Feed>,
    read: VecDeque<Result<Packet, Error>>,
    /// Checkpoints among these.
    segments: usize,
    /// Memory that these take, about.
    bytes: u64,
    is_at_end: bool,
}

/// A packet, or the end of the input.
pub(super) struct Packet {
    pub(super) offset: u64,
    /// Length with the head.
    pub(super) len: u64,
    /// What lies before it and is no packet: where, how many bytes, and what that is.
    pub(super) gap: Option<(u64, u64, Cause)>,
    pub(super) content: Content,
}

/// What a packet says.
pub(super) enum Content {
    Header(Vec<u8>),
    Checkpoint(Result<Start, Fault>),
    Data(Result<Data, Fault>),
    Index(Result<Index, Fault>),
    End,
    Unknown,
    /// There are no more packets.
    Nothing,
}

/// The start of a segment.
pub(super) struct Start {
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    pub(super) next_id: AllocationId,
    pub(super) actor: Actor,
    pub(super) segment: Source,
}

/// A data packet.
pub(super) struct Data {
    pub(super) sequence: u64,
    pub(super) frame_count: u64,
    /// None if a thread has it.
    body: Option<Body>,
}

/// Where the pieces of a segment come from.
pub(super) enum Source {
    Here(Box<Decoding>),
    Thread(Receiver<Piece>),
}

struct Feed {
    bodies: Sender<Body>,
    /// Number of the next data packet.
    sequence: u64,
}

impl<R: Read> Packets<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            scanner: Scanner::new(input, MARK),
            reading: Reading { major: MAJOR, with_backtraces: true },
            ahead: None,
            feed: None,
            read: VecDeque::new(),
            segments: 0,
            bytes: 0,
            is_at_end: false,
        }
    }

    /// The trace's major version. To be called before the first checkpoint has been read.
    pub(super) fn set_major(&mut self, major: u64) {
        self.reading.major = major;
    }

    /// To be called before the first checkpoint has been read.
    pub(super) fn skip_backtraces(&mut self) {
        self.reading.with_backtraces = false;
    }

    /// From here on segments are decoded by so many threads, if the system has them.
    pub(super) fn decode_ahead(&mut self, threads: NonZero<usize>) {
        self.ahead = Ahead::start(threads).ok();
    }

    /// What has been read and not used, to tell what kind of file this is.
    pub(super) fn beginning(&mut self) -> Result<&[u8], Error> {
        self.scanner.beginning().map_err(|source| Error::Io { offset: 0, source })
    }

    /// The next packet.
    ///
    /// # Errors
    /// The input's; after one, there is nothing more, but [for now](Error::is_for_now).
    pub(super) fn next(&mut self) -> Result<Packet, Error> {
        while self.wants_more() {
            let packet = self.read();
            if packet.as_ref().is_err_and(Error::is_for_now) {
                match self.read.is_empty() {
                    true => return packet,
                    false => break,
                }
            }
            self.is_at_end = match &packet {
                Ok(packet) => matches!(packet.content, Content::Nothing),
                Err(_) => true,
            };
            let (segments, bytes) = weight(&packet);
            self.segments += segments;
            self.bytes += bytes;
            self.read.push_back(packet);
        }
        let Some(packet) = self.read.pop_front() else { return Ok(self.nothing()) };
        let (segments, bytes) = weight(&packet);
        self.segments -= segments;
        self.bytes -= bytes;
        packet
    }

    fn wants_more(&self) -> bool {
        if self.is_at_end || self.read.is_empty() {
            return !self.is_at_end;
        }
        let limit = self.ahead.as_ref().map_or(0, Ahead::segments);
        self.segments < limit && self.bytes < MAX_AHEAD
    }

    fn nothing(&self) -> Packet {
        Packet { offset: self.scanner.offset(), len: 0, gap: None, content: Content::Nothing }
    }

    fn read(&mut self) -> Result<Packet, Error> {
        let start = self.scanner.offset();
        let next = self.scanner.next();
        let next = next.map_err(|source| Error::Io { offset: self.scanner.offset(), source })?;
        let gap = |bytes: u64, cause| (bytes > 0).then_some((start, bytes, cause));
        Ok(match next {
            Next::End { skipped, is_cut } => {
                let cause = if is_cut { Cause::Cut } else { Cause::Bytes };
                Packet { gap: gap(skipped, cause), ..self.nothing() }
            }
            Next::Packet(found) => {
                let payload = self.scanner.payload(&found).to_vec();
                Packet {
                    offset: found.offset,
                    len: found.len(),
                    gap: gap(found.skipped, Cause::Bytes),
                    content: self.understand(found.kind, payload),
                }
            }
        })
    }

    fn understand(&mut self, kind: Kind, payload: Vec<u8>) -> Content {
        match kind {
            Kind::HEADER => Content::Header(payload),
            Kind::CHECKPOINT => {
                self.feed = None;
                Content::Checkpoint(Checkpoint::decode(&payload).map(|it| self.begin(it)))
            }
            Kind::DATA => {
                let data = Layout::decode(&payload).map(|layout| self.data(payload, layout));
                if data.is_err() {
                    self.feed = None;
                }
                Content::Data(data)
            }
            Kind::INDEX => Content::Index(Index::decode(&payload)),
            Kind::END => Content::End,
            _ => Content::Unknown,
        }
    }

    fn begin(&mut self, checkpoint: Checkpoint) -> Start {
        let Checkpoint { sequence, time, next_id, actor, .. } = checkpoint;
        let segment = match &self.ahead {
            None => Source::Here(Box::new(Decoding::new(&checkpoint, self.reading))),
            Some(ahead) => {
                let (bodies, pieces) = ahead.begin(checkpoint, self.reading);
                self.feed = Some(Feed { bodies, sequence: sequence.wrapping_add(1) });
                Source::Thread(pieces)
            }
        };
        Start { sequence, time, next_id, actor, segment }
    }

    /// Hands the packet over to the thread that decodes its segment, if it belongs to that.
    fn data(&mut self, payload: Vec<u8>, layout: Layout) -> Data {
        let Layout { sequence, frame_count, .. } = layout;
        let mut body = Some(Body { payload, layout });
        self.feed = self.feed.take().filter(|feed| feed.sequence == sequence);
        if let Some(feed) = &mut self.feed {
            feed.sequence = sequence.wrapping_add(1);
            // A thread that found something wrong wants no more.
            let _ = body.take().map(|body| feed.bodies.send(body));
        }
        Data { sequence, frame_count, body }
    }
}

/// How many segments a packet begins, and about how many bytes it takes.
fn weight(packet: &Result<Packet, Error>) -> (usize, u64) {
    let Ok(packet) = packet else { return (0, 0) };
    let begins = matches!(packet.content, Content::Checkpoint(_));
    (usize::from(begins), packet.len + size_of::<Packet>() as u64)
}

impl Source {
    /// Goes on to the next packet of the segment.
    pub(super) fn begin(&mut self, data: Data) {
        if let (Self::Here(decoding), Some(body)) = (self, data.body) {
            decoding.begin(body);
        }
    }

    /// The next piece of a packet of which there is more.
    ///
    /// # Panics
    /// If the thread that decodes the segment has panicked.
    pub(super) fn piece(&mut self) -> Piece {
        match self {
            Self::Here(decoding) => decoding.piece(),
            Self::Thread(pieces) => pieces.recv().expect("the decoding thread has not panicked"),
        }
    }
}
