//! Recordings of heaptrack, as its `heaptrack_interpret` writes them: text, a letter and hexadecimal
//! numbers a line.
//!
//! ```text
//! v VERSION FORMAT     X COMMAND     I PAGE_SIZE PAGES     A (attached to a running program)
//! s LENGTH STRING      i ADDRESS MODULE [FUNCTION FILE LINE]…      t INSTRUCTION PARENT
//! a SIZE BACKTRACE     + CLASS    - CLASS    c MILLISECONDS    R PAGES    # COMMENT
//! ```
//!
//! Each allocation and each free is there, so the trace is exact. Two things are not: a free says the
//! *class* of the block (its size and backtrace), not which of several living ones it is: we take the
//! oldest, which was right more often than the newest in programs that were measured both ways
//! (docs/import.md). And the clock stands still for 10 ms at a time: an event is as early as it can be.
//!
//! A file that was cut, or is damaged, gives all that is before.

mod lines;
mod tables;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Write};

use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::{Bytes, Timestamp};
use rustc_hash::FxHashMap;

use super::fault::{Failure, Fault};
use super::lacks::TIMES;
use super::scribe::{FIRST, NewBlock, Path, Scribe, Subject};
use super::{Imported, Lack, count};
use lines::{Lines, Numbers};
use tables::{Instruction, SourcePlace, Tables};

/// What tables may take, in bytes.
const MEMORY: usize = 2 << 30;

/// The format's versions that we read: before 1, blocks had no classes.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=3;

/// How the first line begins.
pub fn is_beginning(bytes: &[u8]) -> bool {
    bytes.starts_with(b"v ") && bytes.get(2).is_some_and(u8::is_ascii_hexdigit)
}

/// Reads a recording and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(input: impl BufRead, output: &mut dyn Write) -> Result<Imported, Failure> {
    let mut lines = Lines::new(input);
    let head = Head::read(&mut lines)?;
    let mut scribe = Scribe::new(output, &head.subject(), 1.0)?;
    scribe.lacks(&[Lack::Threads])?;
    scribe.label(TIMES, "known to 10 ms; an event is as early as it can be")?;
    let (tables, modules) = (Tables::new(MEMORY), FxHashMap::default());
    Import { scribe, tables, head, modules, ambiguous: 0, unknown: 0 }.run(lines)
}

/// What stands before the first table.
#[derive(Debug, Default)]
struct Head {
    version: u64,
    format: u64,
    command: String,
    page_size: u64,
}

struct Import<'w> {
    scribe: Scribe<'w>,
    tables: Tables,
    head: Head,
    /// What our trace calls modules, by their strings.
    modules: FxHashMap<u64, u32>,
    /// Frees that may have been of another block of the class.
    ambiguous: u64,
    /// Frees of classes that had no living block.
    unknown: u64,
}

/// What is wrong with a line.
enum Wrong {
    /// With this line.
    Line(String),
    /// With the input.
    Fault(Fault),
    Output(io::Error),
}

impl Head {
    /// Stops at the first line of a table or an event, which is still to be taken. A command of
    /// several lines is told as such: what follows its first one, up to the line `I`, is no record.
    fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Self, Fault> {
        let mut head = Self::default();
        if lines.advance()? {
            head.read_version(lines)?;
        }
        while lines.advance()? {
            let (kind, rest) = match lines.line() {
                [kind, b' ', rest @ ..] => (*kind, rest),
                _ => continue,
            };
            match kind {
                b'X' => head.command = String::from_utf8_lossy(rest).into_owned(),
                b'I' => head.page_size = Numbers(rest).next().ok().flatten().unwrap_or(0),
                b'm' | b'x' => return Err(lines.fault(RAW)),
                _ if head.is_whole() && is_record(kind) => break,
                _ => {}
            }
        }
        Ok(head)
    }

    /// Before version 3, the line `I` may be missing.
    fn is_whole(&self) -> bool {
        self.format < 3 || self.page_size > 0
    }

    fn read_version<R: BufRead>(&mut self, lines: &Lines<R>) -> Result<(), Fault> {
        let mut numbers = Numbers(lines.line().strip_prefix(b"v ").unwrap_or_default());
        let version = numbers.need("heaptrack's version").map_err(|it| lines.fault(it))?;
        let format = numbers.next().map_err(|it| lines.fault(it))?.unwrap_or(0);
        if !VERSIONS.contains(&format) {
            let (first, last) = (VERSIONS.start(), VERSIONS.end());
            return Err(lines.fault(format!(
                "version {format} of heaptrack's format; versions {first} to {last} can be read"
            )));
        }
        (self.version, self.format) = (version, format);
        Ok(())
    }

    fn subject(&self) -> Subject {
        let (major, minor, patch) =
            (self.version >> 16, self.version >> 8 & 0xff, self.version & 0xff);
        Subject {
            command: self.command.clone(),
            pid: 0,
            start: Timestamp(0),
            profiler: format!("heaptrack {major}.{minor}.{patch}"),
        }
    }
}

