//! Profiles of DHAT: JSON, version 2, as Valgrind's tool and the Rust crate of that name write it.
//!
//! For each point of the program it has the blocks and bytes of the whole run, those alive at the peak
//! and at the end, and the sum of all lifetimes, but nothing of single blocks: `points` makes some.
//!
//! Valgrind counts time in instructions; in our trace one is a microsecond.

mod json;

use std::io::{ErrorKind, Read, Write};

use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use super::fault::{Failure, Fault};
use super::lacks::MADE as BLOCKS;
use super::points::{self, Backtraces, Times};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack, valgrind};
use json::File;

/// The only version there is.
const VERSION: u64 = 2;

/// What a label of every such trace says.
const MADE: &str = "blocks are made from sums: those of each program point are right, at the peak and \
    at the end too; lifetimes are the mean of a point; sizes of single blocks, order and times are not known";

/// Of single blocks and of times; of lifetimes only the sum of each point.
const LACKS: [Lack; 4] = [Lack::Times, Lack::Lifetimes, Lack::Sizes, Lack::Threads];

/// An object of JSON.
pub fn is_beginning(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

/// Reads a profile and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(input: impl Read, output: &mut dyn Write) -> Result<Imported, Failure> {
    let (file, error) = File::read(input);
    let fault = error.map(|error| Fault::of_file(because(&error)));
    if let Some(problem) = file.is_unusable() {
        return Err(fault.unwrap_or_else(|| Fault::of_file(problem)).into());
    }
    let subject = file.subject();
    let mut scribe = Scribe::new(output, &subject, 1.0)?;
    scribe.label(BLOCKS, MADE)?;
    scribe.lacks(&LACKS)?;
    if file.time_unit == "instrs" {
        scribe.label(super::CLOCK, "a microsecond stands for an instruction")?;
    }
    let times = file.times();
    let mut remarks = vec![MADE.to_owned()];
    remarks.extend(points::write(&file.points, times, &file, &mut scribe)?);
    remarks.extend(file.nameless());
    if let Some(fault) = &fault {
        scribe.label("import.cut", &fault.to_string())?;
    }
    let (births, deaths) = scribe.finish()?;
    Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault })
}

impl File {
    /// Why there is nothing to be imported.
    fn is_unusable(&self) -> Option<String> {
        match self.version {
            None => {
                return Some("expected DHAT's JSON, which has a field \"dhatFileVersion\"".into());
            }
            Some(VERSION) => {}
            Some(other) => {
                return Some(format!("version {other} of DHAT's format; {VERSION} can be read"));
            }
        }
        if !self.has_lives && !self.points.is_empty() {
            let mode = &self.mode;
            return Some(format!(
                "a profile of DHAT's mode {mode:?} is not about blocks of memory\n  \
                 only those of mode \"heap\" can be imported"
            ));
        }
        self.points.is_empty().then(|| "no program points in it".to_owned())
    }

    fn subject(&self) -> Subject {
        let is_rust = self.mode.starts_with("rust-");
        let profiler = if is_rust { "DHAT (crate dhat)" } else { "DHAT (Valgrind)" };
        let command = self.command.clone();
        Subject { command, pid: self.pid, start: Timestamp(0), profiler: profiler.to_owned() }
    }

    fn times(&self) -> Times {
        let peak = self.peak.unwrap_or(self.end);
        Times { peak, end: self.end.max(peak) }
    }

    /// What is to be said of frames without names.
    fn nameless(&self) -> Option<String> {
        let count = self.frames.len() as u64;
        let unknown = self.codes.iter().filter(|code| code.0 >= count).count() as u64;
        let counted = super::count(unknown);
        (unknown > 0).then(|| format!("{counted} frames of backtraces are not in the file's table"))
    }
}

impl Backtraces for File {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let from = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[from..self.ends[point]]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        let text = usize::try_from(code.0).ok().and_then(|index| self.frames.get(index));
        text.map_or_else(Frame::default, |text| valgrind::parse(text))
    }
}

fn because(error: &serde_json::Error) -> String {
    let is_cut = error.is_eof() || error.io_error_kind() == Some(ErrorKind::UnexpectedEof);
    match is_cut {
        true => format!("the file is cut at line {} column {}", error.line(), error.column()),
        false => error.to_string(),
    }
}
