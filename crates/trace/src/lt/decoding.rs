//! A segment that is being decoded: its packets one after the other, each piece by piece.
//!
//! Nothing outside of the segment is needed for that, so segments can be decoded side by side
//! ([`ahead`](super::ahead)). What the reader adds is what spans segments: damage, names, totals.

use super::checkpoint::Checkpoint;
use super::class::Kinds;
use super::current::Current;
use super::data::Layout;
use super::events::{Actor, Class, Step};
use super::piece::{Birth, PackedKind, PackedRecord, Pending, Piece};
use super::segment::Segment;
use crate::event::GROWTH;
use crate::framing::fault::Fault;
use crate::ids::{AllocationId, LocationCode, Timestamp};

/// The payload of a data packet.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) payload: Vec<u8>,
    pub(super) layout: Layout,
}

/// How segments are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The format's major version.
    pub(super) major: u64,
    pub(super) with_backtraces: bool,
}

/// What is known between two packets, or two pieces of one.
pub(super) struct Decoding {
    segment: Segment,
    reading: Reading,
    /// Of frames, by their numbers.
    codes: Vec<LocationCode>,
    current: Option<Current>,
    /// Whether the current packet's frames have been told.
    has_frames: bool,
    now: Timestamp,
    end: Timestamp,
    actor: Actor,
    last: Last,
}

/// The backtrace that was told last.
enum Last {
    /// In another segment, or there was none.
    Unknown,
    /// The one that the next is coded against.
    Same,
    /// These symbols; the next one is coded against another.
    Other(Vec<u32>),
}

impl Decoding {
    pub(super) fn new(checkpoint: &Checkpoint, reading: Reading) -> Self {
        Self {
            segment: Segment::to_read(checkpoint, reading.major),
            reading,
            codes: Vec::new(),
            current: None,
            has_frames: false,
            now: checkpoint.time,
            end: checkpoint.time,
            actor: checkpoint.actor,
            last: Last::Unknown,
        }
    }

    /// Goes on to the next packet.
    pub(super) fn begin(&mut self, body: Body) {
        self.current = Some(Current::new(body.payload, body.layout));
        self.has_frames = !self.reading.with_backtraces;
    }

    /// The next piece of the current packet.
    pub(super) fn piece(&mut self) -> Piece {
        let mut piece = Pending::default();
        let outcome = match self.current.take() {
            Some(mut current) => {
                let outcome = self.decode(&mut current, &mut piece);
                self.current = Some(current);
                outcome
            }
            None => Some(Ok(())),
        };
        Piece {
            frames: piece.frames,
            records: piece.records,
            facts: piece.facts.into_iter(),
            codes: piece.codes,
            end: self.end,
            next_id: self.segment.events.next_id(),
            outcome,
        }
    }

    /// Until the piece is full, the packet read, or something wrong.
    fn decode(&mut self, current: &mut Current, piece: &mut Pending) -> Option<Result<(), Fault>> {
        if !std::mem::replace(&mut self.has_frames, true)
            && let Err(fault) = current.tell(&mut self.segment, &mut self.codes, &mut piece.frames)
        {
            return Some(Err(fault));
        }
        while !piece.is_full() {
            if current.is_read() {
                return Some(Ok(()));
            }
            if let Err(fault) = self.step(current, piece) {
                return Some(Err(fault));
            }
        }
        None
    }

    #[inline]
    fn step(&mut self, current: &mut Current, piece: &mut Pending) -> Result<(), Fault> {
        piece.steps += 1;
        let kind = match current.step(&mut self.segment)? {
            Step::Birth { wait, class, size, samples } => {
                self.wait(wait);
                PackedKind::Birth(self.birth(current, piece, class, size, samples)?)
            }
            Step::Change { wait, id, is_promotion } => {
                self.wait(wait);
                PackedKind::Change { id, is_promotion }
            }
            Step::Fact => {
                let (wait, fact) = current.fact(&mut self.segment)?;
                self.wait(wait);
                self.end = self.end.max(self.now);
                let Some(fact) = fact else { return Ok(()) };
                piece.facts.push(fact);
                PackedKind::Fact
            }
            Step::Actor(actor) => {
                self.switch(actor);
                return Ok(());
            }
            Step::Back(distance) => {
                self.now = Timestamp(self.now.0.saturating_sub(distance));
                return Ok(());
            }
            Step::NextId(_) => return Ok(()),
        };
        self.end = self.end.max(self.now);
        piece.records.push(PackedRecord { time: self.now, actor: self.actor, kind });
        Ok(())
    }

    fn wait(&mut self, wait: u64) {
        self.now = Timestamp(self.now.0.saturating_add(wait));
    }

    fn switch(&mut self, actor: Actor) {
        if actor == self.actor {
            return;
        }
        let Segment { stacks, backtraces, .. } = &mut self.segment;
        if matches!(self.last, Last::Same) {
            self.last = Last::Other(backtraces.stack().to_vec());
        }
        stacks.switch(backtraces, self.actor, actor);
        self.actor = actor;
    }

    #[inline]
    fn birth(
        &mut self,
        current: &mut Current,
        piece: &mut Pending,
        class: Class,
        count: u64,
        samples: u64,
    ) -> Result<Birth, Fault> {
        let kinds = Kinds::of(class)?;
        let id = AllocationId(self.segment.events.next_id().0.wrapping_sub(1));
        let (mut common, before) = (0, piece.codes.len());
        if self.reading.with_backtraces {
            let kept = current.backtrace(&mut self.segment, count)?;
            let stack = self.segment.backtraces.stack();
            common = match std::mem::replace(&mut self.last, Last::Same) {
                Last::Unknown => 0,
                Last::Same => kept,
                Last::Other(last) => common_prefix(&last, stack),
            };
            let new = self.segment.backtraces.frames(common);
            piece.codes.extend(new.map(|number| self.codes[number as usize]));
            piece.codes.extend(kinds.is_growth.then_some(GROWTH));
        }
        let new = (piece.codes.len() - before) as u32;
        Ok(Birth { id, kinds, count, samples, common: common as u32, new })
    }
}

/// How many leading symbols are the same.
fn common_prefix(one: &[u32], other: &[u32]) -> usize {
    const STRIDE: usize = 16;
    let strides = one.chunks_exact(STRIDE).zip(other.chunks_exact(STRIDE));
    let start = STRIDE * strides.take_while(|(one, other)| one == other).count();
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_as_long_as_they_are() {
        let one: Vec<u32> = (0..40).collect();
        for len in 0..=40 {
            let mut other = one.clone();
            assert_eq!(common_prefix(&one, &other[..len]), len);
            if let Some(symbol) = other.get_mut(len) {
                *symbol = 99;
            }
            assert_eq!(common_prefix(&one, &other), len);
        }
    }
}
