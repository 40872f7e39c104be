//! Heap profiles of pprof: a message of protocol buffers, as Go, jemalloc, tcmalloc and others write
//! them.
//!
//! For each backtrace it has the bytes and objects that were allocated, or that live, or both. Most
//! profiles are sampled, and their writers scale what they saw: by `1 / (1 - exp(-size / period))`,
//! so that the blocks that were sampled can be found again, and our intervals are as they should be.
//! What is not sampled is made into as many blocks as it says.
//!
//! There are no times and no lifetimes: what was freed is born and dies in one moment, before all that
//! lives is born.

mod profile;
mod values;
mod wire;

use std::io::{Read, Write};

use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use super::fault::{Failure, Fault, Position, read_all};
use super::lacks::{MADE as BLOCKS, NAMELESS};
use super::naming::{Naming, Resolver};
use super::points::{self, Backtraces, Counted, MADE_WITHOUT_TIMES as MADE, Point};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack};
use profile::Profile;
use values::Columns;

/// One of a profile's fields, in the way it is written: encoders have different orders.
pub fn is_beginning(bytes: &[u8]) -> bool {
    const BYTES: &[u8] = &[1, 2, 3, 4, 5, 6, 11, 13];
    const NUMBERS: &[u8] = &[7, 8, 9, 10, 12, 14];
    bytes.first().is_some_and(|tag| match tag & 7 {
        0 => NUMBERS.contains(&(tag >> 3)),
        2 => BYTES.contains(&(tag >> 3)),
        _ => false,
    })
}

/// Whether a file that may be anything begins as a profile of pprof: several whole fields, the first of which says what was
/// counted or is a string, and no field that a profile does not have.
pub fn is_surely_beginning(bytes: &[u8]) -> bool {
    let (mut message, mut fields) = (wire::Message::new(bytes), 0);
    loop {
        let rest = &bytes[message.position()..];
        if !rest.is_empty() && !is_beginning(rest) {
            return false;
        }
        match message.next() {
            Ok(Some(field)) => match (field.number, field.value) {
                (1 | 11, wire::Value::Bytes(pair)) if !is_type(pair) => return false,
                (1, _) | (6, wire::Value::Bytes([])) => fields += 1,
                _ => {}
            },
            // The last field may be cut, as the beginning is.
            Ok(None) | Err(_) => return fields >= 2,
        }
    }
}

/// A name and a unit.
fn is_type(bytes: &[u8]) -> bool {
    let mut message = wire::Message::new(bytes);
    loop {
        match message.next() {
            Ok(Some(field)) if matches!(field.number, 1 | 2) => {}
            Ok(Some(_)) | Err(_) => return false,
            Ok(None) => return true,
        }
    }
}

/// Reads a profile and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(
    input: impl Read,
    output: &mut dyn Write,
    resolver: &mut dyn Resolver,
) -> Result<Imported, Failure> {
    let (bytes, unread) = read_all(input);
    let (mut profile, problem) = Profile::read(&bytes);
    if profile.types.is_empty() && profile.samples.is_empty() {
        return Err(super::unknown(&bytes).into());
    }
    let position = |at: usize| Position { line: None, byte: at as u64 };
    let fault = unread.or(problem.map(|(at, problem)| Fault::new(position(at), problem)));
    let columns = Columns::find(&profile.type_names());
    let values = profile.samples.iter().map(|it| &profile.values[it.values.0..it.values.1]);
    match columns.and_then(|columns| columns.without_differences(values)) {
        Ok((columns, remark)) => {
            let mut naming = Naming::new(resolver);
            profile.name(&mut naming);
            write(&profile, columns, &naming, remark, fault, output)
        }
        Err(problem) => Err(fault.unwrap_or_else(|| Fault::of_file(problem)).into()),
    }
}

