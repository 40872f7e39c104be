//! A process's heap as it is now, as Go's programs serve theirs: what was allocated and what is in use, in
//! objects and bytes.
//!
//! A sample of the profile is a backtrace with the blocks of about one size; the label `bytes`
//! says which.

mod frames;
mod values;

use std::time::{Duration, SystemTime};

use lifetrace_recorder::heap::{Blocks, Snapshot};
use lifetrace_trace::event::class_of;
use lifetrace_trace::frame::Frame;

use crate::proto::{Label, Profile, Sample, ValueType};
use crate::tables::{Code, Strings, mappings};
use crate::whole::TooLarge;
use frames::Frames;

pub use values::totals;

/// What the numbers are called, and what they are of, in this order.
type Columns = [(&'static str, &'static str); values::NUMBERS];

/// Go's.
const GO: Columns = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// Of a heap of which objects are hit: they are measured as they are now, with all that belongs to them. The names are
/// ruby_memprofiler_pprof's.
const RETAINED: Columns = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("retained_objects", "count"),
    ("retained_size", "bytes"),
];

/// Which of the numbers a reader shows first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// What is in use, or retained, in bytes: Go's `heap`.
    InUse,
    /// What was allocated, in bytes: Go's `allocs`.
    Allocated,
}

impl First {
    fn of(self, columns: &Columns) -> &'static str {
        let [_, (allocated, _), _, (in_use, _)] = *columns;
        match self {
            First::InUse => in_use,
            First::Allocated => allocated,
        }
    }
}

fn columns(snapshot: &Snapshot) -> Columns {
    if values::hits_objects(snapshot) { RETAINED } else { GO }
}

/// The profile of a snapshot. Of one [since](Snapshot::since) another it is the difference; what is in
/// use may have become less, and its numbers are negative then. An object's class is a label, and no frame.
///
/// # Errors
/// If numbers are too large.
pub fn profile(snapshot: &Snapshot, first: First) -> Result<Profile, TooLarge> {
    let mut strings = Strings::default();
    let columns = columns(snapshot);
    let sample_type = columns.map(|(kind, unit)| strings.value_type(kind, unit)).into();
    let period_type = Some(period_type(snapshot, &mut strings));
    let default_sample_type = strings.index(first.of(&columns));
    let comment = comments(snapshot).iter().map(|text| strings.index(text)).collect();
    let executable = snapshot.executable.to_string_lossy();
    let mapping = mappings(snapshot.modules.iter().map(|it| &**it), &executable, &mut strings);
    let mut frames = Frames::new(&snapshot.modules);
    let rows = values::rows(snapshot, columns.map(|(name, _)| name))?;
    let rows = snapshot.blocks.iter().zip(rows);
    let rows = rows.filter(|(_, values)| values.iter().any(|&value| value != 0));
    let sample = rows.map(|(blocks, values)| {
        let backtrace = snapshot.frames(blocks.backtrace);
        let backtrace = backtrace.filter(|(_, frame)| class(frame).is_none());
        Sample {
            location_id: backtrace
                .map(|(number, frame)| frames.id(number, frame, &mut strings))
                .collect(),
            value: values.into(),
            label: labels(blocks, snapshot, &mut strings),
        }
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
        period: values::longest_interval(snapshot).round() as i64,
        comment,
        default_sample_type,
        string_table: strings.all,
    })
}

fn labels(blocks: &Blocks, snapshot: &Snapshot, strings: &mut Strings) -> Vec<Label> {
    let mut labels = vec![Label {
        key: strings.index("bytes"),
        num: i64::try_from(values::held(blocks, snapshot)).unwrap_or(i64::MAX),
        num_unit: strings.index("bytes"),
        ..Label::default()
    }];
    let innermost = snapshot.frames(blocks.backtrace).next();
    if let Some(class) = innermost.and_then(|(_, frame)| class(frame)) {
        labels.push(Label {
            key: strings.index("class"),
            text: strings.index(class),
            ..Label::default()
        });
    }
    labels
}

fn class(frame: &Frame) -> Option<&str> {
    frame.locations.first().and_then(class_of)
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

/// What the period is of: the sampler's unit.
fn period_type(snapshot: &Snapshot, strings: &mut Strings) -> ValueType {
    match values::hits_objects(snapshot) {
        true => strings.value_type("objects", "count"),
        false => strings.value_type("space", "bytes"),
    }
}

fn comments(snapshot: &Snapshot) -> Vec<String> {
    let samples: u64 = snapshot.blocks.iter().map(|it| it.allocated.blocks).sum();
    let interval = values::longest_interval(snapshot);
    let unit = if values::hits_objects(snapshot) { "objects" } else { "bytes" };
    let mut comments = vec![format!(
        "estimated from {samples} sampled allocations, one sample every {interval:.0} {unit} on average"
    )];
    if snapshot.lost > 0 {
        comments.push(format!("{} events were lost before they were counted", snapshot.lost));
    }
    comments
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
