//! Why a file of another profiler could not be read, or not to its end.

use std::fmt;
use std::io::{self, Read};

/// Something in the input that makes no sense, or the place where it ends too early.
#[derive(Debug)]
pub struct Fault {
    place: Option<Place>,
    problem: String,
}

/// Where in the input, after it was unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1; formats that aren't text have none.
    pub line: Option<u64>,
    /// From 0.
    pub byte: u64,
}

/// Why an import failed, so that nothing is left of it.
#[derive(Debug)]
pub enum Failure {
    /// The input has nothing that could be imported.
    Input(Fault),
    /// The output can't be written.
    Output(io::Error),
}

impl Fault {
    /// At a place.
    pub fn new(place: Place, problem: impl Into<String>) -> Self {
        Self { place: Some(place), problem: problem.into() }
    }

    /// Of the file as a whole.
    pub fn of_file(problem: impl Into<String>) -> Self {
        Self { place: None, problem: problem.into() }
    }

    /// The bytes themselves can't be read.
    pub fn of_reading(place: Place, error: &io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the compressed data is cut here".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Self::new(place, problem)
    }
}

/// All of the input that can be read, and why there is no more.
pub fn read_all(mut input: impl Read) -> (Vec<u8>, Option<Fault>) {
    let mut bytes = Vec::new();
    let unread = input.read_to_end(&mut bytes).err();
    let end = Place { line: None, byte: bytes.len() as u64 };
    (bytes, unread.map(|error| Fault::of_reading(end, &error)))
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Place { line: Some(line), byte }) => write!(f, "line {line} (byte {byte}): ")?,
            Some(Place { line: None, byte }) => write!(f, "byte {byte}: ")?,
            None => {}
        }
        f.write_str(&self.problem)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Input(fault)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
