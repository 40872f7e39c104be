//! What lives when a trace ends, told at the beginning of the one that goes on where it ends.
//!
//! Births keep their names and their times, which are before the new trace's start: that is how its readers know that
//! these blocks were not allocated in its time. The way back is `transfer::join`.

use std::io::{self, Read, Write};

use rustc_hash::FxHashSet;

use super::writer::{AnyWriter, put_lt};
use super::{Gaps, for_each, pass_on};
use crate::event::TraceInfo;
use crate::fact::Fact;
use crate::frame::Frame;
use crate::ids::{AllocationId, DomainId, ThreadId, Timestamp};
use crate::record::{Record, RecordKind};
use crate::{AnyReader, ReadError, lt};

/// A [`Fact::Notice`] of this code, a colon and a file's name says that the trace goes on where that one ends.
pub const CONTINUES: &str = "continues";

/// Writes the births of the blocks in `living`, with what was told of them since, and how samplers were set meanwhile, and
/// takes them out of `living`: what is left there is told nowhere in what could be read.
///
/// Returns what kept the input from being read to its end.
///
/// # Errors
///
/// The output's.
pub fn carry_over<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut lt::Writer<W>,
    living: &mut FxHashSet<AllocationId>,
) -> io::Result<Option<ReadError>> {
    let (mut gaps, mut carried) = (Gaps::default(), FxHashSet::default());
    for_each(reader, |reader, mut record| {
        let is_carried = match &record.kind {
            RecordKind::Birth(birth) => living.remove(&birth.id) && carried.insert(birth.id),
            RecordKind::Promotion(id) => carried.contains(id),
            RecordKind::Collection(_) => false,
            RecordKind::Fact(fact) => match &**fact {
                Fact::Sampler(_) => true,
                Fact::Resize(resize) => carried.contains(&resize.id),
                _ => false,
            },
        };
        gaps.close(&mut record, is_carried);
        if !is_carried {
            return Ok(());
        }
        put_lt(writer, &record, reader.backtrace(), &mut |code| reader.frame(code))
    })
}

/// Makes one trace of those that go on where the one before ends; `writer` is to be of the first one's start.
#[derive(Debug, Default)]
pub struct Join {
    /// Blocks whose births have been told and whose deaths have not.
    living: FxHashSet<AllocationId>,
    /// What lasts and has been told, in words.
    lasting: FxHashSet<String>,
    end: Option<Timestamp>,
}

impl Join {
    /// Adds the next of them.
    ///
    /// Returns what kept it from being read to its end.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn add<R: Read, W: Write>(
        &mut self,
        reader: &mut AnyReader<R>,
        writer: &mut AnyWriter<W>,
    ) -> io::Result<Option<ReadError>> {
        let (mut gaps, start) = (Gaps::default(), reader.info().start_time);
        let mut bygone = self.end.map(|_| self.living.clone()).unwrap_or_default();
        let mut is_past = self.end.is_some();
        let stopped = for_each(reader, |reader, mut record| {
            if is_past && is_of_the_time(&record, start) {
                is_past = false;
                self.bury(&mut bygone, start, writer)?;
            }
            if let RecordKind::Birth(birth) = &record.kind {
                bygone.remove(&birth.id);
            }
            let is_news = self.is_news(&record, start);
            gaps.close(&mut record, is_news);
            if !is_news {
                return Ok(());
            }
            self.note(&record.kind);
            pass_on(reader, writer, &record)
        })?;
        self.bury(&mut bygone, start, writer)?;
        let end = reader.end_time();
        self.end = Some(self.end.map_or(end, |last| last.max(end)));
        writer.extend(end)?;
        Ok(stopped)
    }

    /// Whether it has not been told by the trace before.
    fn is_news(&self, record: &Record, start: Timestamp) -> bool {
        let is_first = self.end.is_none();
        match &record.kind {
            RecordKind::Birth(birth) => is_first || !self.living.contains(&birth.id),
            RecordKind::Fact(fact) if record.time <= start && is_lasting(fact) => {
                is_first || !(is_of_succession(fact) || self.lasting.contains(&words(fact)))
            }
            _ => is_first || record.time >= start,
        }
    }

    /// Tells of blocks that lived when one trace ended, and did not any more when the next one began.
    fn bury<W: Write>(
        &mut self,
        bygone: &mut FxHashSet<AllocationId>,
        time: Timestamp,
        writer: &mut AnyWriter<W>,
    ) -> io::Result<()> {
        let mut ids: Vec<_> = bygone.drain().collect();
        ids.sort_unstable_by_key(|id| id.0);
        ids.into_iter().try_for_each(|id| {
            self.living.remove(&id);
            let kind = RecordKind::Collection(id);
            let record = Record { time, thread: ThreadId(0), domain: DomainId(0), kind };
            writer.put(&record, &[], &mut |_| Frame::default())
        })
    }

    fn note(&mut self, kind: &RecordKind) {
        match kind {
            RecordKind::Birth(birth) => drop(self.living.insert(birth.id)),
            RecordKind::Collection(id) => drop(self.living.remove(id)),
            RecordKind::Fact(fact) if is_lasting(fact) => drop(self.lasting.insert(words(fact))),
            RecordKind::Promotion(_) | RecordKind::Fact(_) => {}
        }
    }
}

/// Whether a trace may go on where another one ends, as far as their headers tell.
pub fn may_follow(earlier: &TraceInfo, later: &TraceInfo) -> bool {
    (earlier.pid, &earlier.host_name) == (later.pid, &later.host_name)
        && earlier.start_time <= later.start_time
}

/// Whether it happened in the time of a trace that starts then: what comes before tells what is so at its start.
fn is_of_the_time(record: &Record, start: Timestamp) -> bool {
    match &record.kind {
        RecordKind::Fact(fact) => record.time >= start && !is_lasting(fact),
        _ => record.time >= start,
    }
}

/// Whether each trace of a succession begins with it.
fn is_lasting(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Process(_)
            | Fact::Parent(_)
            | Fact::Sampler(_)
            | Fact::Module(_)
            | Fact::ThreadName(_)
            | Fact::Label(_)
            | Fact::Notice(_)
            | Fact::WallClock(_)
    )
}

fn is_of_succession(fact: &Fact) -> bool {
    matches!(fact, Fact::Notice(code) if code.split(':').next() == Some(CONTINUES))
}

fn words(fact: &Fact) -> String {
    format!("{fact:?}")
}
