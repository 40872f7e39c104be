//! A session's own thread: from ordered batches to a finished trace.

use std::fs::{File, remove_file};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use lifetrace_trace::event::TraceInfo;

use crate::assemble::Assembler;
use crate::clock::{Anchor, monotonic_now};
use crate::order::Batch;
use crate::outcome::{SessionEnd, SessionReport};
use crate::process::ProcessImage;
use crate::progress::Seat;
use crate::queue::{Ending, Work, WorkReceiver};
use crate::symbolizer::Symbolizer;
use crate::trace_file::TraceFile;

/// Events wait no longer than this before they are in the file.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// What a trace is to be about, and where it goes.
pub(crate) struct Assignment {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) info: TraceInfo,
    pub(crate) process: ProcessImage,
    pub(crate) anchor: Anchor,
    pub(crate) symbolizer: Arc<Symbolizer>,
    /// Set here when the trace cannot be written any more.
    pub(crate) failed: Arc<AtomicBool>,
}

/// Writes one trace.
pub(crate) struct Scribe {
    /// None after an error: work is still taken, so that the session can end in order.
    trace: Option<Assembler<TraceFile>>,
    failed: Arc<AtomicBool>,
    flushed: Instant,
    has_pending: bool,
    report: SessionReport,
}

impl Scribe {
    /// Runs until the session's end, and leaves the report of how it went in `seat`.
    pub(crate) fn run(assignment: Assignment, inbox: &WorkReceiver, seat: Seat) {
        let mut scribe = Scribe::begin(assignment);
        let ending = scribe.follow(inbox);
        scribe.finish(ending);
        seat.leave(scribe.into_report());
    }

    fn begin(assignment: Assignment) -> Scribe {
        let Assignment { path, file, info, process, anchor, symbolizer, failed } = assignment;
        let mut scribe = Scribe {
            trace: None,
            failed,
            flushed: Instant::now(),
            has_pending: false,
            report: blank_report(path, &process, &info),
        };
        match Assembler::new(TraceFile::new(file), &info, anchor, symbolizer, process) {
            Ok(assembler) => scribe.trace = Some(assembler),
            Err(error) => scribe.fail(error),
        }
        scribe
    }

    fn follow(&mut self, inbox: &WorkReceiver) -> Ending {
        loop {
            match inbox.receive(self.patience()) {
                Ok(Work::Events(batch)) => self.write(&batch),
                Ok(Work::End(ending)) => return ending,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let (end, time) = (SessionEnd::Stopped, monotonic_now());
                    return Ending { end, time, lost: Vec::new() };
                }
            }
            self.flush_if_due();
        }
    }

    /// Until the next flush is due, or for long when nothing waits for one.
    fn patience(&self) -> Duration {
        if self.has_pending {
            FLUSH_INTERVAL.saturating_sub(self.flushed.elapsed())
        } else {
            Duration::from_secs(3600)
        }
    }

    fn write(&mut self, batch: &Batch) {
        if !self.has_pending {
            self.flushed = Instant::now();
            self.has_pending = true;
        }
        self.attempt(|trace| batch.messages().try_for_each(|message| trace.apply(&message)));
    }

    fn flush_if_due(&mut self) {
        if self.has_pending && self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.attempt(Assembler::flush);
            self.has_pending = false;
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Assembler<TraceFile>) -> io::Result<()>) {
        if let Some(trace) = &mut self.trace
            && let Err(error) = write(trace)
        {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.note_progress();
        self.trace = None;
        self.report.error = Some(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn finish(&mut self, ending: Ending) {
        self.attempt(Assembler::flush);
        self.note_progress();
        if let Some(trace) = self.trace.take() {
            match trace.finish(ending.time) {
                Ok(file) => self.report.bytes = file.written(),
                Err(error) => self.report.error = Some(error),
            }
        }
        self.report.end = ending.end;
        self.report.lost = ending.lost;
    }

    fn note_progress(&mut self) {
        if let Some(trace) = &mut self.trace {
            let counts = trace.counts();
            self.report.samples = counts.samples;
            self.report.events = counts.events;
            self.report.bytes = trace.written();
            self.report.notices = trace.take_notices();
        }
    }

    /// None for a process that executed another program before anything of it was sampled: its
    /// trace says nothing, and is removed so that the other's may have its name.
    fn into_report(self) -> Option<SessionReport> {
        let report = self.report;
        let says_nothing = report.end == SessionEnd::Exec && report.samples == 0;
        let is_removed = says_nothing && report.path.is_file() && remove_file(&report.path).is_ok();
        (!is_removed).then_some(report)
    }
}

fn blank_report(path: PathBuf, process: &ProcessImage, info: &TraceInfo) -> SessionReport {
    SessionReport {
        path,
        pid: process.pid.as_raw_nonzero().get() as u32,
        parent: process.parent,
        executable: process.executable.clone(),
        command_line: info.context.clone().unwrap_or_default(),
        samples: 0,
        events: 0,
        bytes: 0,
        lost: Vec::new(),
        notices: Vec::new(),
        end: SessionEnd::Stopped,
        error: None,
    }
}