impl Import<'_> {
    fn run<R: BufRead>(mut self, mut lines: Lines<R>) -> Result<Imported, Failure> {
        let fault = loop {
            match self.take_line(&mut lines) {
                Ok(()) => {}
                Err(Wrong::Line(problem)) => break Some(lines.fault(problem)),
                Err(Wrong::Fault(fault)) => break Some(fault),
                Err(Wrong::Output(error)) => return Err(error.into()),
            }
            match lines.advance() {
                Ok(true) => {}
                Ok(false) => break None,
                Err(fault) => break Some(fault),
            }
        };
        self.conclude(fault)
    }

    fn take_line<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<(), Wrong> {
        let (kind, rest) = match lines.line() {
            [kind, b' ', rest @ ..] => (*kind, rest),
            [b'A'] | [] => return Ok(()),
            _ => return Err(odd(lines.line())),
        };
        let mut numbers = Numbers(rest);
        match kind {
            b'+' => self.born(numbers.need("a class of blocks")?),
            b'-' => self.dies(numbers.need("a class of blocks")?),
            b'a' => Ok(self.tables.add_class(numbers.need("a size")?, numbers.need(BACKTRACE)?)?),
            b't' => Ok(self
                .tables
                .add_node(numbers.need("an instruction")?, numbers.need(BACKTRACE)?)?),
            b'i' => self.take_instruction(numbers),
            b's' => self.take_string(lines),
            b'c' => {
                let milliseconds = numbers.need("a time")?;
                self.scribe.advance(Timestamp(milliseconds.saturating_mul(1000)));
                Ok(())
            }
            b'R' => self.take_resident(numbers.need("a number of pages")?),
            b'#' | b'S' | b'X' | b'I' => Ok(()),
            b'm' | b'x' => Err(Wrong::Line(RAW.to_owned())),
            _ => Err(odd(lines.line())),
        }
    }

    fn take_instruction(&mut self, mut numbers: Numbers<'_>) -> Result<(), Wrong> {
        let address = numbers.need("an address")?;
        let module = numbers.next()?.unwrap_or(0);
        let mut places = Vec::new();
        while let Some(function) = numbers.next()? {
            let file = numbers.next()?.unwrap_or(0);
            let line = numbers.next()?.unwrap_or(0);
            places.push(SourcePlace { function, file, line });
        }
        let module_number = self.module(module)?;
        Ok(self.tables.add_frame(Instruction { address, module, places, module_number })?)
    }

    fn module(&mut self, string: u64) -> Result<Option<u32>, Wrong> {
        let Some(path) = self.tables.string(string)?.cloned() else { return Ok(None) };
        if let Some(known) = self.modules.get(&string) {
            return Ok(Some(*known));
        }
        let number = self.scribe.module(path)?;
        self.modules.insert(string, number);
        Ok(Some(number))
    }

    /// Since version 3 strings tell their length.
    fn take_string<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<(), Wrong> {
        let mut begin = 2;
        if self.head.format >= 3 {
            let mut numbers = Numbers(&lines.line()[begin..]);
            let len = numbers.need("a string's length")?;
            begin = lines.line().len() - numbers.0.len();
            let end = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(begin);
            lines.lengthen(end)?;
        }
        Ok(self.tables.add_string(&lines.line()[begin..])?)
    }

    fn take_resident(&mut self, pages: u64) -> Result<(), Wrong> {
        let resident = pages.checked_mul(self.head.page_size).filter(|bytes| *bytes > 0).map(Bytes);
        let counters = Fact::Counters(Counters { resident, ..Counters::default() });
        Ok(self.scribe.fact(counters)?)
    }

    fn born(&mut self, class: u64) -> Result<(), Wrong> {
        let known = self.tables.class(class)?;
        let (block, node) = (NewBlock { size: Bytes(known.size), sampler: FIRST }, known.node);
        let common = self.tables.follow(node);
        let frames = self.tables.backtrace();
        let locate = &mut |code| self.tables.frame(code);
        let id = self.scribe.birth(block, Path { frames, common }, locate)?;
        Ok(self.tables.is_born(class, id)?)
    }

    fn dies(&mut self, class: u64) -> Result<(), Wrong> {
        self.ambiguous += u64::from(self.tables.class(class)?.living.len() > 1);
        match self.tables.dies(class)? {
            Some(id) => Ok(self.scribe.death(id)?),
            None => {
                self.unknown += 1;
                Ok(())
            }
        }
    }

    fn conclude(mut self, fault: Option<Fault>) -> Result<Imported, Failure> {
        let mut remarks = Vec::new();
        if self.ambiguous > 0 {
            let remark = format!(
                "{} of {} frees may have been of another block of the same size and backtrace: \
                 the oldest was taken",
                count(self.ambiguous),
                count(self.scribe.deaths),
            );
            self.scribe.label("import.lifetimes", &remark)?;
            remarks.push(remark);
        }
        if self.unknown > 0 {
            remarks.push(format!(
                "{} frees of blocks that never lived are left out",
                count(self.unknown)
            ));
        }
        if let Some(fault) = &fault {
            self.scribe.label("import.cut", &fault.to_string())?;
        }
        let profiler = self.head.subject().profiler;
        let (births, deaths) = self.scribe.finish()?;
        Ok(Imported { profiler, births, deaths, remarks, fault })
    }
}

const BACKTRACE: &str = "a backtrace";

const RAW: &str = "this is a raw recording (heaptrack --raw), which has no names\n  \
    make it readable with: heaptrack --interpret FILE, and import what that writes";

fn is_record(kind: u8) -> bool {
    b"sita+-cR".contains(&kind)
}

fn odd(line: &[u8]) -> Wrong {
    let beginning = String::from_utf8_lossy(&line[..line.len().min(20)]);
    Wrong::Line(format!(
        "expected a line of heaptrack's (s, i, t, a, +, -, c, R), found {beginning:?}"
    ))
}

impl From<String> for Wrong {
    fn from(problem: String) -> Self {
        Self::Line(problem)
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
