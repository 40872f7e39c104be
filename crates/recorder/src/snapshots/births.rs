//! Where and when the blocks of a snapshot were sampled, as the process's own trace tells.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::{Event, Location, Source, class_of};
use lifetrace_trace::fact::{Fact, SampledUnit, Sampler};
use lifetrace_trace::ids::{AllocationId, LocationCode, SamplerId, Size, Timestamp};
use lifetrace_trace::lt::{BirthDetails, Item, Reader};
use lifetrace_trace::lth::{Frame, Site};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::samplers::WORD_BITS;

/// The births that were asked for.
#[derive(Debug, Default)]
pub(super) struct Births {
    /// Backtraces.
    pub(super) sites: Vec<Site>,
    pub(super) by_id: FxHashMap<AllocationId, Born>,
}

/// The birth of a sampled block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Born {
    /// Among the sites.
    pub(super) site: usize,
    /// How many blocks as this one it stands for.
    pub(super) weight: f64,
    pub(super) time: Timestamp,
}

impl Births {
    /// Those of the trace as far as it is written; none if it is of another format.
    pub(super) fn read(trace: &Path, wanted: &FxHashSet<AllocationId>) -> Births {
        let opened = File::open(trace).ok().filter(|_| !wanted.is_empty());
        let reader = opened.and_then(|file| Reader::open(BufReader::new(file)).ok());
        reader.map_or_else(Births::default, |reader| Gathering::default().read(reader, wanted))
    }
}

#[derive(Default)]
struct Gathering {
    births: Births,
    samplers: FxHashMap<SamplerId, (SampledUnit, f64)>,
    sites: FxHashMap<Vec<LocationCode>, usize>,
}

impl Gathering {
    /// What of the trace cannot be read tells of no births; the others are told all the same.
    fn read<R: Read>(mut self, mut reader: Reader<R>, wanted: &FxHashSet<AllocationId>) -> Births {
        let of_trace = (SampledUnit::Word, reader.info().sample_rate);
        self.samplers.insert(SamplerId(0), of_trace);
        while self.births.by_id.len() < wanted.len()
            && let Ok(Some((time, item))) = reader.next()
        {
            match item {
                Item::Event(Event::Allocation(birth)) if wanted.contains(&birth.id) => {
                    let (id, source) = (birth.id, birth.source);
                    if let Some(details) = reader.birth().copied() {
                        let born = self.born(&reader, time, source, &details);
                        self.births.by_id.insert(id, born);
                    }
                }
                Item::Event(_) => {}
                Item::Fact(Fact::Sampler(Sampler { id, unit, rate, .. })) => {
                    self.samplers.insert(id, (unit, rate));
                }
                Item::Fact(_) => {}
            }
        }
        self.births
    }

    fn born<R: Read>(
        &mut self,
        reader: &Reader<R>,
        time: Timestamp,
        source: Source,
        details: &BirthDetails,
    ) -> Born {
        let (unit, rate) = self.samplers.get(&details.sampler).copied().unwrap_or(UNKNOWN);
        let weight = Chance::per_unit(rate).any_of(units(unit, source, details.size)).recip();
        Born { site: self.site(reader), weight, time }
    }

    fn site<R: Read>(&mut self, reader: &Reader<R>) -> usize {
        let backtrace = reader.backtrace();
        if let Some(&known) = self.sites.get(backtrace) {
            return known;
        }
        let number = self.births.sites.len();
        self.births.sites.push(site(reader, backtrace));
        self.sites.insert(backtrace.to_vec(), number);
        number
    }
}

/// A sampler of which the trace tells nothing: as if it hit all.
const UNKNOWN: (SampledUnit, f64) = (SampledUnit::Object, 1.0);

/// How many units of a block may be hit. Blocks of a collected heap have a header, which may be hit as well.
fn units(unit: SampledUnit, source: Source, size: Size) -> f64 {
    let units = match unit {
        SampledUnit::Object => 1,
        SampledUnit::Byte => size.bytes(WORD_BITS).0,
        SampledUnit::Word if source == Source::External => size.words(WORD_BITS).0,
        SampledUnit::Word => size.words(WORD_BITS).0 + 1,
    };
    units.max(1) as f64
}

fn site<R: Read>(reader: &Reader<R>, backtrace: &[LocationCode]) -> Site {
    let frame = |location: &Location| Frame {
        function: location.defname.clone(),
        file: location.filename.clone(),
        line: location.line,
    };
    let innermost_first = backtrace.iter().rev();
    let locations = innermost_first.flat_map(|&code| reader.locations(code).iter().rev());
    // What class an object is of the snapshot says itself.
    Site { frames: locations.filter(|it| class_of(it).is_none()).map(frame).collect() }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::ids::{Bytes, Words};

    use super::*;

    #[test]
    fn what_may_be_hit_of_a_block() {
        let two = Size::Words(Words(2));
        assert_eq!(units(SampledUnit::Word, Source::Minor, two), 3.0);
        assert_eq!(units(SampledUnit::Word, Source::External, two), 2.0);
        assert_eq!(units(SampledUnit::Byte, Source::External, Size::Bytes(Bytes(16))), 16.0);
        assert_eq!(units(SampledUnit::Object, Source::Minor, two), 1.0);
    }
}
