//! A session's own thread: from ordered batches to a finished trace.

use std::fs::{File, remove_file};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::{Exit, Fact, Parent};
use lifetrace_trace::ids::Bytes;
use lifetrace_transport::message::{Body, Message, MonotonicNanos};
use rustix::process::Pid;

use crate::assemble::{Assembler, Counts};
use crate::clock::{Anchor, WallClock, monotonic_now};
use crate::heap;
use crate::looking::Looked;
use crate::losses::Losses;
use crate::notes::Note;
use crate::notice::Notice;
use crate::order::{Batch, Item};
use crate::outcome::{Figures, SessionEnd, SessionReport};
use crate::patch::Allocators;
use crate::plan::Plan;
use crate::preface;
use crate::process::ProcessImage;
use crate::progress::SessionSlot;
use crate::queue::{Ending, Numbers, Work, WorkReceiver};
use crate::runtimes::{Programs, SourceChoice};
use crate::samplers::Samplers;
use crate::sink;
use crate::successor;
use crate::symbolizer::Symbolizer;
use crate::trace_file::{Length, TraceFile, is_limit};
use crate::unexplained::{self, Observed};

/// Events wait no longer than this before they are in the file, once handed over. A packet has its price, some thirty
/// bytes, which counts where there are few events.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// In a young trace they wait less: for this time, or a quarter of its age.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);

/// Some processes call themselves by what they are doing, and do something else all the time.
const BETWEEN_TITLES: Duration = Duration::from_secs(60);

/// Said where a trace ends before its process does.
const FULL: &str = "the trace has its greatest size";

/// What a trace is to be about, and where it goes.
pub(crate) struct Assignment {
    /// Empty if there is no file.
    pub(crate) path: PathBuf,
    pub(crate) file: Option<File>,
    /// What is written beside.
    pub(crate) heap: Option<Arc<Mutex<heap::State>>>,
    pub(crate) info: TraceInfo,
    pub(crate) samplers: Samplers,
    pub(crate) notice: Option<Notice>,
    pub(crate) wanted: SourceChoice,
    /// To be asked whether the program hides a runtime that is wanted, if anybody cares.
    pub(crate) programs: Option<Arc<Programs>>,
    /// To be asked whether the program hides an allocator, if anybody cares.
    pub(crate) allocators: Option<Arc<Allocators>>,
    /// It has one that does not hide and cannot be hooked.
    pub(crate) has_unhooked: bool,
    pub(crate) process: ProcessImage,
    pub(crate) parent: Option<Parent>,
    pub(crate) anchor: Anchor,
    pub(crate) symbolizer: Arc<Symbolizer>,
    /// Set here when the trace cannot be written any more.
    pub(crate) failed: Arc<AtomicBool>,
    /// Where to leave what the samples are called that live at the end, if anybody may want to know.
    pub(crate) last_numbers: Option<Arc<OnceLock<Numbers>>>,
}

impl Assignment {
    /// What the trace is to say of the process from the start.
    fn first_notice(&self) -> Option<Notice> {
        let program = self.programs.as_ref().zip(self.process.executable_file.as_ref());
        let is_open = self.notice.as_ref().is_none_or(Notice::is_of_absence);
        let hidden = program.filter(|_| is_open).and_then(|(programs, program)| {
            programs.hidden(program, |runtime| self.wanted.wants(runtime))
        });
        hidden.map(|runtime| Notice::OfRuntime(runtime.hidden())).or_else(|| self.notice.clone())
    }

    /// Whether the program has an allocator of its own that cannot be hooked.
    fn has_unhooked_allocator(&self) -> bool {
        let program = self.allocators.as_ref().zip(self.process.executable_file.as_ref());
        let is_hidden = || program.is_some_and(|(them, program)| them.is_hidden(program));
        self.has_unhooked || is_hidden()
    }
}

