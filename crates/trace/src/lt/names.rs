//! The reader's frames: what codes stand for.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::event::{GROWTH, growth_location};
use crate::frame::Frame;
use crate::ids::LocationCode;

/// Frames by code. Codes keep their meaning from one checkpoint to the next.
#[derive(Debug)]
pub(super) struct Names(FxHashMap<LocationCode, Frame>);

impl Names {
    pub(super) fn new() -> Self {
        Self(FxHashMap::from_iter([(GROWTH, Frame::from(vec![growth_location()]))]))
    }

    /// What a code means. Most frames are told once in each segment: the first one stays, so that
    /// there is one string for each name.
    pub(super) fn add(&mut self, code: LocationCode, frame: Frame) {
        match self.0.entry(code) {
            Entry::Vacant(vacant) => drop(vacant.insert(frame)),
            Entry::Occupied(known) if *known.get() == frame => {}
            Entry::Occupied(mut other) => drop(other.insert(frame)),
        }
    }

    pub(super) fn frame(&self, code: LocationCode) -> Option<&Frame> {
        self.0.get(&code)
    }
}
