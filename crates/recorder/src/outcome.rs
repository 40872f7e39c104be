//! What a recording has come to: plain facts, for somebody else to print.

use std::io;
use std::path::PathBuf;

use lifetrace_transport::message::NoticeKind;
use lifetrace_transport::segment::LostReason;

/// All that happened.
#[derive(Debug, Default)]
pub struct Outcome {
    /// In the order in which they began.
    pub sessions: Vec<SessionReport>,
    /// Processes that asked to be traced and were not.
    pub refusals: Vec<Refusal>,
}

/// One trace.
#[derive(Debug)]
pub struct SessionReport {
    /// The trace file.
    pub path: PathBuf,
    /// Process id.
    pub pid: u32,
    /// The process's parent when the session began.
    pub parent: u32,
    /// The program.
    pub executable: PathBuf,
    /// Its arguments, quoted as for a shell.
    pub command_line: String,
    /// Allocations sampled; all are in the trace unless there is an `error`.
    pub samples: u64,
    /// Events of all kinds; likewise.
    pub events: u64,
    /// Length of the trace file, in bytes.
    pub bytes: u64,
    /// Events that should be in the trace and are not; reasons without any are left out.
    pub lost: Vec<(LostReason, u64)>,
    /// What the agent wants the user to know.
    pub notices: Vec<NoticeKind>,
    /// Why there is no more.
    pub end: SessionEnd,
    /// Writing stopped here; what was written before is a complete trace of that time.
    pub error: Option<io::Error>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// Its process ended, in whatever way.
    Died,
    /// Its process executed another program.
    Exec,
    /// The recording was stopped first.
    Stopped,
    /// Its shared memory was damaged; what was read until then is in the trace.
    Damaged,
}

/// A process that is not traced.
#[derive(Debug)]
pub struct Refusal {
    /// Process id.
    pub pid: u32,
    /// The program.
    pub executable: PathBuf,
    /// Why.
    pub reason: String,
}
