//! What can be saved of a damaged trace, as a whole one.
//!
//! Readers deliver all that can be read. What is missing is told as lost where it is missing, and
//! promotions and deaths of blocks whose births are missing are left out: they could be told of no
//! block. Deaths that are missing cannot be made up for: such blocks seem to live on.

use std::io::{self, Read, Write};

use rustc_hash::FxHashSet;

use super::writer::AnyWriter;
use super::{for_each, pass_on};
use crate::fact::{Fact, Lost};
use crate::frame::Frame;
use crate::ids::{AllocationId, DomainId, ThreadId, Timestamp};
use crate::record::{Record, RecordKind};
use crate::{AnyReader, ReadError};

/// The reason of a [`Lost`] that tells of damage in a trace. Its count is of births, and 0 where
/// nobody knows.
pub const DAMAGED: &str = "damaged-trace";

/// What became of a damaged trace.
#[derive(Debug, Default)]
pub struct Salvage {
    /// Births that were saved.
    pub births: u64,
    /// Births that are missing, as far as that is known.
    pub missing: u64,
    /// Promotions and deaths that were left out, since the births are missing.
    pub orphans: u64,
    /// What ended the reading, if not the trace's end.
    pub stopped: Option<ReadError>,
}

/// Copies all that can be saved; nothing is left out of a trace that is whole.
///
/// # Errors
///
/// The output's.
pub fn repair<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
) -> io::Result<Salvage> {
    let mut saving = Saving::default();
    let stopped = for_each(reader, |reader, record| saving.save(reader, writer, &record))?;
    saving.salvage.stopped = stopped;
    saving.finish(reader, writer)
}

#[derive(Default)]
struct Saving {
    salvage: Salvage,
    living: FxHashSet<AllocationId>,
    /// How many damaged stretches have been told of.
    damages: u64,
}

impl Saving {
    fn save<R: Read, W: Write>(
        &mut self,
        reader: &AnyReader<R>,
        writer: &mut AnyWriter<W>,
        record: &Record,
    ) -> io::Result<()> {
        if let Some(missing) = self.new_damage(reader) {
            self.salvage.missing = self.salvage.missing.saturating_add(missing);
            tell_lost(writer, record.time, missing)?;
        }
        if self.is_orphan(&record.kind) {
            self.salvage.orphans += 1;
            return Ok(());
        }
        pass_on(reader, writer, record)
    }

    /// Births that are missing in the stretches that were met since this was last asked.
    fn new_damage<R: Read>(&mut self, reader: &AnyReader<R>) -> Option<u64> {
        let reader = reader.as_lt()?;
        let known = std::mem::replace(&mut self.damages, reader.damage_count());
        if self.damages == known {
            return None;
        }
        let new = reader.damages().iter().skip(known as usize);
        Some(new.filter_map(|damage| damage.births).fold(0, u64::saturating_add))
    }

    /// Before any damage, blocks may be told of whose births are in a parent's trace.
    fn is_orphan(&mut self, kind: &RecordKind) -> bool {
        let is_known = match kind {
            RecordKind::Fact(_) => true,
            RecordKind::Birth(birth) => {
                self.salvage.births += 1;
                self.living.insert(birth.id);
                true
            }
            RecordKind::Promotion(id) => self.living.contains(id),
            RecordKind::Collection(id) => self.living.remove(id),
        };
        !is_known && self.damages > 0
    }

    fn finish<R: Read, W: Write>(
        mut self,
        reader: &AnyReader<R>,
        writer: &mut AnyWriter<W>,
    ) -> io::Result<Salvage> {
        let damage = self.new_damage(reader);
        let mut missing = damage.unwrap_or(0);
        let index = reader.as_lt().and_then(|reader| reader.index());
        if let Some(index) = index.filter(|_| self.damages > 0) {
            let all = index.summary.allocations.saturating_sub(self.salvage.births);
            missing = all.saturating_sub(self.salvage.missing);
            self.salvage.missing = all;
        } else {
            self.salvage.missing = self.salvage.missing.saturating_add(missing);
        }
        if damage.is_some() || missing > 0 || self.salvage.stopped.is_some() {
            tell_lost(writer, reader.end_time(), missing)?;
        }
        writer.extend(reader.end_time())?;
        Ok(self.salvage)
    }
}

fn tell_lost<W: Write>(writer: &mut AnyWriter<W>, time: Timestamp, count: u64) -> io::Result<()> {
    if !writer.has_facts() {
        return Ok(());
    }
    let kind = RecordKind::from(Fact::Lost(Lost { reason: DAMAGED.into(), count }));
    let record = Record { time, thread: ThreadId(0), domain: DomainId(0), kind };
    writer.put(&record, &[], &mut |_| Frame::default())
}
