//! When the blocks of one place were alive: the sketch from which [`growth`](super::growth) is judged.
//!
//! The trace's time is divided into [`BINS`] bins at most, whose width is a power of two of
//! microseconds and doubles whenever the trace outgrows them; so between 64 and 128 are in use.
//! Kept is, for each pair of bins, what was born in the first and died in the second, or lives on.
//! That is more than the live bytes at each time: it tells how the errors at different times hang
//! together, since a sampled block is wrong for as long as it lives. Blocks that are born and die
//! within one bin are seen at no edge of one, and are left out.
//!
//! There are 8,256 pairs at most (half a megabyte), and never more than sampled blocks.

use std::ops::AddAssign;

use super::mass::Sums;
use crate::estimate::Estimate;

/// How many bins of time there are at most.
pub const BINS: u64 = 128;
/// The narrowest bins are of about a millisecond.
const NARROWEST: u32 = 10;
/// In place of the bin of a death: never.
const NEVER: u8 = u8::MAX;

/// Lives of sampled blocks in time; times are microseconds since the trace began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lives {
    /// A bin is `1 << shift` microseconds wide.
    shift: u32,
    /// By bins.
    cells: Vec<Cell>,
    /// When the first of those was born that are still alive.
    oldest: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    born: u8,
    died: u8,
    blocks: u32,
    sums: Sums,
}

/// Blocks that are alive at the same edges of bins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cohort<'a> {
    /// The first edge at which they are alive.
    pub(super) first: usize,
    /// The first edge at which they are no more; `None` if they live on.
    pub(super) end: Option<usize>,
    pub(super) blocks: u32,
    pub(super) sums: &'a Sums,
}

impl Default for Lives {
    fn default() -> Self {
        Self { shift: NARROWEST, cells: Vec::new(), oldest: None }
    }
}

impl Lives {
    /// Takes a block that stands for `weight`, and lives on if `died` is `None`.
    pub fn add(&mut self, born: u64, died: Option<u64>, weight: &Estimate) {
        self.cover(died.unwrap_or(born).max(born));
        if died.is_none() {
            self.oldest = Some(self.oldest.map_or(born, |oldest| oldest.min(born)));
        }
        let bin = |time: u64| (time >> self.shift) as u8;
        let died = died.map_or(NEVER, bin);
        self.add_cell(&Cell { born: bin(born), died, blocks: 1, sums: Sums::of_block(weight) });
    }

    /// When the first of those was born that are still alive.
    pub fn oldest(&self) -> Option<u64> {
        self.oldest
    }

    /// What is alive at each edge of a bin, from the start to `end`: what the sketch has of live bytes
    /// over time, for drawing.
    pub fn heights(&self, end: u64) -> Vec<f64> {
        let mut lives = self.clone();
        lives.cover(end);
        let mut changes = vec![0.0; (end / lives.width()) as usize + 1];
        for cohort in lives.cohorts() {
            let mut add = |edge: usize, bytes: f64| {
                changes.get_mut(edge).into_iter().for_each(|change| *change += bytes);
            };
            add(cohort.first, cohort.sums.weight());
            cohort.end.into_iter().for_each(|end| add(end, -cohort.sums.weight()));
        }
        let sums = changes.iter().scan(0.0, |sum: &mut f64, change| {
            *sum += change;
            Some(sum.max(0.0))
        });
        sums.collect()
    }

    /// The lives up to where a program that ran for `end` microseconds began to give back what it had,
    /// as many do before they exit: where most was alive in the last tenth of the time, if less than
    /// half of it was left at the end. Also says when that was.
    pub fn before_teardown(&self, end: u64) -> (Self, u64) {
        let cohorts: Vec<_> = self.cohorts().collect();
        let edges = (end / self.width()) as usize;
        let live = live(&cohorts, edges + 1);
        let late = (edges - edges / 10)..=edges;
        let highest = late.max_by(|&a, &b| live[a].total_cmp(&live[b])).unwrap_or(edges);
        let survivors = cohorts.iter().filter(|cohort| cohort.end.is_none());
        let left: f64 = survivors.map(|cohort| cohort.sums.weight()).sum();
        if left < live[highest] / 2.0 {
            (self.up_to(highest), highest as u64 * self.width())
        } else {
            (self.clone(), end)
        }
    }

    /// What was alive at an edge lives on, later births are left out.
    fn up_to(&self, edge: usize) -> Self {
        let mut cut = Self { shift: self.shift, ..Self::default() };
        for cell in self.cells.iter().filter(|cell| usize::from(cell.born) < edge) {
            let is_alive = cell.died == NEVER || usize::from(cell.died) >= edge;
            cut.add_cell(&Cell { died: if is_alive { NEVER } else { cell.died }, ..*cell });
            if is_alive {
                let born = u64::from(cell.born) << self.shift;
                cut.oldest = Some(cut.oldest.map_or(born, |oldest| oldest.min(born)));
            }
        }
        cut
    }

