//! A session's own thread: from ordered batches to a finished trace.

mod assignment;
mod rest;

use std::fs::remove_file;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::Bytes;
use lifetrace_transport::message::{Body, Message, MonotonicNanos};
use rustix::process::Pid;

use crate::assemble::{Assembler, Counts};
use crate::clock::{WallClock, monotonic_now};
use crate::looking::Looked;
use crate::losses::Losses;
use crate::notes::Note;
use crate::notice::Notice;
use crate::order::{Batch, Item};
use crate::outcome::{Figures, SessionEnd, SessionReport, Unheard};
use crate::plan::Plan;
use crate::preface;
use crate::process::ProcessImage;
use crate::progress::SessionSlot;
use crate::queue::{Ending, Numbers, Work, WorkReceiver};
use crate::sink::{self, Destination};
use crate::successor::Successor;
use crate::trace_file::{Length, is_limit};
use crate::unexplained::{self, Observed};
pub(crate) use assignment::Assignment;
use rest::Rest;

/// Events wait no longer than this before they are in the file, once handed over. A packet has its price, some thirty
/// bytes, which counts where there are few events.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// In a young trace they wait less: for this time, or a quarter of its age.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);

/// They wait no longer than this where somebody reads the trace while it is written.
const WATCHED_WAIT: Duration = Duration::from_millis(500);

/// So often a thread that has nothing to do looks whether its trace is to go on in another file.
const LONGEST_IDLENESS: Duration = Duration::from_secs(60);

/// Some processes call themselves by what they are doing, and do something else all the time.
const BETWEEN_TITLES: Duration = Duration::from_secs(60);

/// Said where a trace ends before its process does.
const FULL: &str = "the trace has its greatest size";

/// Writes one trace.
pub(crate) struct Scribe {
    /// None after an error: work is still taken, so that the session can end in order.
    trace: Option<Assembler>,
    length: Length,
    failed: Arc<AtomicBool>,
    begun: Instant,
    flushed: Instant,
    has_pending: bool,
    is_watched: bool,
    resident: u64,
    clock: WallClock,
    lost: Losses,
    /// The memory of its own that the process had at the start, where malloc is all that is sampled, and from the start.
    inherited: Option<Bytes>,
    /// Told in the end, unless it turns out to be wrong.
    presumed: Option<Notice>,
    /// The program that has come after this one, if that has not said hello.
    successor: Option<Successor>,
    rest: Rest,
    /// What the process calls itself, if the trace does not say so yet.
    title: Option<Arc<str>>,
    /// When it said so last.
    titled: Option<Instant>,
    report: SessionReport,
    last_numbers: Option<Arc<OnceLock<Numbers>>>,
}

impl Scribe {
    /// Runs until the session's end, and leaves the report of how it went in `slot`.
    pub(crate) fn run(assignment: Assignment, inbox: &WorkReceiver, slot: SessionSlot) {
        let pid = assignment.process.pid;
        let mut scribe = Scribe::begin(assignment, slot.plan());
        let mut ending = scribe.follow(inbox, &slot);
        if ending.end == SessionEnd::Died {
            let of_command = slot.end_of_command(pid);
            ending.exit = ending.exit.or_else(|| of_command.map(|it| it.0));
            let usage = || of_command.and_then(|it| it.1);
            ending.memory = ending.memory.map(|memory| memory.or_usage(usage));
        }
        let most_resident = ending.memory.and_then(|memory| memory.most_resident());
        scribe.finish(&ending, pid);
        scribe.tell_successor(&slot, pid);
        slot.leave(scribe.into_report(), most_resident);
    }

