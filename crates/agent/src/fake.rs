//! A stack for tests of walks.

use std::cell::Cell;
use std::collections::HashSet;
use std::vec::Vec;

use crate::stack::{Frame, Frames, State};

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

    fn index(&self, state: State) -> Option<usize> {
        self.frames.iter().position(|it| *it == state)
    }
}

/// By which the recorder knows code.
pub(crate) fn word(code: u64) -> u64 {
    code + 1_000
}

impl Frames for Fake {
    fn frame(&self, state: &mut State) -> Option<Frame> {
        self.looked_up.set(self.looked_up.get() + 1);
        if state.code == 0 {
            // Beyond what was passed over.
            *state = *self.frames.iter().find(|it| it.stack > state.stack)?;
        }
        self.index(*state).map(|_| Frame { slot: state.code + 1, size: size(state.code) })
    }

    fn word(&mut self, slot: u64) -> Option<u64> {
        Some(word(slot - 1)).filter(|_| !self.is_deaf)
    }

    fn return_address(&self, stack: u64) -> u64 {
        self.read.set(self.read.get() + 1);
        let starts: HashSet<u64> = self
            .frames
            .iter()
            .map(|it| it.stack + size(it.code))
            .chain(self.frames.first().map(|it| it.stack))
            .collect();
        assert!(starts.contains(&stack), "a word that is no return address");
        self.frames.iter().find(|it| it.stack == stack).map_or(0, |it| it.code)
    }
}
