//! A stack for tests of walks.

use std::cell::Cell;
use std::collections::HashMap;
use std::iter::repeat_n;
use std::vec::Vec;

use lifetrace_agent::chain::{Chain, State};
use lifetrace_transport::message::Run;

use super::stack::{Frames, OCamlFrame};
use super::{Fresh, Layouts, Walk};

/// A stack of frames, outermost last. The code of a frame says how large it is; every seventh begins a
/// part that another kind of code lies below, as where C code has called back.
#[derive(Default)]
pub(crate) struct Fake {
    /// Code and stack pointer.
    pub(crate) frames: Vec<State>,
    pub(crate) looked_up: Cell<usize>,
    pub(crate) read: Cell<usize>,
    /// Whether nothing can be told.
    pub(crate) is_deaf: bool,
    /// What was told: the numbers of code.
    pub(crate) told: HashMap<u64, u32>,
    /// Room for a walk.
    fresh: Fresh,
}

const TOP: u64 = 1 << 40;
pub(crate) const CROSSING: u64 = 7;

fn size(code: u64) -> u64 {
    16 + code % 3 * 8
}

impl Fake {
    pub(crate) fn push(&mut self, code: u64) {
        let outer = self.frames.first();
        let below = outer.map_or(TOP, |outer| {
            // Other code lies between.
            outer.stack - if outer.code % CROSSING == 0 { 64 } else { 0 }
        });
        self.frames.insert(0, State { stack: below - size(code), code });
    }

    /// By which the recorder knows code.
    pub(crate) fn number(&self, code: u64) -> u32 {
        self.told[&code]
    }

    /// By which it knows the frames, innermost first.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.frames.iter().map(|it| self.number(it.code)).collect()
    }

    /// Walks it from `state` on.
    pub(crate) fn walk(
        &mut self,
        chain: &mut Chain,
        layouts: &mut Layouts,
        state: State,
        most: usize,
    ) -> Walk {
        let mut fresh = std::mem::take(&mut self.fresh);
        let walk = super::walk(chain, &mut fresh, self, layouts, state, most);
        self.fresh = fresh;
        walk
    }

    fn index(&self, state: State) -> Option<usize> {
        self.frames.iter().position(|it| *it == state)
    }
}

/// Of each frame of these runs its number.
pub(crate) fn numbers_of(runs: &[u32]) -> Vec<u32> {
    runs.iter().flat_map(|&run| repeat_n(Run(run).number(), Run(run).frames())).collect()
}

impl Frames for Fake {
    fn frame(&self, state: &mut State) -> Option<OCamlFrame> {
        self.looked_up.set(self.looked_up.get() + 1);
        if state.code == 0 {
            // Beyond what was passed over.
            *state = *self.frames.iter().find(|it| it.stack > state.stack)?;
        }
        self.index(*state)
            .map(|_| OCamlFrame { slot: state.code + 1, size: size(state.code) as u32 })
    }

    fn send_name(&mut self, slot: u64, number: Option<u32>) -> bool {
        let number = number.unwrap();
        if !self.is_deaf {
            assert!(self.told.values().all(|&other| other != number));
            assert_eq!(self.told.insert(slot - 1, number), None);
        }
        !self.is_deaf
    }

    fn return_address(&self, stack: u64) -> u64 {
        self.read.set(self.read.get() + 1);
        let is_first = self.frames.first().is_some_and(|it| it.stack == stack);
        let is_end = |it: &State| it.stack + size(it.code) == stack;
        assert!(is_first || self.frames.iter().any(is_end), "a word that is no return address");
        self.frames.iter().find(|it| it.stack == stack).map_or(0, |it| it.code)
    }
}
