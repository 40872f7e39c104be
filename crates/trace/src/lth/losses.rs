//! What of a snapshot could not be read, found by gaps in the numbers of its records.

use super::error::Damage;
use super::outcome::Totals;
use super::packet;
use crate::framing::fault::{Cause, Fault};
use crate::framing::packet::Kind;

/// More damages are passed over.
const MAX_LISTED: usize = 1000;

/// What packets have records of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Kinds,
    Roots,
    Blocks,
    Sites,
    Samples,
}

impl Sort {
    /// Of a kind of packets that have records.
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            packet::KINDS => Self::Kinds,
            packet::ROOTS => Self::Roots,
            packet::SITES => Self::Sites,
            packet::SAMPLES => Self::Samples,
            _ => Self::Blocks,
        }
    }
}

/// How far reading has come, and what was lost on the way.
#[derive(Debug, Default)]
pub(super) struct Losses {
    damages: Vec<Damage>,
    /// By sort, the number of the record that comes next.
    reached: [u64; 5],
    /// Whether the last damage's missing records have not been found yet.
    is_open: bool,
}

impl Losses {
    pub(super) fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// Records that have been passed, read or not.
    pub(super) fn totals(&self) -> Totals {
        let [kinds, roots, blocks, sites, samples] = self.reached;
        Totals { kinds, roots, blocks, sites, samples }
    }

    /// So many bytes are no packet.
    pub(super) fn pass(&mut self, offset: u64, bytes: u64, cause: Cause) {
        if bytes > 0 {
            self.add(offset, bytes, cause);
        }
    }

    /// So many bytes tell nothing. Neighbours become one.
    pub(super) fn add(&mut self, offset: u64, bytes: u64, cause: Cause) {
        if let Some(last) = self.damages.last_mut()
            && last.offset + last.bytes == offset
        {
            last.bytes += bytes;
            return;
        }
        if self.damages.len() < MAX_LISTED {
            self.damages.push(Damage { offset, bytes, blocks: None, cause });
            self.is_open = true;
        }
    }

    /// Records from that number on follow.
    ///
    /// # Errors
    /// If they have been read already.
    pub(super) fn begin(&mut self, sort: Sort, first: u64, offset: u64) -> Result<(), Fault> {
        let reached = self.reached[sort as usize];
        let missing = first.checked_sub(reached).ok_or(Fault::Unexpected("later records"))?;
        if missing > 0 && !self.is_open {
            self.add(offset, 0, Cause::Missing);
        }
        if missing > 0 && sort == Sort::Blocks {
            self.miss(missing);
        }
        self.reached[sort as usize] = first;
        Ok(())
    }

    /// All records before that number have been read, or are lost.
    pub(super) fn reach(&mut self, sort: Sort, number: u64) {
        self.reached[sort as usize] = number;
    }

    /// The file ends, and should have had so many records.
    pub(super) fn end(&mut self, totals: Option<&Totals>) {
        let missing = totals
            .and_then(|totals| totals.blocks.checked_sub(self.reached[Sort::Blocks as usize]));
        if let Some(missing) = missing.filter(|&missing| missing > 0) {
            self.miss(missing);
        }
    }

    fn miss(&mut self, missing: u64) {
        if std::mem::take(&mut self.is_open)
            && let Some(last) = self.damages.last_mut()
        {
            last.blocks = Some(last.blocks.unwrap_or_default().saturating_add(missing));
        }
    }
}