    fn begin(assignment: Assignment, plan: &Plan) -> Scribe {
        let notice = assignment.first_notice();
        let allocator = assignment.has_unhooked_allocator().then_some(Notice::OwnAllocator);
        let hears_all = hears_all(&assignment, plan);
        let late = assignment.late.clone();
        let awaited = assignment.awaits_runtime.then(|| assignment.samplers.runtime()).flatten();
        let inherited = assignment.process.anonymous;
        let Assignment {
            path,
            destination,
            heap,
            mut info,
            samplers,
            process,
            parent,
            anchor,
            symbolizer,
            failed,
            last_numbers,
            ..
        } = assignment;
        let now = anchor.wall(monotonic_now());
        let facts = preface::facts(&process, parent, &plan.labels, &info, &samplers, now);
        plan.announce(&mut info);
        let length = destination.as_ref().map(Destination::new_length).unwrap_or_default();
        let mut scribe = Scribe {
            trace: None,
            length: length.clone(),
            failed,
            begun: Instant::now(),
            flushed: Instant::now(),
            has_pending: false,
            is_watched: false,
            resident: 0,
            clock: WallClock::new(anchor),
            lost: Losses::default(),
            presumed: notice.clone().filter(Notice::is_of_absence),
            successor: None,
            rest: Rest::new(),
            title: None,
            titled: None,
            inherited: hears_all.then_some(inherited),
            report: blank_report(path, &process, &info),
            last_numbers,
        };
        match sink::open(plan, destination, &length, heap, &info) {
            Ok(sink) => {
                let assembler = Assembler::new(sink, anchor, samplers, symbolizer, process);
                let assembler = assembler.with_native_frames(plan.native_frames);
                scribe.trace = Some(assembler.awaiting(awaited));
            }
            Err(error) => scribe.fail(error),
        }
        scribe
            .attempt(|trace| facts.iter().try_for_each(|fact| trace.fact(MonotonicNanos(0), fact)));
        if scribe.presumed.is_none() {
            scribe.attempt(|trace| notice.map_or(Ok(()), |notice| trace.notice(notice)));
        }
        scribe.attempt(|trace| late.map_or(Ok(()), |notice| trace.notice(notice)));
        scribe.attempt(|trace| allocator.map_or(Ok(()), |notice| trace.notice(notice)));
        scribe
    }

