//! Heap profiles as text: jemalloc's (`heap_v2/524288`), and those of gperftools, tcmalloc and Go, which
//! begin with `heap profile:`.
//!
//! For each backtrace they have the objects and bytes that live, and those that were allocated if the
//! program was told to count them. Of sampled ones these are the samples themselves: who reads them has
//! to scale by `1 / (1 - exp(-size / period))`, as `jeprof` and `pprof` do with the mean size of a
//! backtrace's blocks, and as our estimates do with each.
//!
//! Frames are addresses; behind all comes what was mapped where, and Go writes names into comments.

mod go;
mod header;
mod maps;
mod profile;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use super::fault::{Failure, Fault, read_all};
use super::lacks::{MADE as BLOCKS, NAMELESS};
use super::naming::{Naming, Resolver};
use super::points::{self, Amount, Backtraces, Counted, MADE_WITHOUT_TIMES as MADE, Point};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack};
use profile::Profile;

/// By the first line.
pub fn is_beginning(bytes: &[u8]) -> bool {
    header::BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning))
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
    let (mut profile, problem) = Profile::read(&bytes)?;
    let fault = unread.or(problem);
    if profile.points.is_empty() {
        let nothing = || Fault::of_file("no backtrace in it: nothing was sampled, or not yet");
        return Err(fault.unwrap_or_else(nothing).into());
    }
    let mut naming = Naming::new(resolver);
    profile.name(&mut naming);
    write(&profile, &naming, fault, output)
}

fn write(
    profile: &Profile,
    naming: &Naming<'_>,
    fault: Option<Fault>,
    output: &mut dyn Write,
) -> Result<Imported, Failure> {
    let profiler = profile.header.writer.name().to_owned();
    let command = profile.maps.files.first().map_or_else(String::new, |file| file.path.clone());
    let subject = Subject { command, pid: 0, start: Timestamp(0), profiler };
    let rate = profile.rate();
    let mut scribe = Scribe::new(output, &subject, rate)?;
    scribe.label(BLOCKS, MADE)?;
    scribe.lacks(&profile.lacks())?;
    if let Some(shortfall) = naming.shortfall() {
        scribe.label(NAMELESS, &shortfall)?;
    }
    for module in profile.modules() {
        scribe.fact(Fact::Module(module))?;
    }
    let mut remarks = vec![MADE.to_owned()];
    let points = profile.settled();
    remarks.extend(points::write_moment(&points, rate, Counted::Samples, profile, &mut scribe)?);
    if profile.maps.files.is_empty() {
        remarks.push("the file does not tell what was mapped (MAPPED_LIBRARIES)".to_owned());
    }
    remarks.extend(naming.remarks());
    if let Some(fault) = &fault {
        scribe.label("import.cut", &fault.to_string())?;
    }
    let (births, deaths) = scribe.finish()?;
    Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault })
}

impl Profile {
    /// The probability that a byte was hit, so that a block of `size` bytes was with that of
    /// `1 - exp(-size / period)`.
    fn rate(&self) -> f64 {
        match self.header.period {
            0 | 1 => 1.0,
            period => -(-1.0 / period as f64).exp_m1(),
        }
    }

    fn lacks(&self) -> Vec<Lack> {
        let mut lacks = vec![Lack::Times, Lack::Lifetimes, Lack::Peak, Lack::Threads, Lack::Sizes];
        lacks.extend((!self.tells_allocated()).then_some(Lack::Allocated));
        lacks
    }

    /// What was allocated is at least what lives.
    fn settled(&self) -> Vec<Point> {
        let most = |one: Amount, other: Amount| Amount {
            bytes: one.bytes.max(other.bytes),
            blocks: one.blocks.max(other.blocks),
        };
        let tells_allocated = self.tells_allocated();
        let settle = |point: &Point| match tells_allocated {
            true => Point { total: most(point.total, point.end), ..*point },
            false => Point { total: point.end, ..*point },
        };
        self.points.iter().map(settle).collect()
    }
}

impl Backtraces for Profile {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let from = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[from..self.ends[point]]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        self.frames.get(&code.0).cloned().unwrap_or_default()
    }
}
