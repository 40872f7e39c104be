//! Why a file of another profiler could not be read, or not to its end.

use std::fmt;
use std::io::{self, Read};

/// Something in the input that makes no sense, or the position at which it ends too early.
#[derive(Debug)]
pub struct Fault {
    position: Option<Position>,
    problem: String,
}

/// A position in the input, after it was unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
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
    /// At a position.
    pub fn new(position: Position, problem: impl Into<String>) -> Self {
        Self { position: Some(position), problem: problem.into() }
    }

    /// Of the file as a whole.
    pub fn of_file(problem: impl Into<String>) -> Self {
        Self { position: None, problem: problem.into() }
    }

    /// The bytes themselves can't be read.
    pub fn of_reading(position: Position, error: &io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the compressed data is cut here".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Self::new(position, problem)
    }
}

/// All of the input that can be read, and why there is no more.
pub fn read_all(mut input: impl Read) -> (Vec<u8>, Option<Fault>) {
    let mut bytes = Vec::new();
    let unread = input.read_to_end(&mut bytes).err();
    let end = Position { line: None, byte: bytes.len() as u64 };
    (bytes, unread.map(|error| Fault::of_reading(end, &error)))
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line: Some(line), byte }) => write!(f, "line {line} (byte {byte}): ")?,
            Some(Position { line: None, byte }) => write!(f, "byte {byte}: ")?,
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