    fn follow(&mut self, inbox: &WorkReceiver, slot: &SessionSlot) -> Ending {
        loop {
            self.is_watched = slot.is_watched();
            match inbox.receive(self.patience()) {
                Ok(Work::Events { batch, lost, title }) => {
                    self.write(&batch);
                    self.take_title(title);
                    self.write_losses(lost);
                    slot.report(self.figures(lost.total()));
                }
                Ok(Work::Look(answer)) => self.tell_numbers(&answer),
                Ok(Work::Looked(looked)) => self.write_looked(&looked),
                Ok(Work::End(ending)) => return *ending,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let (end, time) = (SessionEnd::Stopped, monotonic_now());
                    return Ending {
                        end,
                        is_followed: true,
                        time,
                        lost: self.lost,
                        exit: None,
                        peak_resident: None,
                        memory: None,
                        collector: None,
                        title: None,
                        most_anonymous: None,
                    };
                }
            }
            self.flush_if_due();
            self.renew_if_due();
            self.rest_if_idle();
        }
    }

    fn rest_if_idle(&mut self) {
        let samples = self.trace.as_ref().map_or(0, |trace| trace.counts().samples);
        if self.rest.is_due(samples) {
            self.attempt(Assembler::rest);
        }
    }

    /// Goes on in another file, if it is time.
    fn renew_if_due(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.renew_if_due();
        }
    }

    /// What is told then is in the file.
    fn tell_numbers(&mut self, answer: &Sender<Numbers>) {
        self.attempt(Assembler::flush);
        self.has_pending = false;
        let numbers = self.trace.as_ref().map(Assembler::numbers).unwrap_or_default();
        // Who has asked may have gone.
        let _ = answer.send(numbers);
    }

    /// Until the next flush is due, or for long when nothing waits for one. Who has not rested yet is to.
    fn patience(&self) -> Duration {
        if self.has_pending {
            self.longest_wait().saturating_sub(self.flushed.elapsed())
        } else {
            self.rest.patience().unwrap_or(LONGEST_IDLENESS)
        }
    }

    fn write(&mut self, batch: &Batch) {
        if !self.has_pending {
            self.flushed = Instant::now();
            self.has_pending = true;
        }
        batch.notes.iter().for_each(|note| self.note_memory(&note.fact));
        let has_late_names = batch.has_late_names();
        let is_learnt = |it: &Message<'_>| has_late_names && matches!(it.body, Body::FrameName(_));
        self.attempt(|trace| {
            batch.late_names().for_each(|name| trace.learn(&name));
            batch.items().try_for_each(|item| match item {
                // It has been learnt, and perhaps a better one.
                Item::Message(message) if is_learnt(&message) => Ok(()),
                Item::Message(message) => trace.apply(&message),
                Item::Note(Note { time, fact }) => trace.fact(*time, fact),
            })
        });
    }

    fn write_looked(&mut self, looked: &Looked) {
        self.attempt(|trace| {
            trace.see_mapped(looked.mapped.as_ref());
            match &looked.lost {
                None => Ok(()),
                Some(Ok(found)) => trace.write_found(found),
                Some(Err(why)) => trace.notice(Notice::NotLookedThrough(*why)),
            }
        });
    }

    fn take_title(&mut self, title: Option<Arc<str>>) {
        if let Some(title) = title {
            self.report.title = Arc::clone(&title);
            self.title = Some(title);
        }
        if self.titled.is_none_or(|titled| titled.elapsed() >= BETWEEN_TITLES) {
            self.write_title();
        }
    }

    fn write_title(&mut self) {
        if let Some(title) = self.title.take() {
            self.titled = Some(Instant::now());
            self.attempt(|trace| trace.write_title(title));
        }
    }

    fn note_memory(&mut self, fact: &Fact) {
        if let Fact::Counters(counters) = fact
            && let Some(resident) = counters.resident
        {
            self.resident = resident.0;
        }
    }

    fn figures(&self, lost: u64) -> Figures {
        let samples = self.trace.as_ref().map_or(self.report.samples, |it| it.counts().samples);
        let (bytes, resident) = (self.length.get(), self.resident);
        Figures { processes: 1, samples, bytes, resident, lost }
    }

    fn flush_if_due(&mut self) {
        if self.has_pending && self.flushed.elapsed() >= self.longest_wait() {
            self.write_clock();
            self.attempt(Assembler::flush);
            self.has_pending = false;
        }
    }

    fn longest_wait(&self) -> Duration {
        let longest = if self.is_watched { WATCHED_WAIT } else { LONGEST_WAIT };
        (self.begun.elapsed() / 4).clamp(SHORTEST_WAIT, longest)
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Assembler) -> io::Result<()>) {
        if let Some(trace) = &mut self.trace
            && let Err(error) = write(trace)
        {
            self.fail(error);
        }
    }

    fn write_losses(&mut self, lost: Losses) {
        let before = std::mem::replace(&mut self.lost, lost);
        let mut facts = lost.facts_since(&before);
        self.attempt(|trace| facts.try_for_each(|fact| trace.fact(MonotonicNanos(0), &fact)));
    }

    /// A program's file may have no managed heap, and what it loads have one.
    fn write_presumed(&mut self) {
        let presumed = self.presumed.take();
        self.attempt(|trace| match presumed.filter(|_| !trace.has_runtime()) {
            Some(notice) => trace.notice(notice),
            None => Ok(()),
        });
    }

    /// Notes memory that nothing explains. What was lost was not observed either.
    fn write_unexplained(&mut self, ending: &Ending) {
        let Some(inherited) = self.inherited.filter(|_| ending.lost.total() == 0) else {
            return;
        };
        let Some(highest) = ending.most_anonymous else { return };
        self.attempt(|trace| {
            let highest = Bytes(highest.0.saturating_sub(trace.most_mapped()));
            let Some(interval) = trace.longest_interval() else { return Ok(()) };
            let Counts { allocated, samples, .. } = trace.counts();
            let observed = Observed { interval, allocated, samples };
            let is_unexplained = unexplained::is_too_much(highest, inherited, observed);
            let is_known = trace.notices().iter().any(Notice::is_of_unsampled);
            if is_unexplained && !is_known {
                trace.notice(Notice::UnexplainedMemory)
            } else {
                Ok(())
            }
        });
    }

    fn write_clock(&mut self) {
        if let Some((time, wall)) = self.clock.news() {
            self.attempt(|trace| trace.fact(time, &Fact::WallClock(wall)));
        }
    }

    /// A trace that has its greatest size is finished, and says why it goes no further.
    fn fail(&mut self, error: io::Error) {
        self.note_progress();
        self.report.is_full = is_limit(&error);
        if let Some(mut trace) = self.trace.take().filter(|_| is_limit(&error)) {
            // Some formats leave no room for more.
            let _ = trace
                .fact(monotonic_now(), &Fact::Marker(FULL.into()))
                .and_then(|()| trace.finish(MonotonicNanos(0)));
        }
        self.report.error = Some(error).filter(|error| !is_limit(error));
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Says what the process has become, unless that speaks for itself.
    fn write_successor(&mut self, ending: &Ending, pid: Pid) {
        if ending.end == SessionEnd::Exec && !ending.is_followed {
            let successor = Successor::of(pid);
            if let Successor::Untraced(notice) = &successor {
                self.attempt(|trace| trace.notice(notice.clone()));
            }
            self.successor = Some(successor);
        }
    }

    /// What the trace does not say itself of what the process has become.
    fn tell_successor(&self, slot: &SessionSlot, pid: Pid) {
        match &self.successor {
            None | Some(Successor::Untraced(_)) => {}
            Some(Successor::Expected) => slot.note_execution(pid, None),
            Some(Successor::Gone) => slot.note_execution(pid, Some(Unheard::Ended)),
            Some(Successor::Elsewhere(program, library)) => {
                let (program, library) = (Arc::clone(program), library.clone());
                slot.note_execution(pid, Some(Unheard::Elsewhere { program, library }));
            }
        }
    }

    fn finish(&mut self, ending: &Ending, pid: Pid) {
        self.take_title(ending.title.clone());
        self.write_title();
        if let Some(totals) = &ending.collector {
            self.attempt(|trace| trace.take_last_totals(ending.time, totals));
        }
        if let Some(counters) = ending.memory.and_then(|memory| memory.counters()) {
            let fact = Fact::Counters(counters);
            self.attempt(|trace| trace.fact(ending.time, &fact));
        }
        self.attempt(Assembler::write_collector);
        self.attempt(Assembler::write_mappings);
        self.attempt(Assembler::write_unread);
        self.attempt(Assembler::write_cuts);
        self.write_losses(ending.lost);
        self.write_presumed();
        self.attempt(Assembler::write_unheard);
        self.write_successor(ending, pid);
        self.write_unexplained(ending);
        if let Some(exit) = ending.told_exit() {
            self.attempt(|trace| trace.fact(ending.time, &Fact::Exit(exit)));
        }
        self.write_clock();
        self.attempt(Assembler::flush);
        self.leave_numbers();
        self.note_progress();
        if let Some(trace) = self.trace.take()
            && let Err(error) = trace.finish(ending.time)
        {
            self.fail(error);
        }
        self.report.bytes = self.length.get();
        self.report.end = ending.end;
        let most = ending.memory.and_then(|memory| memory.most_resident());
        self.report.peak_resident = most.or(ending.peak_resident).map(|bytes| bytes.0);
        self.report.lost = ending.lost.by_reason();
    }

    /// For snapshots that are still being saved.
    fn leave_numbers(&self) {
        if let (Some(last), Some(trace)) = (&self.last_numbers, &self.trace) {
            // Nobody else has set it.
            let _ = last.set(trace.numbers());
        }
    }

    fn note_progress(&mut self) {
        if let Some(trace) = &self.trace {
            let counts = trace.counts();
            self.report.samples = counts.samples;
            self.report.allocated = counts.allocated;
            self.report.events = counts.events;
            self.report.notices = trace.notices();
        }
    }

    /// None for a process that executed another program before anything of it was sampled: its
    /// trace says nothing, and is removed so that the other's may have its name. If the other has no
    /// trace, this one stays.
    fn into_report(self) -> Option<SessionReport> {
        let report = self.report;
        let is_followed = matches!(self.successor, None | Some(Successor::Expected));
        let says_nothing = report.end == SessionEnd::Exec && report.samples == 0 && is_followed;
        let is_removed = says_nothing && report.path.is_file() && remove_file(&report.path).is_ok();
        (!is_removed).then_some(report)
    }
}

/// Whether all that the program allocates could be hit.
fn hears_all(assignment: &Assignment, plan: &Plan) -> bool {
    assignment.allocators.is_some()
        && plan.sampling_from.is_none()
        && assignment.late.is_none()
        && assignment.samplers.is_malloc_alone()
}

fn blank_report(path: PathBuf, process: &ProcessImage, info: &TraceInfo) -> SessionReport {
    SessionReport {
        path,
        pid: process.pid.as_raw_nonzero().get() as u32,
        parent: process.parent,
        program: process.called.name.clone(),
        executable: process.executable.clone(),
        command_line: info.context.clone().unwrap_or_default(),
        title: "".into(),
        start: info.start_time,
        samples: 0,
        allocated: 0,
        events: 0,
        bytes: 0,
        peak_resident: None,
        is_full: false,
        lost: Vec::new(),
        notices: Vec::new(),
        end: SessionEnd::Stopped,
        error: None,
    }
}
