//! The frames of a walk that are new, up to where the last walk is met.
//!
//! They are put down as the last walk is kept: by [runs](super::last).

use lifetrace_agent::buffer::{Buffer, copy};
use lifetrace_agent::chain::State;
use lifetrace_transport::message::Run;

use super::ahead::Ahead;
use super::last::{IS_APART, IS_RUN, outermost};
use super::layouts::{Layout, LayoutIndex, Layouts};
use super::stack::{Frames, OCamlFrame, caller};

/// What a walk has found so far and does not leave where it is, in the same terms.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) states: Buffer,
    pub(crate) runs: Buffer<u32>,
    /// Of either.
    pub(crate) length: usize,
    /// In all runs together.
    pub(crate) frames: usize,
}

/// So many frames are looked up before a run is looked for: most recursions end sooner, and a run is dearer than a few
/// frames.
pub(crate) const STRETCH: usize = 32;

/// So many frames at a stretch's end are alike if a run is to be looked for.
const ALIKE: usize = 8;

/// How looking up ends.
pub(crate) enum Found {
    /// In this run of the last walk.
    Met(usize),
    /// With the stack.
    End,
    /// With as many frames as are wanted, or the memory for them.
    CutOff,
    /// The recorder could not be told of a frame.
    Lost,
}

/// For frames, from the innermost outwards.
pub(crate) struct Search<'a, F> {
    stack: &'a mut F,
    ahead: Ahead<'a>,
    layouts: &'a mut Layouts,
    /// Of the layout of the frame before.
    place: LayoutIndex,
}

impl<'a, F: Frames> Search<'a, F> {
    /// In a stack of which the last walk is `ahead`.
    pub(crate) fn new(stack: &'a mut F, ahead: Ahead<'a>, layouts: &'a mut Layouts) -> Self {
        Search { stack, ahead, layouts, place: LayoutIndex::default() }
    }

    /// Puts frames where there is room for them, and says how it ended if not with that.
    ///
    /// Each frame of a walk that is new comes along here, so the loop's variables are to stay in registers.
    #[inline(always)]
    pub(crate) fn fill(&mut self, state: &mut State, room: Room<'_>) -> Option<Found> {
        let (mut at, mut place) = (*state, self.place);
        let mut ahead = self.ahead;
        let mut table = self.layouts.table();
        let mut link = table.link(place);
        let (mut count, mut found) = (0, None);
        for (pair, run) in room.states.iter_mut().zip(room.runs) {
            if at.stack >= ahead.start() && ahead.is_met(at, &table) {
                found = Some(Found::Met(ahead.index()));
                break;
            }
            let mut flags = 0;
            if let Some((next, its_link)) = table.next(link, at.code) {
                (place, link) = (next, its_link);
            } else if let Some(other) = table.find_other(place, at.code) {
                (place, link) = (other, table.link(other));
            } else {
                let (state, number) = match self.look_up_after(place, at) {
                    Ok(frame) => frame,
                    Err(end) => {
                        found = Some(end);
                        break;
                    }
                };
                flags = if state == at { 0 } else { IS_APART };
                table = self.layouts.table();
                (at, place, link) = (state, number, table.link(number));
            }
            *pair = [at.stack | flags, at.code];
            *run = place;
            count += 1;
            at = caller(self.stack, at, link.size());
        }
        (*state, self.ahead, self.place) = (at, ahead, place);
        *room.length += count;
        *room.frames += count;
        found
    }

    /// If what was found last recurses, takes what goes on like that for a run, of no more than `most` frames in all.
    #[inline(always)]
    pub(crate) fn follow(&mut self, state: &mut State, fresh: &mut Fresh, most: usize) {
        let Some(last) = fresh.length.checked_sub(1) else { return };
        let pairs = &mut fresh.states.words_mut().as_chunks_mut::<2>().0[..=last];
        let alike = pairs.iter().rev().take(ALIKE).take_while(|pair| pair[1] == state.code);
        let run = &mut fresh.runs.words_mut()[last];
        if alike.count() < ALIKE || Run(*run).frames() > 1 {
            return;
        }
        let (code, size) = (state.code, self.layouts.size(*run));
        let mut frames = 1;
        while state.code == code && !self.is_met(*state) {
            let most = (most - fresh.frames).min(Run::MOST - frames);
            let again = self.ahead.like(self.stack, outermost(&pairs[last]), size, most);
            if again == 0 {
                break;
            }
            pairs[last][0] = (pairs[last][0] | IS_RUN) + again as u64 * u64::from(size);
            frames += again;
            fresh.frames += again;
            *state = caller(self.stack, outermost(&pairs[last]), size);
        }
        *run = Run::new(*run, frames).0;
    }

