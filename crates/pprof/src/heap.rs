//! A process's heap as it is now, as Go's programs serve theirs: what was allocated and what is in use, in
//! objects and bytes.
//!
//! A sampled block stands for as many as the inverse of its chance to be sampled (Horvitz and Thompson,
//! 1952). A sample of the profile is a backtrace with the blocks of about one size; the label `bytes`
//! says which.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lifetrace_recorder::heap::{Blocks, Snapshot, Sum};
use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::{Location, Source};
use lifetrace_trace::fact::Module;
use lifetrace_trace::frame::Frame;
use rustc_hash::FxHashMap;

use crate::proto::{Label, Line, Profile, Sample};
use crate::tables::{Code, EXECUTABLE, Strings, mapping_id, mappings};
use crate::whole::{TooLarge, apportion};

/// Go's, in Go's order.
const COLUMNS: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// Bytes of a word.
const WORD: u64 = 8;

/// Which of the numbers a reader shows first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// What is in use, in bytes: Go's `heap`.
    InUse,
    /// What was allocated, in bytes: Go's `allocs`.
    Allocated,
}

impl First {
    fn name(self) -> &'static str {
        match self {
            First::InUse => "inuse_space",
            First::Allocated => "alloc_space",
        }
    }
}

/// The profile of a snapshot. Of one [since](Snapshot::since) another it is the difference; what is in
/// use may have become less, and its numbers are negative then.
///
/// # Errors
/// If numbers are too large.
pub fn profile(snapshot: &Snapshot, first: First) -> Result<Profile, TooLarge> {
    let mut strings = Strings::default();
    let sample_type = COLUMNS.map(|(kind, unit)| strings.value_type(kind, unit)).into();
    let period_type = Some(strings.value_type("space", "bytes"));
    let default_sample_type = strings.index(first.name());
    let comment = comments(snapshot).iter().map(|text| strings.index(text)).collect();
    let executable = snapshot.executable.to_string_lossy();
    let mapping = mappings(snapshot.modules.iter().map(|it| &**it), &executable, &mut strings);
    let mut frames = Frames::new(&snapshot.modules);
    let rows = snapshot.blocks.iter().zip(rows(snapshot)?);
    let rows = rows.filter(|(_, values)| values.iter().any(|&value| value != 0));
    let sample = rows.map(|(blocks, values)| Sample {
        location_id: snapshot
            .frames(blocks.backtrace)
            .map(|(number, frame)| frames.id(number, frame, &mut strings))
            .collect(),
        value: values.into(),
        label: vec![Label {
            key: strings.index("bytes"),
            num: i64::try_from(held(blocks)).unwrap_or(i64::MAX),
            num_unit: strings.index("bytes"),
            ..Label::default()
        }],
    });
    let sample = sample.collect();
    let Code { locations, functions, .. } = frames.code;
    let (time, duration) = match snapshot.is_delta {
        true => (snapshot.from, snapshot.duration()),
        false => (snapshot.until, Duration::ZERO),
    };
    Ok(Profile {
        sample_type,
        sample,
        mapping,
        location: locations,
        function: functions,
        time_nanos: nanos(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()),
        duration_nanos: nanos(duration),
        period_type,
        period: longest_interval(snapshot).round() as i64,
        comment,
        default_sample_type,
        string_table: strings.all,
    })
}

/// A profile as [`profile`] makes it, in gzipped bytes: what `/debug/pprof/heap` answers.
///
/// # Errors
/// As [`profile`].
pub fn encode(snapshot: &Snapshot, first: First) -> Result<Vec<u8>, TooLarge> {
    let profile = profile(snapshot, first)?;
    let mut bytes = Vec::new();
    crate::write(&profile, &mut bytes).expect("memory takes all");
    Ok(bytes)
}

/// What all blocks of a snapshot amount to: allocated objects and bytes, objects and bytes in use.
pub fn totals(snapshot: &Snapshot) -> [f64; COLUMNS.len()] {
    let chances = chances(snapshot);
    snapshot.blocks.iter().fold([0.0; COLUMNS.len()], |mut sums, blocks| {
        let values = estimates(blocks, &chances);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        sums
    })
}

/// For each of the snapshot's blocks its numbers, whole ones that add up.
fn rows(snapshot: &Snapshot) -> Result<Vec<[i64; COLUMNS.len()]>, TooLarge> {
    let chances = chances(snapshot);
    let estimates: Vec<_> = snapshot.blocks.iter().map(|it| estimates(it, &chances)).collect();
    let mut rows = vec![[0; COLUMNS.len()]; estimates.len()];
    for (column, (name, _)) in COLUMNS.into_iter().enumerate() {
        let values: Vec<f64> = estimates.iter().map(|row| row[column]).collect();
        for (row, value) in rows.iter_mut().zip(signed(name, &values)?) {
            row[column] = value;
        }
    }
    Ok(rows)
}

