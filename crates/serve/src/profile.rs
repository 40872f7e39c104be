//! What a process has allocated and holds, as Go's programs tell it of themselves: a profile for pprof.

use lifetrace_pprof::proto::{Function, Line, Location, Mapping, Profile, Sample};
use lifetrace_pprof::tables::Strings;

use crate::ledger::{Ledger, Tables, Values};
use crate::route::First;

/// Go's names and their order, which readers rely on.
const TYPES: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// What a profile says beside its samples.
#[derive(Clone, Debug)]
pub struct About {
    /// The moment that it is of, or at which it begins, in nanoseconds since 1970.
    pub time: i64,
    /// How long that lasts, in nanoseconds; 0 for a moment.
    pub duration: i64,
    /// Bytes between two samples.
    pub interval: i64,
    /// What is shown first.
    pub first: First,
    /// Where the numbers come from, for people.
    pub comments: Vec<String>,
}

/// A profile of these values, by backtrace. Each is rounded for itself, so that what only grows does so here as well.
pub fn profile(ledger: &Ledger, values: &[Values], about: &About) -> Profile {
    let mut used = Used::new(ledger.tables());
    let samples = values.iter().enumerate().filter_map(|(stack, values)| {
        let value: Vec<i64> = values.iter().map(|value| value.round() as i64).collect();
        let is_some = value.iter().any(|&value| value != 0);
        is_some.then(|| {
            let location_id = ledger.stack(stack).iter().map(|&id| used.location(id)).collect();
            Sample { location_id, value, label: Vec::new() }
        })
    });
    let sample = samples.collect();
    let first = match about.first {
        First::InUse => "inuse_space",
        First::Allocated => "alloc_space",
    };
    let strings = &mut used.strings;
    Profile {
        sample_type: TYPES.map(|(name, unit)| strings.value_type(name, unit)).to_vec(),
        sample,
        period_type: Some(strings.value_type("space", "bytes")),
        period: about.interval,
        default_sample_type: strings.index(first),
        comment: about.comments.iter().map(|text| strings.index(text)).collect(),
        time_nanos: about.time,
        duration_nanos: about.duration,
        mapping: used.mappings,
        location: used.locations,
        function: used.functions,
        string_table: used.strings.all,
    }
}

/// Of a ledger's tables, what a profile refers to: numbered anew.
struct Used<'a> {
    of: Tables<'a>,
    strings: Strings,
    locations: Vec<Location>,
    functions: Vec<Function>,
    mappings: Vec<Mapping>,
    /// By their ids in the ledger: 0 for what is not used.
    location_ids: Vec<u64>,
    function_ids: Vec<u64>,
    mapping_ids: Vec<u64>,
}

impl<'a> Used<'a> {
    fn new(of: Tables<'a>) -> Self {
        let none = |length: usize| vec![0; length + 1];
        Self {
            location_ids: none(of.locations.len()),
            function_ids: none(of.functions.len()),
            mapping_ids: none(of.mappings.len()),
            strings: Strings::default(),
            locations: Vec::new(),
            functions: Vec::new(),
            mappings: Vec::new(),
            of,
        }
    }

    fn location(&mut self, id: u64) -> u64 {
        let place = id as usize;
        if self.location_ids[place] == 0 {
            let Location { mapping_id, line, .. } = &self.of.locations[place - 1];
            let lines: Vec<_> = line.clone();
            let line = lines.into_iter().map(|line| self.line(line)).collect();
            let mapping_id = self.mapping(*mapping_id);
            let id = self.locations.len() as u64 + 1;
            self.locations.push(Location { id, mapping_id, line });
            self.location_ids[place] = id;
        }
        self.location_ids[place]
    }

    fn line(&mut self, line: Line) -> Line {
        let place = line.function_id as usize;
        if self.function_ids[place] == 0 {
            let function = self.of.functions[place - 1].clone();
            let (name, filename) = (self.text(function.name), self.text(function.filename));
            let id = self.functions.len() as u64 + 1;
            self.functions.push(Function { id, name, filename, ..function });
            self.function_ids[place] = id;
        }
        Line { function_id: self.function_ids[place], ..line }
    }

    fn mapping(&mut self, id: u64) -> u64 {
        let place = id as usize;
        if place > 0 && self.mapping_ids[place] == 0 {
            let mapping = self.of.mappings[place - 1].clone();
            let (filename, build_id) = (self.text(mapping.filename), self.text(mapping.build_id));
            let id = self.mappings.len() as u64 + 1;
            self.mappings.push(Mapping { id, filename, build_id, ..mapping });
            self.mapping_ids[place] = id;
        }
        self.mapping_ids[place]
    }

    fn text(&mut self, index: i64) -> i64 {
        self.strings.index(&self.of.strings[index as usize])
    }
}