    /// The width of a bin in microseconds.
    pub(super) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// All blocks that are alive at some edge.
    pub(super) fn cohorts(&self) -> impl Iterator<Item = Cohort<'_>> {
        self.cells.iter().map(|cell| Cohort {
            first: usize::from(cell.born) + 1,
            end: (cell.died != NEVER).then(|| usize::from(cell.died) + 1),
            blocks: cell.blocks,
            sums: &cell.sums,
        })
    }

    /// Makes bins so wide that they reach to this time.
    pub(super) fn cover(&mut self, time: u64) {
        let shift = (NARROWEST..).find(|shift| time >> shift < BINS).unwrap_or(NARROWEST);
        self.widen(shift);
    }

    fn widen(&mut self, shift: u32) {
        let Some(by) = shift.checked_sub(self.shift).filter(|&by| by > 0) else { return };
        self.shift = shift;
        for cell in std::mem::take(&mut self.cells) {
            let died = if cell.died == NEVER { NEVER } else { cell.died >> by.min(7) };
            self.add_cell(&Cell { born: cell.born >> by.min(7), died, ..cell });
        }
    }

    fn add_cell(&mut self, cell: &Cell) {
        if cell.born >= cell.died {
            return;
        }
        let key = |cell: &Cell| (cell.born, cell.died);
        match self.cells.binary_search_by_key(&key(cell), key) {
            Ok(at) => {
                let known = &mut self.cells[at];
                known.blocks = known.blocks.saturating_add(cell.blocks);
                known.sums += &cell.sums;
            }
            Err(at) => self.cells.insert(at, *cell),
        }
    }
}

impl AddAssign<&Lives> for Lives {
    fn add_assign(&mut self, other: &Lives) {
        self.widen(other.shift);
        let mut other = other.clone();
        other.widen(self.shift);
        other.cells.iter().for_each(|cell| self.add_cell(cell));
        self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
    }
}

/// What is alive at each edge.
pub(super) fn live(cohorts: &[Cohort<'_>], edges: usize) -> Vec<f64> {
    let mut changes = vec![0.0; edges + 1];
    for cohort in cohorts {
        changes[cohort.first.min(edges)] += cohort.sums.weight();
        changes[cohort.end.unwrap_or(edges).min(edges)] -= cohort.sums.weight();
    }
    let mut live = 0.0;
    let sums = changes.iter().take(edges).map(|change| {
        live += change;
        live
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::Growth;

    type Life = (u64, Option<u64>, f64);

    fn lives(all: &[Life]) -> Lives {
        let mut lives = Lives::default();
        for &(born, age, value) in all {
            let died = age.map(|age| born + age);
            lives.add(born, died, &Estimate::new(value, value));
        }
        lives
    }

    #[test]
    fn the_longest_trace_fits() {
        let all = [(0, None, 1.0), (u64::MAX, None, 1.0), (5, Some(u64::MAX - 5), 1.0)];
        let lives = lives(&all);
        assert_eq!(lives.width(), 1 << 57);
        assert_eq!((lives.cohorts().count(), lives.oldest()), (3, Some(0)));
    }

    #[test]
    fn a_death_before_the_birth_is_no_life() {
        let mut lives = Lives::default();
        lives.add(9_000_000, Some(3), &Estimate::new(1.0, 0.0));
        assert_eq!(lives.cohorts().count(), 0);
    }

    #[test]
    fn what_is_given_back_at_the_end_lives_on() {
        let leak: Vec<Life> = (0..900).map(|n| (n * 1000, Some(990_000 - n * 1000), 1.0)).collect();
        let kept: Vec<Life> = leak.iter().map(|&(born, ..)| (born, None, 1.0)).collect();
        let (cut, end) = lives(&leak).before_teardown(1_000_000);
        let until = Growth::of(&lives(&kept), end).unwrap();
        let found = Growth::of(&cut, end).unwrap();
        assert!(end > 890_000 && end <= 990_000, "{end}");
        assert_eq!((found.rate, found.shape), (until.rate, until.shape));
        assert_eq!(found.live.value, until.live.value);
        let (same, end) = lives(&kept).before_teardown(1_000_000);
        assert_eq!((same, end), (lives(&kept), 1_000_000));
        let (nothing, end) = Lives::default().before_teardown(0);
        assert_eq!((nothing, end), (Lives::default(), 0));
    }

    fn arbitrary_lives() -> impl Strategy<Value = Vec<Life>> {
        let age = prop::option::of(0u64..5_000_000);
        prop::collection::vec((0u64..10_000_000, age, 1.0f64..100.0), 0..60)
    }

    proptest! {
        #[test]
        fn edges_show_what_is_alive(all in arbitrary_lives()) {
            let lives = lives(&all);
            let width = lives.width();
            prop_assert!(width == 1024 || all.iter().any(|l| (l.0 + l.1.unwrap_or(0)) * 2 / width >= BINS));
            for edge in 0..=BINS as usize {
                let time = edge as u64 * width;
                let alive = |l: &&Life| l.0 < time && l.1.is_none_or(|age| l.0 + age >= time);
                let expected: f64 = all.iter().filter(alive).map(|l| l.2).sum();
                let there = |c: &Cohort<'_>| c.first <= edge && c.end.is_none_or(|end| edge < end);
                let found: f64 = lives.cohorts().filter(there).map(|c| c.sums.weight()).sum();
                prop_assert!((found - expected).abs() < 1e-6);
                if let Some(height) = lives.heights(width * BINS - 1).get(edge) {
                    prop_assert!((height - expected).abs() < 1e-6);
                }
            }
        }

        #[test]
        fn merging_is_adding_in_any_order(all in arbitrary_lives(), cut in 0usize..60) {
            let (left, right) = all.split_at(cut.min(all.len()));
            let mut merged = lives(right);
            merged += &lives(left);
            prop_assert_eq!(merged, lives(&all));
        }
    }
}
