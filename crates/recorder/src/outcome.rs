//! What a recording has come to: plain facts, for somebody else to print.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lifetrace_trace::ids::Timestamp;
use lifetrace_transport::segment::LostReason;

use crate::notice::{Notice, Untraced};
use crate::snapshots::UnaskedSnapshot;

/// All that happened.
#[derive(Debug, Default)]
pub struct Outcome {
    /// In the order in which they began. Of a great many, those of which there is least to tell are
    /// only counted, in `others`.
    pub sessions: Vec<SessionReport>,
    /// The traces that are not in `sessions`.
    pub others: Others,
    /// Traces that were not kept, since nothing was sampled in them. A process that executes another program may have
    /// had several.
    pub empty: u64,
    /// Programs that traced processes have started and that were not traced themselves, as far as they were
    /// seen.
    pub untraced: Vec<UntracedProgram>,
    /// Programs that traced processes have executed and that might have said hello, and have not; not more than a few
    /// dozen.
    pub executions: Vec<Execution>,
    /// The most resident memory, in bytes, of what the command has started, if that was none of the traced
    /// processes'.
    pub resident_untraced: Option<u64>,
    /// Processes that asked to be traced and were not; at most a few thousand.
    pub refusals: Vec<Refusal>,
    /// Snapshots of heaps that nobody waited for.
    pub snapshots: Vec<UnaskedSnapshot>,
    /// Processes that asked to be traced and had ended when their turn came.
    pub missed: u64,
}

/// Traces that are only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub traces: u64,
    /// Allocations sampled in them.
    pub samples: u64,
    /// Those that lack something, or of which there was something to tell.
    pub incomplete: u64,
}

impl Others {
    pub(crate) fn count(&mut self, report: &SessionReport) {
        self.traces += 1;
        self.samples += report.samples;
        self.incomplete += u64::from(report.is_remarkable());
    }
}

/// A program of which there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntracedProgram {
    /// Its path, or what the kernel calls it.
    pub program: Arc<str>,
    /// Why there is none.
    pub why: Untraced,
    /// How many processes were seen to run it.
    pub processes: u64,
}

/// A traced program has executed another one, of which nothing was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// What the traced one was run as.
    pub program: String,
    /// What is known of the other.
    pub what: Unheard,
}

/// Why nothing was heard of a program that should have said hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// It had ended when somebody looked why.
    Ended,
    /// In its root directory there is no library to be loaded.
    Elsewhere {
        /// The program's path, as this process sees it.
        program: Arc<str>,
        /// The library's, in each root directory.
        library: PathBuf,
    },
    /// It was told to load the library, and has not.
    Silent,
}

/// One trace.
#[derive(Debug)]
pub struct SessionReport {
    /// The trace file; empty if there is none.
    pub path: PathBuf,
    /// Process id.
    pub pid: u32,
    /// The process's parent when the session began.
    pub parent: u32,
    /// What it was run as.
    pub program: String,
    /// The program's file.
    pub executable: PathBuf,
    /// Its arguments, quoted as for a shell.
    pub command_line: String,
    /// What the process has called itself last, for `ps`; empty if it did not.
    pub title: Arc<str>,
    /// When the trace begins.
    pub start: Timestamp,
    /// Allocations sampled; all are in the trace unless there is an `error`.
    pub samples: u64,
    /// Bytes that they stand for, an estimate of all that was allocated.
    pub allocated: u64,
    /// Events of all kinds; likewise.
    pub events: u64,
    /// Length of the trace file, in bytes.
    pub bytes: u64,
    /// The most resident memory that the process has had, in bytes, as the kernel said at the last
    /// look; `None` if nobody looked, or too long before the end.
    pub peak_resident: Option<u64>,
    /// Whether the trace has the greatest size that it may have, and so does not go on to the end.
    pub is_full: bool,
    /// Events that should be in the trace and are not; reasons without any are left out.
    pub lost: Vec<(LostReason, u64)>,
    /// What else there is to know; said in the trace, too.
    pub notices: Vec<Notice>,
    /// Why there is no more.
    pub end: SessionEnd,
    /// Writing stopped here; what was written before is a complete trace of that time.
    pub error: Option<io::Error>,
}

impl SessionReport {
    /// Whether there is more to tell than that it is there.
    pub(crate) fn is_remarkable(&self) -> bool {
        self.is_full
            || self.error.is_some()
            || self.end == SessionEnd::Damaged
            || !(self.lost.is_empty() && self.notices.is_empty())
    }

    /// Whether the trace tells nothing that anybody would look for: not even that something is missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples == 0
            && !self.is_full
            && self.error.is_none()
            && self.end != SessionEnd::Damaged
            && self.lost.is_empty()
            && !self.notices.iter().any(Notice::is_of_unsampled)
    }
}

/// How a recording goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Processes that are being traced, or whose traces are being written.
    pub processes: usize,
    /// Allocations sampled so far.
    pub samples: u64,
    /// Length of all trace files, in bytes.
    pub bytes: u64,
    /// Resident memory of the processes, in bytes; what they share counts for each.
    pub resident: u64,
    /// Events lost.
    pub lost: u64,
}

impl Figures {
    pub(crate) fn and(self, other: Figures) -> Figures {
        Figures {
            processes: self.processes + other.processes,
            samples: self.samples + other.samples,
            bytes: self.bytes + other.bytes,
            resident: self.resident + other.resident,
            lost: self.lost + other.lost,
        }
    }
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
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Process id.
    pub pid: u32,
    /// The program: what it was run as.
    pub program: String,
    /// Why.
    pub reason: String,
}
