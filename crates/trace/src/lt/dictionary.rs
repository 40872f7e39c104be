//! The writer's numbers of frames.

use rustc_hash::FxHashMap;

use super::frames::{MAX_LOCATIONS, MAX_NAME};
use crate::event::Location;
use crate::frame::Frame;
use crate::framing::varint::cut;
use crate::ids::LocationCode;

/// Frames that were asked for lately: most are asked for again and again.
const RECENT: usize = 512;

/// Frames that have been told since the checkpoint, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Dictionary {
    numbers: FxHashMap<LocationCode, u32>,
    codes: Vec<LocationCode>,
    /// By the last digits of their codes; at first a code with other ones.
    recent: Box<[(LocationCode, u32); RECENT]>,
}

impl Dictionary {
    pub(super) fn new() -> Self {
        let (numbers, codes) = (FxHashMap::default(), Vec::new());
        let recent = std::array::from_fn(|digits| (LocationCode(digits as u64 ^ 1), 0));
        Self { numbers, codes, recent: Box::new(recent) }
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The numbers of those of `codes` that come before the first that was not asked for lately; how many these are.
    #[inline]
    pub(super) fn recent(&self, codes: &[LocationCode], numbers: &mut [u32]) -> usize {
        let asked = numbers.iter_mut().zip(codes);
        let found = asked.map_while(|(number, code)| {
            let (known, its_number) = self.recent[code.0 as usize % RECENT];
            *number = its_number;
            (known == *code).then_some(())
        });
        found.count()
    }

    /// Of one that was told.
    pub(super) fn number(&mut self, code: LocationCode) -> Option<u32> {
        let number = self.numbers.get(&code).copied()?;
        self.recent[code.0 as usize % RECENT] = (code, number);
        Some(number)
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
