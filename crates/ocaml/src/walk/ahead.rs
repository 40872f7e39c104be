//! Where a walk can meet the last one.
//!
//! Of the last walk's runs that are further out than the walk is, the innermost is looked at. Where its innermost frame
//! begins is all that most of the walk's frames have to be compared with.

use lifetrace_agent::chain::State;
use lifetrace_transport::message::Run;

use super::last::{IS_RUN, Last, outermost, start};
use super::layouts::{Layouts, Table};
use super::stack::Frames;

/// All stacks.
const BEYOND: u64 = u64::MAX;

/// The last walk's runs that this walk has still to reach. A walk has it in registers: what takes it by reference is
/// inlined.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'a> {
    /// From the one on that is looked at.
    rest: &'a [[u64; 2]],
    /// Of all of the last walk.
    runs: &'a [u32],
    start: u64,
    /// Frames further in are known not to be the last walk's.
    floor: u64,
}

impl<'a> Ahead<'a> {
    /// Of these runs those from `index` on, and frames that are not further in than `floor`.
    pub(crate) fn new(last: Last<'a>, (index, floor): (usize, u64), layouts: &Layouts) -> Self {
        let Last { states, runs } = last;
        let rest = states.get(index..).unwrap_or_default();
        let start = match rest {
            [pair, ..] if pair[0] & IS_RUN == 0 => outermost(pair).stack,
            [_, ..] => last.innermost(index, layouts).stack,
            [] => BEYOND,
        };
        Ahead { rest, runs, start: start.max(floor), floor }
    }

    /// Which run is looked at.
    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.runs.len() - self.rest.len()
    }

    /// The stack pointer of its innermost frame; if there is no run, one beyond all stacks. Frames further in are not
    /// met.
    #[inline]
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Whether a frame that is not further in is one of the last walk's.
    #[inline(always)]
    pub(crate) fn is_met(&mut self, at: State, table: &Table<'_>) -> bool {
        let [innermost, others @ ..] = self.rest else { return false };
        if innermost[0] < at.stack {
            self.rest = others;
            if others.first().is_some_and(|pair| pair[0] < at.stack) {
                self.rest = beyond(others, at.stack);
            }
        }
        let Some(pair) = self.rest.first() else {
            self.start = BEYOND;
            return false;
        };
        if pair[0] & IS_RUN != 0 {
            let size;
            (self.start, size) = start_and_size(pair, self.runs[self.index()], table);
            self.start = self.start.max(self.floor);
            return pair[1] == at.code
                && self.start <= at.stack
                && (outermost(pair).stack - at.stack).is_multiple_of(size.into());
        }
        self.start = outermost(pair).stack;
        self.start == at.stack && pair[1] == at.code
    }

    /// How many frames follow one another outwards that are like `frame` and are not met; at most so many.
    #[inline(always)]
    pub(crate) fn like(self, stack: &impl Frames, frame: State, size: u32, most: usize) -> usize {
        let limit = self.limit(frame, size);
        let size = u64::from(size);
        let (mut count, mut caller) = (0, frame.stack + size);
        while count < most && caller <= limit && stack.return_address(caller) == frame.code {
            count += 1;
            caller += size;
        }
        count
    }

    /// Up to where frames like that one can be.
    fn limit(self, frame: State, size: u32) -> u64 {
        let Some(pair) = self.rest.first() else { return BEYOND };
        let end = outermost(pair).stack;
        let is_in_line = end.wrapping_sub(frame.stack).is_multiple_of(size.into());
        if pair[1] == frame.code && is_in_line {
            return self.start.wrapping_sub(1);
        }
        end
    }
}

#[cold]
fn start_and_size(pair: &[u64; 2], run: u32, table: &Table<'_>) -> (u64, u32) {
    let size = table.link(Run(run).number()).size();
    (start(pair, run, size), size)
}

/// From the first one on that is not further in than `stack`, in steps that double: it is mostly near.
#[inline(always)]
fn beyond(pairs: &[[u64; 2]], stack: u64) -> &[[u64; 2]] {
    let is_further_in = |pair: &[u64; 2]| pair[0] < stack;
    let (mut from, mut step) = (0, 1);
    while pairs.get(from + step - 1).is_some_and(is_further_in) {
        from += step;
        step *= 2;
    }
    let end = pairs.len().min(from + step - 1);
    &pairs[from + pairs[from..end].partition_point(is_further_in)..]
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_first_one_that_is_not_further_in_is_found_however_far_it_is() {
        for length in 0..40u64 {
            let pairs: Vec<[u64; 2]> = (0..length).map(|at| [(16 * at) | (at & 1), 1]).collect();
            for stack in (8..=16 * length + 8).step_by(8) {
                let naive = (0..length).find(|at| 16 * at >= stack).unwrap_or(length);
                assert_eq!(beyond(&pairs, stack), &pairs[naive as usize..]);
            }
        }
    }
}
