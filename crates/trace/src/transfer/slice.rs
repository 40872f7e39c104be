//! A slice of a trace: what happened in a span of its time, and the births of what lived at its start.
//!
//! That needs two readings: the first finds out what of the time before must be told (a [`Plan`]), the
//! second tells it, at the slice's start and in its old order, and then the slice itself. What must be
//! told is known by its place among all that is told, so the plan has a few words for each block that
//! lives. Blocks that live at the slice's end simply live.

use std::io::{self, Read, Write};

use rustc_hash::{FxHashMap, FxHashSet};

use super::writer::AnyWriter;
use super::{Gaps, for_each, pass_on};
use crate::event::TraceInfo;
use crate::fact::Fact;
use crate::ids::{AllocationId, Timestamp};
use crate::record::{Record, RecordKind};
use crate::{AnyReader, ReadError};

/// A span of a trace's time, in microseconds since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first; the trace's start if there is none.
    pub from: Option<u64>,
    /// One past the last; the trace's end, and all there is at it, if there is none.
    pub to: Option<u64>,
}

/// What a slice has in it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nothing is before it if the slice begins where the trace does.
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    start: Timestamp,
    end: Timestamp,
    /// Places of what is told although it was before.
    kept: FxHashSet<u64>,
}

/// A block that lives, by the places of what must be told of it.
struct Living {
    birth: u64,
    promotion: Option<u64>,
    resize: Option<u64>,
}

impl Plan {
    /// Reads a trace; backtraces are not needed. What stops the reader ends the trace here, and is met
    /// again when the slice is written.
    pub fn new<R: Read>(reader: &mut AnyReader<R>, span: Span) -> (Self, Option<ReadError>) {
        let beginning = reader.info().start_time;
        let at = |micros: u64| Timestamp(beginning.0.saturating_add(micros));
        let from = span.from.filter(|micros| *micros > 0).map(at);
        let mut past = Past::default();
        let mut place = 0;
        let stopped = loop {
            match reader.next() {
                Err(error) => break Some(error),
                Ok(None) => break None,
                Ok(Some(record)) if from.is_some_and(|from| record.time < from) => {
                    past.take(place, &record.kind);
                }
                Ok(Some(_)) => {}
            }
            place += 1;
        };
        let end = reader.end_time();
        let to = span.to.map(at);
        let plan = Self {
            from,
            to,
            start: from.unwrap_or(beginning),
            end: to.map_or(end, |to| to.min(end)),
            kept: past.kept(),
        };
        (plan, stopped)
    }

    /// How long the slice is, in microseconds; `None` if the trace ends before it begins.
    pub fn duration(&self) -> Option<u64> {
        self.end.0.checked_sub(self.start.0)
    }

    /// What the slice says about itself.
    pub fn info(&self, info: &TraceInfo) -> TraceInfo {
        TraceInfo { start_time: self.start, ..info.clone() }
    }

    /// When to tell it, if at all.
    fn time(&self, place: u64, record: &Record) -> Option<Timestamp> {
        if self.from.is_some_and(|from| record.time < from) {
            return self.kept.contains(&place).then_some(self.start);
        }
        self.to.is_none_or(|to| record.time < to).then_some(record.time)
    }
}

/// What was before the slice.
#[derive(Default)]
struct Past {
    living: FxHashMap<AllocationId, Living>,
    lasting: FxHashSet<u64>,
    wall_clock: Option<u64>,
}

impl Past {
    fn take(&mut self, place: u64, kind: &RecordKind) {
        match kind {
            RecordKind::Birth(birth) => {
                let block = Living { birth: place, promotion: None, resize: None };
                self.living.insert(birth.id, block);
            }
            RecordKind::Promotion(id) => {
                if let Some(block) = self.living.get_mut(id) {
                    block.promotion = Some(place);
                }
            }
            RecordKind::Collection(id) => {
                self.living.remove(id);
            }
            RecordKind::Fact(fact) => self.take_fact(place, fact),
        }
    }

    fn take_fact(&mut self, place: u64, fact: &Fact) {
        match fact {
            Fact::Process(_)
            | Fact::Parent(_)
            | Fact::Sampler(_)
            | Fact::Module(_)
            | Fact::ThreadName(_)
            | Fact::Label(_)
            | Fact::Notice(_) => {
                self.lasting.insert(place);
            }
            Fact::WallClock(_) => self.wall_clock = Some(place),
            Fact::Resize(resize) => {
                if let Some(block) = self.living.get_mut(&resize.id) {
                    block.resize = Some(place);
                }
            }
            Fact::Counters(_)
            | Fact::Collector(_)
            | Fact::RuntimeCount(_)
            | Fact::Cycle(_)
            | Fact::Marker(_)
            | Fact::Looked(_)
            | Fact::Held(_)
            | Fact::Lost(_)
            | Fact::Exit(_) => {}
        }
    }

    fn kept(self) -> FxHashSet<u64> {
        let mut kept = self.lasting;
        kept.extend(self.wall_clock);
        for Living { birth, promotion, resize } in self.living.into_values() {
            kept.insert(birth);
            kept.extend(promotion);
            kept.extend(resize);
        }
        kept
    }
}

/// Copies a slice of a trace that is read from its beginning, for the second time.
///
/// Returns what kept the input from being read to its end; what was told before has been copied.
///
/// # Errors
///
/// The output's.
pub fn slice<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
    plan: &Plan,
) -> io::Result<Option<ReadError>> {
    slice_if(reader, writer, plan, |_, _| true)
}

/// Copies what `keeps` lets through of a slice, as in [`copy_if`](super::copy_if): it is asked of all that the
/// input tells, also of what is outside of the slice.
///
/// Returns what kept the input from being read to its end; what was told before has been copied.
///
/// # Errors
///
/// The output's.
pub fn slice_if<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
    plan: &Plan,
    mut keeps: impl FnMut(&AnyReader<R>, &mut Record) -> bool,
) -> io::Result<Option<ReadError>> {
    let mut place = 0;
    let mut gaps = Gaps::default();
    let stopped = for_each(reader, |reader, mut record| {
        let is_kept = keeps(reader, &mut record);
        let time = plan.time(place, &record).filter(|_| is_kept);
        place += 1;
        gaps.close(&mut record, time.is_some());
        let Some(time) = time else { return Ok(()) };
        if let RecordKind::Fact(fact) = &mut record.kind
            && let Fact::WallClock(shown) = &mut **fact
        {
            shown.0 = shown.0.saturating_add(time.0 - record.time.0);
        }
        record.time = time;
        pass_on(reader, writer, &record)
    })?;
    writer.extend(plan.end)?;
    Ok(stopped)
}
