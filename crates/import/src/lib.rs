//! Reads what other memory profilers wrote, and writes it as a trace of ours.
//!
//! ```text
//! bytes -> unpack (gzip, zstd) -> heaptrack -----------------------> scribe -> .lt
//!                              -> dhat, massif, memray, v8 -> points ^
//!                              -> pprof, text -> naming --^
//! ```
//!
//! Which profiler it was is told by the content, not by the file's name. heaptrack tells every event;
//! the others tell sums for each point of the program, from which `points` makes blocks:
//! docs/import.md says how, and what is not to be read from them. Some have addresses only, for which
//! `naming` asks whoever can find names.
//!
//! An input that is cut or damaged gives all that comes before; then there is a [`Fault`] beside it.
//! Memory is bounded, however much a small packed file can ask for.
//!
//! Nothing here knows of reports: it is traces that are made.
#![forbid(unsafe_code)]

mod budget;
#[cfg(test)]
mod checking;
mod dhat;
mod fault;
pub mod foreign;
mod heap_text;
mod heaptrack;
pub mod lacks;
mod lines;
mod massif;
mod memray;
pub mod naming;
mod points;
mod pprof;
mod scribe;
mod unpack;
mod v8;
mod valgrind;

use std::io::{BufRead, BufReader, Cursor, Read, Write};

use fault::Position;
pub use fault::{Failure, Fault};
use foreign::{Foreign, Reader};
pub use lacks::Lack;
use naming::Resolver;

/// The label of traces whose clock does not tell microseconds.
pub const CLOCK: &str = "import.clock";

/// Longer files of sums are taken as cut, in bytes: they are held in memory.
const LONGEST: u64 = 256 << 20;

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    /// Who wrote it, with its version.
    pub profiler: String,
    /// Blocks in our trace.
    pub births: u64,
    /// Those of them that are freed in it.
    pub deaths: u64,
    /// What one should know before trusting the numbers.
    pub remarks: Vec<String>,
    /// Why there is not more.
    pub fault: Option<Fault>,
}

/// Reads a file of another profiler and writes a trace. Names that the file lacks are the resolver's
/// to find.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(
    input: impl BufRead,
    output: &mut dyn Write,
    resolver: &mut dyn Resolver,
) -> Result<Imported, Failure> {
    let start = Position { line: None, byte: 0 };
    let mut unpacked = unpack::unpack(input).map_err(|error| Fault::of_reading(start, &error))?;
    let mut beginning = Vec::new();
    let read = (&mut unpacked).take(foreign::BEGINNING).read_to_end(&mut beginning);
    if let (Err(error), true) = (read, beginning.is_empty()) {
        return Err(Fault::of_reading(start, &error).into());
    }
    let known = Cursor::new(beginning.clone());
    let input = BufReader::with_capacity(1 << 16, known.chain(unpacked));
    if let Some(fault) = foreign::of_unpacked(&beginning).and_then(cannot_be_imported) {
        return Err(fault.into());
    }
    if heaptrack::is_beginning(&beginning) {
        return heaptrack::import(input, output);
    }
    if heap_text::is_beginning(&beginning) {
        return heap_text::import(input.take(LONGEST), output, resolver);
    }
    if memray::is_beginning(&beginning) {
        return memray::import(input.take(LONGEST), output);
    }
    if v8::is_beginning(&beginning) {
        return v8::import(input.take(LONGEST), output);
    }
    if massif::is_beginning(&beginning) {
        return massif::import(input.take(LONGEST), output);
    }
    if dhat::is_beginning(&beginning) {
        return dhat::import(input.take(LONGEST), output);
    }
    if pprof::is_beginning(&beginning) {
        return pprof::import(input.take(LONGEST), output, resolver);
    }
    Err(unknown(&beginning).into())
}

/// What is somebody else's to read, or to make readable.
fn cannot_be_imported(foreign: Foreign) -> Option<Fault> {
    match foreign.reader {
        Reader::Import => None,
        Reader::ImportAfter(_) | Reader::Other(_) => Some(Fault::of_file(foreign.advice("FILE"))),
    }
}

fn unknown(beginning: &[u8]) -> Fault {
    let known = "expected a recording of heaptrack, DHAT's JSON, a flamegraph of memray, or a heap \
        profile of pprof, jemalloc, gperftools, massif or V8";
    let found = match beginning {
        [] => "an empty file".to_owned(),
        [0xf5, b'L', b'T', 0x1a, ..] | [0xc1, 0x1f, 0xfc, 0xc1, ..] => {
            return Fault::of_file("is a trace already\n  it needs no import: lifetrace report");
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "data packed by xz\n  unpack it first: xz -d".into(),
        [b'B', b'Z', b'h', ..] => "data packed by bzip2\n  unpack it first: bzip2 -d".into(),
        _ => format!("{:?}", String::from_utf8_lossy(&beginning[..beginning.len().min(16)])),
    };
    Fault::of_file(format!("{known}, found {found}"))
}

/// With separators of thousands.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