fn chances(snapshot: &Snapshot) -> Vec<Chance> {
    snapshot.samplers.iter().map(|it| Chance::per_unit(it.rate)).collect()
}

/// In the order of the columns.
fn estimates(blocks: &Blocks, chances: &[Chance]) -> [f64; COLUMNS.len()] {
    let words = held(blocks).div_ceil(WORD).max(1) as f64;
    let chance = chances.get(blocks.sampler).map_or(1.0, |it| it.any_of(words));
    let objects = |sum: Sum| if blocks.is_growth { 0.0 } else { sum.blocks as f64 / chance };
    let header = header(blocks);
    let bytes = |sum: Sum| (sum.bytes as f64 + (sum.blocks * header) as f64) / chance;
    let (allocated, freed) = (blocks.allocated, blocks.freed);
    [
        objects(allocated),
        bytes(allocated),
        objects(allocated) - objects(freed),
        bytes(allocated) - bytes(freed),
    ]
}

/// Bytes that one takes, a runtime's header included.
fn held(blocks: &Blocks) -> u64 {
    blocks.mean_bytes + header(blocks)
}

fn header(blocks: &Blocks) -> u64 {
    match blocks.source {
        Source::Minor | Source::Major => WORD,
        Source::External => 0,
    }
}

/// Whole numbers that add up, above zero and below.
fn signed(what: &str, values: &[f64]) -> Result<Vec<i64>, TooLarge> {
    let part = |sign: f64| -> Result<_, TooLarge> {
        let part: Vec<f64> = values.iter().map(|value| (sign * value).max(0.0)).collect();
        apportion(what, &part)
    };
    let pairs = part(1.0)?.into_iter().zip(part(-1.0)?);
    Ok(pairs.map(|(more, less)| more as i64 - less as i64).collect())
}

fn comments(snapshot: &Snapshot) -> Vec<String> {
    let samples: u64 = snapshot.blocks.iter().map(|it| it.allocated.blocks).sum();
    let interval = longest_interval(snapshot);
    let mut comments = vec![format!(
        "estimated from {samples} sampled allocations, one sample every {interval:.0} bytes on average"
    )];
    if snapshot.lost > 0 {
        comments.push(format!("{} events were lost before they were counted", snapshot.lost));
    }
    comments
}

/// Bytes between two samples, on average, of the thinnest sampler; 8 if everything is sampled.
fn longest_interval(snapshot: &Snapshot) -> f64 {
    snapshot.samplers.iter().map(|it| WORD as f64 / it.rate).fold(WORD as f64, f64::max)
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// The snapshot's frames as locations.
struct Frames<'a> {
    modules: BTreeMap<u32, &'a Module>,
    code: Code,
    ids: FxHashMap<u32, u64>,
}

impl<'a> Frames<'a> {
    fn new(modules: &'a [Arc<Module>]) -> Self {
        let modules = modules.iter().map(|module| (module.number, &**module)).collect();
        Frames { modules, code: Code::default(), ids: FxHashMap::default() }
    }

    /// The location of a frame, which has this number in the snapshot.
    fn id(&mut self, number: u32, frame: &Frame, strings: &mut Strings) -> u64 {
        if let Some(&id) = self.ids.get(&number) {
            return id;
        }
        let mut lines: Vec<Line> =
            frame.locations.iter().rev().map(|location| self.line(location, strings)).collect();
        if lines.is_empty() {
            lines.push(self.named("(unknown frame)", "", strings));
        }
        let id = self.code.add(self.mapping(frame), lines);
        self.ids.insert(number, id);
        id
    }

    fn mapping(&self, frame: &Frame) -> u64 {
        if self.modules.is_empty() {
            return EXECUTABLE;
        }
        let module = frame.module.and_then(|number| self.modules.get(&number));
        module.map_or(0, |module| mapping_id(module))
    }

    fn line(&mut self, location: &Location, strings: &mut Strings) -> Line {
        let name = match &*location.defname {
            "" => "(unnamed function)",
            name => name,
        };
        // Without a line it is an object file, and no source.
        let file = if location.line > 0 { &*location.filename } else { "" };
        let line = self.named(name, file, strings);
        Line { line: location.line.into(), column: location.start_char.into(), ..line }
    }

    fn named(&mut self, name: &str, file: &str, strings: &mut Strings) -> Line {
        Line { function_id: self.code.function(name, file, strings), ..Line::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_signs_add_up(values in prop::collection::vec(-1e6..1e6f64, 0..500)) {
            let whole = signed("x", &values).unwrap();
            for (value, whole) in values.iter().zip(&whole) {
                prop_assert!((value - *whole as f64).abs() < 1.0);
            }
            let (sum, exact) = (whole.iter().sum::<i64>() as f64, values.iter().sum::<f64>());
            prop_assert!((sum - exact).abs() <= 1.0 + 1e-6);
        }
    }
}
