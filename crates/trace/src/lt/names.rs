//! The reader's frames: what numbers and codes stand for.

use rustc_hash::FxHashMap;

use crate::event::{GROWTH, growth_location};
use crate::frame::Frame;
use crate::ids::LocationCode;

/// Frames by number and by code.
#[derive(Debug)]
pub(super) struct Names {
    codes: Vec<LocationCode>,
    frames: FxHashMap<LocationCode, Frame>,
}

impl Names {
    pub(super) fn new() -> Self {
        let growth = Frame::from(vec![growth_location()]);
        Self { codes: Vec::new(), frames: FxHashMap::from_iter([(GROWTH, growth)]) }
    }

    /// At a checkpoint, numbers begin anew; codes keep their meaning.
    pub(super) fn forget_numbers(&mut self) {
        self.codes.clear();
    }

    /// What the next number means.
    pub(super) fn add(&mut self, code: LocationCode, frame: Frame) {
        self.codes.push(code);
        self.frames.insert(code, frame);
    }

    /// The code of a number below [`told`](Self::told).
    #[inline]
    pub(super) fn code(&self, number: u32) -> LocationCode {
        self.codes[number as usize]
    }

    /// How many numbers have a meaning.
    pub(super) fn told(&self) -> u32 {
        self.codes.len() as u32
    }

    pub(super) fn frame(&self, code: LocationCode) -> Option<&Frame> {
        self.frames.get(&code)
    }
}