    #[inline(always)]
    fn is_met(&mut self, state: State) -> bool {
        state.stack >= self.ahead.start() && self.ahead.is_met(state, &self.layouts.table())
    }

    /// The frame of a state, and the number of its layout, which is known to come next after `callee` from now on.
    fn look_up_after(
        &mut self,
        callee: LayoutIndex,
        at: State,
    ) -> Result<(State, LayoutIndex), Found> {
        let (state, layout) = look_up(self.stack, self.layouts, at)?;
        let mut table = self.layouts.table();
        if table.next(table.link(callee), state.code).is_none() {
            table.find_other(callee, state.code);
        }
        Ok((state, layout.number))
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
    let OCamlFrame { slot, size } = stack.frame(&mut state).ok_or(Found::End)?;
    let layout = layouts.get_or_insert(state.code, size, |number| stack.send_name(slot, number));
    Ok((state, layout.ok_or(Found::Lost)?))
}

/// Where runs can be put, and the counts of what is there.
pub(crate) struct Room<'a> {
    states: &'a mut [[u64; 2]],
    runs: &'a mut [u32],
    length: &'a mut usize,
    frames: &'a mut usize,
}

impl Fresh {
    /// None, and no memory for any.
    pub(crate) const fn new() -> Self {
        Fresh { states: Buffer::new(), runs: Buffer::new(), length: 0, frames: 0 }
    }

    /// For a stretch of frames, and no more than `most` in all.
    pub(crate) fn room(&mut self, most: usize) -> Room<'_> {
        let Fresh { states, runs, length, frames } = self;
        let wanted = STRETCH.min(most - *frames);
        let states = &mut states.words_mut().as_chunks_mut().0[*length..];
        let runs = &mut runs.words_mut()[*length..];
        let count = wanted.min(states.len()).min(runs.len());
        let (states, runs) = (&mut states[..count], &mut runs[..count]);
        Room { states, runs, length, frames }
    }

    /// Adds a frame; false if there are enough, or there is no memory.
    #[inline]
    pub(crate) fn add(&mut self, state: State, number: u32, is_apart: bool, most: usize) -> bool {
        let at = self.length;
        if self.frames >= most || !self.reserve(at + 1) {
            return false;
        }
        let flags = if is_apart { IS_APART } else { 0 };
        self.states.words_mut()[2 * at..2 * at + 2]
            .copy_from_slice(&[state.stack | flags, state.code]);
        self.runs.words_mut()[at] = number;
        self.length = at + 1;
        self.frames += 1;
        true
    }

    /// Adds runs of another walk, to the first of which this one has returned, and of that the outermost `first`
    /// frames; false if there are enough then, or there is no memory.
    #[inline(always)]
    pub(crate) fn add_all(
        &mut self,
        (states, runs): (&[u64], &[u32]),
        first: usize,
        layouts: &Layouts,
        most: usize,
    ) -> bool {
        let (at, end) = (self.length, self.length + runs.len());
        let [innermost, others @ ..] = runs else { return true };
        let frames = first + Run::frames_of(others);
        if !self.reserve(end) {
            return false;
        }
        copy(&mut self.states.words_mut()[2 * at..2 * end], states);
        self.states.words_mut()[2 * at] &= !IS_APART;
        copy(&mut self.runs.words_mut()[at..end], runs);
        self.runs.words_mut()[at] = Run::new(Run(*innermost).number(), first).0;
        (self.length, self.frames) = (end, self.frames + frames);
        self.frames <= most || self.cut(layouts, most)
    }

    /// Leaves out frames beyond so many; false.
    #[cold]
    fn cut(&mut self, layouts: &Layouts, most: usize) -> bool {
        while self.frames > most {
            let last = self.length - 1;
            let run = Run(self.runs.words()[last]);
            let gone = run.frames().min(self.frames - most);
            self.frames -= gone;
            if gone == run.frames() {
                self.length = last;
                continue;
            }
            let bytes = gone as u64 * u64::from(layouts.size(run.number()));
            self.states.words_mut()[2 * last] -= bytes;
            self.runs.words_mut()[last] = Run::new(run.number(), run.frames() - gone).0;
        }
        false
    }

    /// States and runs that are there.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (&[u64], &[u32]) {
        (&self.states.words()[..2 * self.length], &self.runs.words()[..self.length])
    }

    #[inline]
    pub(crate) fn reserve(&mut self, length: usize) -> bool {
        self.states.reserve(2 * length) && self.runs.reserve(length)
    }
}