fn write(
    profile: &Profile<'_>,
    columns: Columns,
    naming: &Naming<'_>,
    remark: Option<String>,
    fault: Option<Fault>,
    output: &mut dyn Write,
) -> Result<Imported, Failure> {
    let (start, end) = profile.times();
    let profiler = "pprof".to_owned();
    let subject = Subject { command: profile.program(), pid: 0, start, profiler };
    let mut scribe = Scribe::new(output, &subject, profile.rate())?;
    let points = profile.points(columns);
    scribe.label(BLOCKS, MADE)?;
    scribe.lacks(&profile.lacks(columns, &points))?;
    if let Some(shortfall) = naming.shortfall() {
        scribe.label(NAMELESS, &shortfall)?;
    }
    for module in profile.modules() {
        scribe.fact(Fact::Module(module))?;
    }
    let mut remarks = vec![MADE.to_owned()];
    let counted = if columns.has_objects() { Counted::Blocks } else { Counted::Bytes };
    remarks.extend(points::write_moment(&points, profile.rate(), counted, profile, &mut scribe)?);
    if let Some(remark) = remark {
        scribe.label("import.difference", &remark)?;
        remarks.push(remark);
    }
    remarks.extend(naming.remarks());
    if counted == Counted::Bytes {
        remarks
            .push("objects are not told: bytes are right, the made blocks mean nothing".to_owned());
    }
    if profile.period() == Period::Unknown {
        remarks.push("how it was sampled is not told: no intervals can be given".to_owned());
    }
    if let Some(fault) = &fault {
        scribe.label("import.cut", &fault.to_string())?;
    }
    scribe.advance(end);
    let (births, deaths) = scribe.finish()?;
    Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault })
}

impl Profile<'_> {
    fn points(&self, columns: Columns) -> Vec<Point> {
        let point = |sample: &profile::Sample| {
            let (total, end) = columns.amounts(&self.values[sample.values.0..sample.values.1]);
            // Go tells the size of the blocks so.
            let size = sample.label.filter(|(key, _)| self.string(*key) == "bytes");
            Point { total, end, size: size.map(|(_, size)| size), ..Point::default() }
        };
        self.samples.iter().map(point).collect()
    }

    /// When what is told began and ended.
    fn times(&self) -> (Timestamp, Timestamp) {
        let (end, duration) = (self.time_nanos / 1000, self.duration_nanos / 1000);
        (Timestamp(end.saturating_sub(duration)), Timestamp(end))
    }

    /// The first object file is the program.
    fn program(&self) -> String {
        self.modules().next().map_or_else(String::new, |module| module.path.to_string())
    }

    /// The probability that a byte is hit; 1 if the profile is not known to be sampled by bytes.
    fn rate(&self) -> f64 {
        match self.period() {
            Period::Bytes(bytes) => 1.0 / bytes as f64,
            Period::All | Period::Unknown => 1.0,
        }
    }

    fn period(&self) -> Period {
        let Some(name) = self.period_type.map(|name| self.string(name)) else {
            return Period::Unknown;
        };
        match i64::try_from(self.period) {
            _ if !values::is_of_bytes(&name) => Period::Unknown,
            Ok(1) => Period::All,
            Ok(2..) => Period::Bytes(self.period),
            _ => Period::Unknown,
        }
    }

    fn lacks(&self, columns: Columns, points: &[Point]) -> Vec<Lack> {
        let knows_sizes = columns.has_objects() && points.iter().all(|point| point.size.is_some());
        let lacks = [
            (Lack::Sizes, !knows_sizes),
            (Lack::Allocated, !columns.tells_allocated()),
            (Lack::Live, !columns.tells_live()),
            (Lack::Objects, !columns.has_objects()),
            (Lack::Sampling, self.period() == Period::Unknown),
        ];
        let never = [Lack::Times, Lack::Lifetimes, Lack::Peak, Lack::Threads];
        let lacks = lacks.into_iter().filter_map(|(lack, is_so)| is_so.then_some(lack));
        never.into_iter().chain(lacks).collect()
    }
}

/// How a profile was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    /// Not at all.
    All,
    /// So many bytes from one sample to the next, on average.
    Bytes(u64),
    /// Nobody says.
    Unknown,
}

impl Backtraces for Profile<'_> {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let (from, to) = self.samples[point].codes;
        &self.codes[from..to]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        self.locate(code)
    }
}
