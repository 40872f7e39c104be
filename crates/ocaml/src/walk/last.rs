//! The last walk, and which of its frames are still the stack's.
//!
//! A frame is unchanged if its callee is and still returns to it: one word of the stack says so. Frames in a row that
//! have the same code, as functions that recurse have them, lie at equal distances, and are kept as one [`Run`], with
//! the state of the outermost. A state is kept as a pair: the stack pointer, in whose lowest bits are flags, and the
//! address.

use core::ops::Range;

use lifetrace_agent::chain::State;
use lifetrace_transport::message::Run;

use super::layouts::Layouts;
use super::stack::Frames;

/// In a run's state: it has more than one frame, or has had.
pub(crate) const IS_RUN: u64 = 1;

/// In a run's state: the frame before has not returned right to its innermost frame, as something was passed over in
/// between.
pub(crate) const IS_APART: u64 = 2;

const FLAGS: u64 = IS_RUN | IS_APART;

/// The last walk's runs, innermost first, and the state of each.
#[derive(Clone, Copy)]
pub(crate) struct Last<'a> {
    pub(crate) states: &'a [[u64; 2]],
    pub(crate) runs: &'a [u32],
}

/// Runs of the last walk that are this stack's too.
pub(crate) struct Kept {
    pub(crate) runs: Range<usize>,
    /// So many frames of the first one; it may have had more.
    pub(crate) first: usize,
}

impl<'a> Last<'a> {
    /// Those of the last walk that are this stack's, from a frame of this run on.
    ///
    /// # Errors
    /// The run is not to its end; the stack pointer of the first frame that is another.
    #[inline(always)]
    pub(crate) fn keep(
        self,
        index: usize,
        state: State,
        stack: &impl Frames,
        layouts: &Layouts,
    ) -> Result<Kept, u64> {
        let mut first = 1;
        if self.pair(index)[0] & IS_RUN != 0 {
            first = self.frames_from(index, state, stack, layouts)?;
        }
        let end = self.end_of_same(index + 1, stack, layouts);
        Ok(Kept { runs: index..end, first })
    }

    /// The end of the runs of the last walk that are this stack's, from the run's first frame on; `None` if that is
    /// another frame's state.
    #[inline(never)]
    pub(crate) fn keep_next(
        self,
        index: usize,
        state: State,
        stack: &impl Frames,
        layouts: &Layouts,
    ) -> Option<usize> {
        if index == self.runs.len() || self.innermost(index, layouts) != state {
            return None;
        }
        Some(self.keep(index, state, stack, layouts).ok()?.runs.end)
    }

    /// How many frames of a run there are from this one on.
    ///
    /// # Errors
    /// They are not all this stack's; the stack pointer of the first that is not.
    #[inline(always)]
    fn frames_from(
        self,
        index: usize,
        state: State,
        stack: &impl Frames,
        layouts: &Layouts,
    ) -> Result<usize, u64> {
        let size = u64::from(layouts.size(Run(self.runs[index]).number()));
        let last = outermost(self.pair(index)).stack;
        let (mut frames, mut at) = (1, state.stack);
        while at < last && size > 0 {
            at += size;
            frames += 1;
            if stack.return_address(at) != state.code {
                return Err(at);
            }
        }
        Ok(frames)
    }

    /// One past the last run that is this stack's too, if those before `from` are.
    #[inline(always)]
    fn end_of_same(self, from: usize, stack: &impl Frames, layouts: &Layouts) -> usize {
        let callers = self.states;
        let is_same = |&[stack_and_flags, code]: &[u64; 2]| {
            stack_and_flags & FLAGS == 0 && stack.return_address(stack_and_flags) == code
        };
        let mut end = from;
        loop {
            let same = callers[end..].iter().position(|pair| !is_same(pair));
            end = same.map_or(callers.len(), |same| end + same);
            if end == callers.len() || !self.is_same_run(end, stack, layouts) {
                return end;
            }
            end += 1;
        }
    }

    /// Whether all of a run is this stack's, if the frame before it has stayed; false of a single frame.
    fn is_same_run(self, index: usize, stack: &impl Frames, layouts: &Layouts) -> bool {
        if self.pair(index)[0] & FLAGS != IS_RUN {
            return false;
        }
        let first = self.innermost(index, layouts);
        stack.return_address(first.stack) == first.code
            && self.frames_from(index, first, stack, layouts).is_ok()
    }

    /// The state of a run's innermost frame.
    #[inline(always)]
    pub(crate) fn innermost(self, index: usize, layouts: &Layouts) -> State {
        let (pair, run) = (self.pair(index), self.runs[index]);
        let stack = start(pair, run, layouts.size(Run(run).number()));
        State { stack, code: pair[1] }
    }

    /// Of a run.
    pub(crate) fn pair(self, index: usize) -> &'a [u64; 2] {
        &self.states[index]
    }
}

/// The state of a run's outermost frame.
#[inline]
pub(crate) fn outermost(&[stack, code]: &[u64; 2]) -> State {
    State { stack: stack & !FLAGS, code }
}

/// The stack pointer of a run's innermost frame, which like the others is of that size.
#[inline]
pub(crate) fn start(pair: &[u64; 2], run: u32, size: u32) -> u64 {
    outermost(pair).stack.wrapping_sub((Run(run).frames() - 1) as u64 * u64::from(size))
}
