//! What is wrong with a trace, said so that somebody can act on it: file, offset, what was expected,
//! what was lost, and the remedy.

use std::error::Error as _;
use std::fmt;
use std::path::{Path, PathBuf};

use lifetrace_trace::ReadError;
use lifetrace_trace::lt;
use lifetrace_trace::memtrace::{self, Error as MemtraceError, Lookalike};

use crate::input::STDIN;

/// Something that is wrong with a trace.
#[derive(Debug)]
pub struct Damage {
    path: PathBuf,
    problem: Problem,
}

/// As the formats' readers tell it.
#[derive(Debug)]
pub enum Problem {
    /// A trace in Memtrace's format cannot be read from here on.
    Memtrace(memtrace::Error),
    /// One in ours can't.
    Lt(lt::Error),
    /// A part of it could not be read, and the rest was.
    Stretch(lt::Damage),
}

/// How much was read before the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Not even what the trace is about.
    Nothing,
    /// Some events, all of which are used.
    Events,
}

impl From<memtrace::Error> for Problem {
    fn from(error: memtrace::Error) -> Self {
        Self::Memtrace(error)
    }
}

impl From<lt::Error> for Problem {
    fn from(error: lt::Error) -> Self {
        Self::Lt(error)
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Memtrace(error) => Self::Memtrace(error),
            ReadError::Lt(error) => Self::Lt(error),
        }
    }
}

impl From<lt::Damage> for Problem {
    fn from(stretch: lt::Damage) -> Self {
        Self::Stretch(stretch)
    }
}

impl Damage {
    /// Of the file at a path.
    pub fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }

    /// Where in the file, in bytes from its start.
    pub fn offset(&self) -> u64 {
        match &self.problem {
            Problem::Memtrace(
                MemtraceError::UnsupportedVersion { offset, .. }
                | MemtraceError::Truncated { offset, .. }
                | MemtraceError::Corrupt { offset, .. }
                | MemtraceError::Overrun { offset }
                | MemtraceError::TooManyDomains { offset }
                | MemtraceError::Io { offset, .. },
            )
            | Problem::Lt(lt::Error::Io { offset, .. }) => *offset,
            Problem::Stretch(stretch) => stretch.offset,
            _ => 0,
        }
    }

    /// What could not be read, if the rest was.
    pub fn stretch(&self) -> Option<&lt::Damage> {
        match &self.problem {
            Problem::Stretch(stretch) => Some(stretch),
            _ => None,
        }
    }

    /// What is wrong there.
    pub fn reason(&self) -> String {
        if let Some(lookalike) = self.lookalike() {
            return format!("not a trace: this looks like {lookalike}");
        }
        let (text, cause) = match &self.problem {
            Problem::Memtrace(error) => (error.to_string(), error.source()),
            Problem::Lt(error) => (error.to_string(), error.source()),
            Problem::Stretch(stretch) => (stretch.to_string(), None),
        };
        match cause {
            Some(cause) => format!("{text}: {cause}"),
            None => text,
        }
    }

    /// The message for people: the damage in one line, the remedy in the next.
    pub fn message(&self, extent: Extent) -> String {
        let used = match (extent, &self.problem) {
            (Extent::Nothing, _) => "",
            (Extent::Events, Problem::Stretch(_)) => "all events outside of that are used; ",
            (Extent::Events, _) => "all events before that are used; ",
        };
        format!("{self}\n  {used}{}", self.remedy())
    }

    /// What the file seems to be, if it is no trace.
    fn lookalike(&self) -> Option<Lookalike> {
        match self.problem {
            Problem::Memtrace(MemtraceError::NotATrace(lookalike))
            | Problem::Lt(lt::Error::NotATrace(lookalike)) => Some(lookalike),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        if let Some(lookalike) = self.lookalike() {
            return self.what_to_do_with(lookalike);
        }
        let text = match &self.problem {
            Problem::Memtrace(MemtraceError::Empty) | Problem::Lt(lt::Error::Empty) => {
                "the program may not have been recorded at all: record again"
            }
            Problem::Memtrace(MemtraceError::UnsupportedVersion { .. })
            | Problem::Lt(lt::Error::UnsupportedVersion { .. }) => "a newer lifetrace may read it",
            Problem::Memtrace(MemtraceError::Truncated { .. }) => {
                "the file was not copied to its end, or its writer was stopped: copy it again, or record again"
            }
            Problem::Memtrace(MemtraceError::Io { .. }) | Problem::Lt(lt::Error::Io { .. }) => {
                "the storage may be failing: copy the file elsewhere and try again"
            }
            Problem::Memtrace(_) | Problem::Lt(_) => {
                "the file was changed after it was written: copy it again, or record again"
            }
            Problem::Stretch(stretch) => return self.what_to_do_about(stretch.cause),
        };
        text.to_owned()
    }

    fn what_to_do_about(&self, cause: lt::Cause) -> String {
        let again = match cause {
            lt::Cause::Cut => "if this is a copy, copy it again; ",
            _ => "",
        };
        let trace = if self.is_stdin() { "-".into() } else { self.path.to_string_lossy() };
        format!(
            "{again}to write what is left to a new file: lifetrace check --repair -o OUT {trace}"
        )
    }

    fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN)
    }

    fn what_to_do_with(&self, lookalike: Lookalike) -> String {
        match lookalike {
            Lookalike::Compressed(by) if self.is_stdin() => {
                format!("unpack it first: {by} -d | lifetrace ... -")
            }
            Lookalike::Compressed(by) => {
                format!("unpack it first: {by} -d < {} > unpacked", self.path.display())
            }
            Lookalike::Elf => {
                "to record this program, run: lifetrace record -- PROGRAM ARGUMENTS".to_owned()
            }
            Lookalike::Unknown { bytes: LT, len: 4 } => {
                "it begins as a trace, but what it says about itself is cut or damaged: copy it again, or record again".to_owned()
            }
            _ => {
                "this lifetrace reads its own traces (.lt) and Memtrace's (.ctf); a newer one may read more".to_owned()
            }
        }
    }
}

/// How our own traces begin.
const LT: [u8; 4] = [0xf5, b'L', b'T', 0x1a];

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason())
    }
}
