//! The frames of a walk that are new, up to where the last walk is met.
//!
//! States are kept as pairs: the stack pointer, and in its lowest bit whether the frame before has returned
//! right to this state, with nothing passed over in between; and the address.

use crate::buffer::Buffer;
use crate::layouts::{Layout, Layouts, Place};
use crate::stack::{Frame, Frames, State, caller};
use crate::tail::Tail;

/// What a walk has found so far and does not leave where it is, in the same terms.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) states: Buffer,
    pub(crate) numbers: Buffer<u32>,
    pub(crate) length: usize,
}

/// How looking up ends.
pub(crate) enum Found {
    /// At a state of the last walk, the one with this index.
    Met(usize),
    /// With the stack.
    End,
    /// With as many frames as are wanted, or the memory for them.
    CutOff,
    /// The recorder could not be told of a frame.
    Lost,
}

pub(crate) const IS_RETURNED_TO: u64 = 1;

/// For frames, from the innermost outwards.
pub(crate) struct Search<'a, F> {
    stack: &'a mut F,
    /// The states of the last walk, and the index to which this one has come.
    last: &'a [[u64; 2]],
    met: usize,
    layouts: &'a mut Layouts,
    /// Of the layout of the frame before.
    place: Place,
}

impl<'a, F: Frames> Search<'a, F> {
    /// In a stack of which the last walk found `last`, from its index `met` on.
    pub(crate) fn new(
        stack: &'a mut F,
        last: &'a [[u64; 2]],
        met: usize,
        layouts: &'a mut Layouts,
    ) -> Self {
        Search { stack, last, met, layouts, place: Place::default() }
    }

    /// Puts frames where there is room for them. How many, and how it ended if not with that.
    ///
    /// Each frame of a walk that is new comes along here, so the loop's variables are to stay in registers.
    #[inline(never)]
    pub(crate) fn fill(&mut self, state: &mut State, room: Room<'_>) -> (usize, Option<Found>) {
        let (mut at, mut place) = (*state, self.place);
        let mut rest = self.last.get(self.met..).unwrap_or_default();
        let mut next = first_stack(rest);
        let mut table = self.layouts.table();
        let mut link = table.link(place);
        let (mut count, mut found) = (0, None);
        for (pair, number) in room.states.iter_mut().zip(room.numbers) {
            if next < at.stack {
                // There is one, as `next` is its.
                let [_, others @ ..] = rest else { break };
                rest = others;
                next = first_stack(rest);
                if next < at.stack {
                    rest = beyond(rest, at.stack);
                    next = first_stack(rest);
                }
            }
            if next == at.stack && rest.first().is_some_and(|pair| pair[1] == at.code) {
                found = Some(Found::Met(self.last.len() - rest.len()));
                break;
            }
            let mut is_returned_to = IS_RETURNED_TO;
            if let Some((next, its_link)) = table.next(link, at.code) {
                (place, link) = (next, its_link);
            } else if let Some(other) = table.find_other(place, at.code) {
                (place, link) = (other, table.link(other));
            } else {
                let (state, layout) = match look_up(self.stack, self.layouts, at) {
                    Ok(frame) => frame,
                    Err(end) => {
                        found = Some(end);
                        break;
                    }
                };
                is_returned_to = if state == at { IS_RETURNED_TO } else { 0 };
                at = state;
                table = self.layouts.table();
                if table.next(link, at.code).is_none() {
                    // So that it is known to come next.
                    table.find_other(place, at.code);
                }
                (place, link) = (layout.number, table.link(layout.number));
            }
            *pair = [at.stack | is_returned_to, at.code];
            *number = place;
            at = caller(self.stack, at, link.size());
            count += 1;
        }
        (*state, self.met, self.place) = (at, self.last.len() - rest.len(), place);
        (count, found)
    }
}

/// Whether there is no frame at `state`.
pub(crate) fn is_over(stack: &impl Frames, mut state: State) -> bool {
    stack.frame(&mut state).is_none()
}

/// The frame of a state, and its own state: another one if something was passed over to come to it.
///
/// # Errors
/// Why there is none.
#[inline(never)]
pub(crate) fn look_up(
    stack: &mut impl Frames,
    layouts: &mut Layouts,
    arrived: State,
) -> Result<(State, Layout), Found> {
    if let Some(known) = layouts.get(arrived.code) {
        return Ok((arrived, known));
    }
    let mut state = arrived;
    let Frame { slot, size } = stack.frame(&mut state).ok_or(Found::End)?;
    let layout = layouts.get_or_insert(state.code, size, |number| stack.tell(slot, number));
    Ok((state, layout.ok_or(Found::Lost)?))
}

#[inline]
pub(crate) fn pairs(states: &Tail) -> &[[u64; 2]] {
    states.words().as_chunks().0
}

#[inline]
pub(crate) fn state_of(&[stack, code]: &[u64; 2]) -> State {
    State { stack: stack & !IS_RETURNED_TO, code }
}

/// The stack pointer of the first one; of none it is beyond all stacks.
#[inline]
fn first_stack(pairs: &[[u64; 2]]) -> u64 {
    pairs.first().map_or(u64::MAX, |pair| pair[0] & !IS_RETURNED_TO)
}

/// From the first one on that is not further in than `stack`, in steps that double: it is mostly near.
#[cold]
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

/// Where frames can be put, of either as many.
pub(crate) struct Room<'a> {
    states: &'a mut [[u64; 2]],
    numbers: &'a mut [u32],
}

impl Fresh {
    /// For no more than `most` in all.
    pub(crate) fn room(&mut self, most: usize) -> Room<'_> {
        let states = self.states.words_mut().as_chunks_mut().0;
        let numbers = self.numbers.words_mut();
        let end = most.min(states.len()).min(numbers.len()).max(self.length);
        Room { states: &mut states[self.length..end], numbers: &mut numbers[self.length..end] }
    }

    /// Adds a frame; false if there are enough, or there is no memory.
    #[inline]
    pub(crate) fn add(
        &mut self,
        state: State,
        number: u32,
        is_returned_to: bool,
        most: usize,
    ) -> bool {
        let at = self.length;
        if at >= most || !self.reserve(at + 1) {
            return false;
        }
        self.states.words_mut()[2 * at..2 * at + 2]
            .copy_from_slice(&[state.stack | u64::from(is_returned_to), state.code]);
        self.numbers.words_mut()[at] = number;
        self.length = at + 1;
        true
    }

    /// Adds frames of another walk, to the first of which this one has returned.
    pub(crate) fn add_all(&mut self, states: &[u64], numbers: &[u32]) -> bool {
        let (at, end) = (self.length, self.length + numbers.len());
        if !self.reserve(end) {
            return false;
        }
        self.states.words_mut()[2 * at..2 * end].copy_from_slice(states);
        self.numbers.words_mut()[at..end].copy_from_slice(numbers);
        if at < end {
            self.states.words_mut()[2 * at] |= IS_RETURNED_TO;
        }
        self.length = end;
        true
    }

    #[inline]
    pub(crate) fn reserve(&mut self, length: usize) -> bool {
        self.states.reserve(2 * length) && self.numbers.reserve(length)
    }
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