/// Writes one trace.
pub(crate) struct Scribe {
    /// None after an error: work is still taken, so that the session can end in order.
    trace: Option<Assembler>,
    length: Length,
    failed: Arc<AtomicBool>,
    begun: Instant,
    flushed: Instant,
    has_pending: bool,
    resident: u64,
    clock: WallClock,
    lost: Losses,
    /// What a hit stands for, in bytes, and the memory of its own that the process had at the start: where
    /// malloc is all that is sampled, and from the start.
    reach: Option<(f64, Bytes)>,
    /// Told in the end, unless it turns out to be wrong.
    presumed: Option<Notice>,
    /// The program that has come after this one has not said hello, but is going to.
    expects_successor: bool,
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
        if scribe.expects_successor {
            slot.expect(pid);
        }
        slot.leave(scribe.into_report(), most_resident);
    }

    fn begin(assignment: Assignment, plan: &Plan) -> Scribe {
        let notice = assignment.first_notice();
        let allocator = assignment.has_unhooked_allocator().then_some(Notice::OwnAllocator);
        let interval = interval_from_start(&assignment, plan);
        let inherited = assignment.process.anonymous;
        let Assignment {
            path,
            file,
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
        let file = file.map(|file| TraceFile::new(file, plan.max_size));
        let mut scribe = Scribe {
            trace: None,
            length: file.as_ref().map(TraceFile::length).unwrap_or_default(),
            failed,
            begun: Instant::now(),
            flushed: Instant::now(),
            has_pending: false,
            resident: 0,
            clock: WallClock::new(anchor),
            lost: Losses::default(),
            presumed: notice.clone().filter(Notice::is_of_absence),
            expects_successor: false,
            title: None,
            titled: None,
            reach: interval.map(|interval| (interval, inherited)),
            report: blank_report(path, &process, &info),
            last_numbers,
        };
        match sink::open(plan.format, file, heap, &info) {
            Ok(sink) => {
                let assembler = Assembler::new(sink, anchor, samplers, symbolizer, process);
                scribe.trace = Some(assembler.with_native_frames(plan.native_frames));
            }
            Err(error) => scribe.fail(error),
        }
        scribe
            .attempt(|trace| facts.iter().try_for_each(|fact| trace.fact(MonotonicNanos(0), fact)));
        if scribe.presumed.is_none() {
            scribe.attempt(|trace| notice.map_or(Ok(()), |notice| trace.notice(notice)));
        }
        scribe.attempt(|trace| allocator.map_or(Ok(()), |notice| trace.notice(notice)));
        scribe
    }

    fn follow(&mut self, inbox: &WorkReceiver, slot: &SessionSlot) -> Ending {
        loop {
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

    /// Until the next flush is due, or for long when nothing waits for one.
    fn patience(&self) -> Duration {
        if self.has_pending {
            self.longest_wait().saturating_sub(self.flushed.elapsed())
        } else {
            Duration::from_secs(3600)
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
        self.attempt(|trace| match looked {
            Ok(found) => trace.write_found(found),
            Err(why) => trace.notice(Notice::NotLookedThrough(*why)),
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
        (self.begun.elapsed() / 4).clamp(SHORTEST_WAIT, LONGEST_WAIT)
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
        let Some((interval, inherited)) = self.reach.filter(|_| ending.lost.total() == 0) else {
            return;
        };
        let Some(highest) = ending.most_anonymous else { return };
        self.attempt(|trace| {
            let Counts { hits, samples, .. } = trace.counts();
            let observed = Observed { interval, hits, samples };
            let is_unexplained = unexplained::is_too_much(highest, inherited, observed);
            let is_known = trace.notices().contains(&Notice::OwnAllocator);
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
            match successor::untraced(pid) {
                Some(notice) => self.attempt(|trace| trace.notice(notice)),
                None => self.expects_successor = true,
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
        self.attempt(Assembler::write_unread);
        self.attempt(Assembler::write_cuts);
        self.write_losses(ending.lost);
        self.write_presumed();
        self.write_successor(ending, pid);
        self.write_unexplained(ending);
        if let Some(exit) = exit_of(ending) {
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
    /// trace, at least that is said.
    fn into_report(self) -> Option<SessionReport> {
        let report = self.report;
        let is_followed =
            !report.notices.iter().any(|notice| matches!(notice, Notice::Became { .. }));
        let says_nothing = report.end == SessionEnd::Exec && report.samples == 0 && is_followed;
        let is_removed = says_nothing && report.path.is_file() && remove_file(&report.path).is_ok();
        (!is_removed).then_some(report)
    }
}

/// How many bytes a hit stands for, where all that the program allocates could be hit.
fn interval_from_start(assignment: &Assignment, plan: &Plan) -> Option<f64> {
    let is_observed = assignment.allocators.is_some() && plan.sampling_from.is_none();
    assignment.samplers.bytes_of_malloc().filter(|_| is_observed)
}

/// None of a process that goes on.
fn exit_of(ending: &Ending) -> Option<Exit> {
    match ending.end {
        SessionEnd::Died => Some(ending.exit.unwrap_or(Exit::Unknown)),
        SessionEnd::Exec => Some(Exit::Exec),
        SessionEnd::Stopped | SessionEnd::Damaged => None,
    }
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
