//! What is looked at, and what its recorder says of it.

use std::path::PathBuf;
use std::rc::Rc;

use lifetrace_trace::fact::Exit;
use lifetrace_trace::ids::Timestamp;

use crate::sites::SiteName;

/// What a process is called here: numbers of processes come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessKey(u64);

impl ProcessKey {
    /// This one; the next one is another.
    pub(crate) fn take(&mut self) -> Self {
        let this = *self;
        self.0 += 1;
        this
    }
}

/// A process that is being recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Process id.
    pub pid: u32,
    /// Its parent when recording began.
    pub parent: u32,
    /// What it was run as.
    pub program: String,
    /// The trace, if it has one.
    pub trace: Option<PathBuf>,
    /// When its recording began.
    pub since: Timestamp,
    /// Bytes of the trace so far.
    pub bytes: u64,
    /// Events that should be in the trace and are not.
    pub lost: u64,
}

impl Session {
    /// Whether a trace that says so is of this process: files may be replaced.
    pub fn is_of(&self, pid: u64) -> bool {
        u64::from(self.pid) == pid
    }

    /// Whether both are the same one, whose recorder may have begun another file meanwhile. A process that executes another
    /// program has another session then.
    pub fn is(&self, other: &Self) -> bool {
        (self.pid, self.since) == (other.pid, other.since)
    }
}

/// What a recorder is recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Those that go on.
    pub all: Vec<Session>,
    /// How many have begun, those that are over included.
    pub begun: u64,
}

/// How far one is with a process.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Nothing of its trace is there yet.
    Waiting,
    /// The trace is read up to this part of it, between 0 and 1.
    Reading(f64),
    /// All is read that is there.
    Running,
    /// It is over, as far as it is recorded.
    Ended(Option<Exit>),
    /// The trace cannot be read.
    Failed(String),
}

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Screen {
    /// All processes.
    Processes,
    /// The callsites of one.
    Callsites(ProcessKey),
    /// A callsite of one.
    Callsite(ProcessKey, Rc<SiteName>, Aspect),
}

/// What is looked at of a callsite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// How the program came to it.
    Tree,
    /// How long its blocks live.
    Lifetimes,
}
