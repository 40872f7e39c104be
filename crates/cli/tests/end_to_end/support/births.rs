//! The sampled blocks of a trace as they were born, with whole backtraces: for small traces.

use std::collections::HashMap;
use std::path::Path;

use lifetrace_trace::event::{Event, Location, Source};
use lifetrace_trace::ids::LocationCode;

use super::reader::Reader;

/// A sampled block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Birth {
    pub words: u64,
    /// How many of its units were hit.
    pub hits: u64,
    pub source: Source,
    /// Whether it was promoted later.
    pub is_promoted: bool,
    /// Outermost first, and so within a frame that stands for several functions.
    pub frames: Vec<Vec<Location>>,
}

impl Birth {
    /// The functions, outermost first.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.frames.iter().flatten().map(|location| &*location.defname)
    }

    /// The innermost place.
    pub fn place(&self) -> Option<&Location> {
        self.frames.last()?.last()
    }
}

/// All of a trace, in order.
///
/// # Panics
/// If the trace is damaged.
pub fn of(trace: &Path) -> Vec<Birth> {
    read(trace, |reader, codes| codes.iter().map(|&code| reader.locations(code).to_vec()).collect())
}

/// The births of a trace without their backtraces, which may be too long.
pub fn without_frames(trace: &Path) -> Vec<Birth> {
    read(trace, |_, _| Vec::new())
}

fn read(
    trace: &Path,
    frames: impl Fn(&Reader, &[LocationCode]) -> Vec<Vec<Location>>,
) -> Vec<Birth> {
    let mut reader = Reader::open(trace);
    let (mut births, mut positions) = (Vec::<Birth>::new(), HashMap::new());
    while let Some(step) = reader.next() {
        match step {
            Some((_, Event::Allocation(allocation))) => {
                positions.insert(allocation.id, births.len());
                let (words, hits) = (allocation.length.0, allocation.samples);
                let (source, codes) = (allocation.source, allocation.backtrace.to_vec());
                let frames = frames(&reader, &codes);
                births.push(Birth { words, hits, source, is_promoted: false, frames });
            }
            Some((_, Event::Promotion(id))) => births[positions[&id]].is_promoted = true,
            _ => {}
        }
    }
    births
}
