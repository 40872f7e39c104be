//! The data packet that is being read.

use super::coder::Paused;
use super::data::{FACTS, Layout, MAX_FRAMES, PUSHED, TOLD};
use super::events::Step;
use super::segment::Segment;
use crate::fact::Fact;
use crate::frame::Frame;
use crate::framing::fault::Fault;
use crate::ids::LocationCode;

/// A packet's columns, and how far they have been read.
pub(super) struct Current {
    payload: Vec<u8>,
    layout: Layout,
    events: Paused,
    backtraces: Paused,
    facts: Paused,
    steps_left: u64,
    pushed_left: usize,
    fact_bytes_left: usize,
}

impl Current {
    pub(super) fn new(payload: Vec<u8>, layout: Layout) -> Self {
        let start = |column: &std::ops::Range<usize>| Paused::start(&payload[column.clone()]);
        Self {
            events: start(&layout.events),
            backtraces: start(&layout.backtraces),
            facts: start(&layout.facts),
            steps_left: layout.steps,
            pushed_left: PUSHED.of(layout.backtraces.len()),
            fact_bytes_left: FACTS.of(layout.facts.len()),
            payload,
            layout,
        }
    }

    pub(super) fn is_read(&self) -> bool {
        self.steps_left == 0
    }

    /// Reads the column of frames: `codes` are those of all numbers so far.
    pub(super) fn tell(
        &self,
        segment: &mut Segment,
        codes: &mut Vec<LocationCode>,
        frames: &mut Vec<(LocationCode, Frame)>,
    ) -> Result<(), Fault> {
        let column = &self.payload[self.layout.frames.clone()];
        let mut decoder = Paused::start(column).resume(column);
        let mut left = TOLD.of(column.len());
        if self.layout.frame_count > (MAX_FRAMES - codes.len()) as u64 {
            return Err(Fault::Unexpected("fewer frames"));
        }
        for _ in 0..self.layout.frame_count {
            let before = segment.frames.text_len();
            let (code, frame) =
                segment.frames.code(&mut decoder, LocationCode(0), &Frame::default())?;
            let told = segment.frames.text_len() - before + 16 * (1 + frame.locations.len());
            left =
                left.checked_sub(told).ok_or(Fault::Unexpected("fewer names in so few bytes"))?;
            codes.push(code);
            frames.push((code, frame));
        }
        segment.backtraces.tell(codes.len() as u32);
        Ok(())
    }

    /// Reads a step.
    #[inline]
    pub(super) fn step(&mut self, segment: &mut Segment) -> Result<Step, Fault> {
        let column = &self.payload[self.layout.events.clone()];
        let mut decoder = self.events.resume(column);
        let step = segment.events.code(&mut decoder, Step::Fact);
        self.events = decoder.pause(column);
        self.steps_left -= 1;
        step
    }

    /// Reads the backtrace of a birth; how many leading frames are those of the last one is returned.
    #[inline]
    pub(super) fn backtrace(&mut self, segment: &mut Segment, size: u64) -> Result<usize, Fault> {
        let column = &self.payload[self.layout.backtraces.clone()];
        let mut decoder = self.backtraces.resume(column);
        let backtraces = &mut segment.backtraces;
        let kept = backtraces.code(&mut decoder, size, 0, &[], self.pushed_left);
        self.pushed_left -= backtraces.take_pushed();
        self.backtraces = decoder.pause(column);
        kept
    }

    /// Reads a fact and the wait before it; none if a later version knows what it is.
    pub(super) fn fact(&mut self, segment: &mut Segment) -> Result<(u64, Option<Fact>), Fault> {
        let column = &self.payload[self.layout.facts.clone()];
        let mut decoder = self.facts.resume(column);
        let (wait, fact, bytes) = segment.facts.decode(&mut decoder, self.fact_bytes_left)?;
        self.fact_bytes_left -= bytes;
        self.facts = decoder.pause(column);
        Ok((wait, fact))
    }
}
