//! The writer's numbers of frames.

use rustc_hash::FxHashMap;

use super::frames::{MAX_LOCATIONS, MAX_NAME};
use super::header::cut;
use crate::event::Location;
use crate::frame::Frame;
use crate::ids::LocationCode;

/// Frames that have been told since the checkpoint, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    numbers: FxHashMap<LocationCode, u32>,
    codes: Vec<LocationCode>,
}

impl Dictionary {
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn number(&self, code: LocationCode) -> Option<u32> {
        self.numbers.get(&code).copied()
    }

    pub(super) fn code(&self, number: u32) -> LocationCode {
        self.codes[number as usize]
    }

    /// Gives a frame the next number.
    pub(super) fn add(&mut self, code: LocationCode) -> u32 {
        let number = self.codes.len() as u32;
        self.codes.push(code);
        self.numbers.insert(code, number);
        number
    }
}

/// A frame as far as it can be written.
pub(super) fn fitted(mut frame: Frame) -> Frame {
    frame.locations.truncate(MAX_LOCATIONS);
    frame.locations.iter_mut().for_each(fit);
    frame
}

fn fit(location: &mut Location) {
    for name in [&mut location.filename, &mut location.defname] {
        if name.len() > MAX_NAME {
            *name = cut(name, MAX_NAME).into();
        }
    }
}
