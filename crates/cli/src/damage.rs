//! What is wrong with a trace, said so that somebody can act on it: file, offset, what was expected,
//! and the remedy.

use std::error::Error as _;
use std::fmt;
use std::path::{Path, PathBuf};

use lifetrace_trace::memtrace::{Error, Lookalike};

/// Why the rest of a trace could not be read.
#[derive(Debug)]
pub struct Damage {
    path: PathBuf,
    error: Error,
}

/// How much was read before the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Not even what the trace is about.
    Nothing,
    /// Some events, all of which are used.
    Events,
}

impl Damage {
    pub fn new(path: &Path, error: Error) -> Self {
        Self { path: path.to_owned(), error }
    }

    /// Where in the file, in bytes from its start.
    pub fn offset(&self) -> u64 {
        match &self.error {
            Error::UnsupportedVersion { offset, .. }
            | Error::Truncated { offset, .. }
            | Error::Corrupt { offset, .. }
            | Error::TooManyDomains { offset }
            | Error::Io { offset, .. } => *offset,
            _ => 0,
        }
    }

    /// What is wrong there.
    pub fn reason(&self) -> String {
        match self.error.source() {
            Some(cause) => format!("{}: {cause}", self.error),
            None => self.error.to_string(),
        }
    }

    /// The message for people: the damage in one line, the remedy in the next.
    pub fn message(&self, extent: Extent) -> String {
        let used = match extent {
            Extent::Nothing => "",
            Extent::Events => "all events before that are used; ",
        };
        format!("{self}\n  {used}{}", self.remedy())
    }

    fn remedy(&self) -> String {
        let text = match &self.error {
            Error::Empty => "the program may not have been recorded at all: record again",
            Error::NotATrace(Lookalike::Compressed(by)) => {
                return format!("unpack it first: {by} -d < {} > trace.ctf", self.path.display());
            }
            Error::NotATrace(Lookalike::Elf) => {
                "to record this program, run: lifetrace record -- PROGRAM ARGUMENTS"
            }
            Error::NotATrace(_) => {
                "this lifetrace reads traces in Memtrace's format (.ctf); a newer one may read more"
            }
            Error::UnsupportedVersion { .. } => "a newer lifetrace may read it",
            Error::Truncated { .. } => {
                "the file was not copied to its end, or its writer was stopped: copy it again, or record again"
            }
            Error::Io { .. } => "the storage may be failing: copy the file elsewhere and try again",
            _ => "the file was changed after it was written: copy it again, or record again",
        };
        text.to_owned()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason())
    }
}
