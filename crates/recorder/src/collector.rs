//! Serves agents: everything but starting the command.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lifetrace_trace::fact::{Exit, Label};
use lifetrace_transport::codec::{MAX_FRAMES, MAX_LEN};
use lifetrace_transport::segment::{Settings, Sources};
use rustix::process::Pid;

#[cfg(target_arch = "x86_64")]
use crate::admission::Guest;
use crate::admission::{Admission, BeginError};
use crate::change_rate::{RateChange, RateError, change_rate};
use crate::clock::{Anchor, after, monotonic_now};
use crate::files::Files;
use crate::format::Format;
use crate::handshake::HandshakeServer;
use crate::late_processes::LateProcesses;
use crate::looking::Requests;
use crate::observe::ObserverHandle;
use crate::outcome::{Figures, Outcome};
use crate::output::{Names, Output};
use crate::output_error::OutputError;
use crate::plan::{Introduction, Plan};
use crate::progress::Progress;
use crate::rate::{Rate, Rates};
use crate::receive::Receiver;
use crate::requests::{Listed, Recorded, Release};
use crate::runtimes::SourceChoice;
use crate::schedule::Schedule;
use crate::snapshots::{Desk, SavedSnapshot, SnapshotError, SnapshotPlan, SnapshotWish};
use crate::socket::Socket;
use crate::standing::Standing;
use crate::switch::Switch;
use crate::symbolizer::Symbolizer;
use crate::template::Template;
use crate::threads;
use crate::usage::Usage;
use crate::wakeup::Wakeup;

/// A process that somebody has just started says hello within this time, but on a busy machine.
const USUAL_DELAY: Duration = Duration::from_millis(30);

const RINGS: u32 = 4;
const RING_BYTES: u32 = (2 * MAX_LEN as u32).next_power_of_two();

/// Most frames that a backtrace can have.
pub const MOST_FRAMES: u32 = MAX_FRAMES as u32;

/// How to trace.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// Where to.
    pub output: Output,
    /// What trace files are written in.
    pub format: Format,
    /// Whether existing files may be overwritten.
    pub overwrite: bool,
    /// What is sampled.
    pub sources: SourceChoice,
    /// How densely.
    pub rates: Rates,
    /// Most frames of a managed runtime's backtrace, at most [`MOST_FRAMES`]; of deeper ones both ends are kept.
    pub stack_limit: u32,
    /// Of the samplers' generators.
    pub seed: u64,
    /// Whether the children of traced processes are traced.
    pub follow_children: bool,
    /// When sampling begins and ends.
    pub schedule: Schedule,
    /// Greatest length of a trace, in bytes: one that would exceed it ends before.
    pub max_size: Option<u64>,
    /// How often the processes' memory is noted; `None` for never.
    pub counters: Option<Duration>,
    /// Whether traces are kept in which nothing was sampled, but the command's, which always is, and those
    /// of which there is more to tell.
    pub keep_empty: bool,
    /// Whether what an interpreter has called within itself stays in malloc's backtraces, inside of its program's frames.
    pub native_frames: bool,
    /// Whether Python's small objects, which never come to malloc, are sampled with malloc's blocks.
    pub small_objects: bool,
    /// Whether processes are looked through, when they or their recording end, for blocks to which nothing points.
    pub looks_for_lost: bool,
    /// Keys and values for each trace to tell.
    pub labels: Vec<(String, String)>,
    /// When snapshots of heaps are taken.
    pub snapshots: SnapshotPlan,
    /// What each trace begins with, where the program has something to say.
    pub introduction: Introduction,
    /// If it may go and come again, and processes find it by themselves.
    pub standing: Option<Standing>,
}

/// A running collector. It goes on until [`finish`](Self::finish).
#[derive(Debug)]
pub struct Collector {
    progress: Arc<Progress>,
    stop: Arc<Wakeup>,
    switch: Arc<Switch>,
    desk: Arc<Desk>,
    snapshots: SnapshotPlan,
    looks: Arc<Requests>,
    wakeup: Arc<Wakeup>,
    late_processes: LateProcesses,
    follows_children: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl CollectorOptions {
    /// Checks the template, if there is one, and whether a trace of `program` could be written.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn check(&self, program: &str) -> Result<(), OutputError> {
        self.names()?.map_or(Ok(()), |names| names.check(program))
    }

    /// None if there are to be no files.
    pub(crate) fn names(&self) -> Result<Option<Names>, OutputError> {
        let template = self.output.template().map(Template::parse).transpose()?;
        Ok(template.map(|template| Names::new(template, self.overwrite)))
    }

    fn files(&self) -> Result<Files, OutputError> {
        let folder = self.output.folder().cloned().map(Files::Folder);
        let named = self.names()?.map(Files::Named);
        Ok(folder.or(named).unwrap_or(Files::None))
    }

    fn plan(&self, anchor: Anchor, command: Option<Pid>) -> Plan {
        let delay = Some(self.schedule.delay).filter(|delay| !delay.is_zero());
        let sampling_from = delay.map(|delay| anchor.wall(after(monotonic_now(), delay)));
        let labels = self
            .labels
            .iter()
            .map(|(key, value)| Label { key: key.as_str().into(), value: value.as_str().into() });
        Plan {
            sampling_from,
            max_size: self.max_size,
            format: self.format,
            keeps_empty: self.keep_empty,
            native_frames: self.native_frames,
            follows: self.follow_children,
            command,
            labels: labels.collect(),
            introduction: self.introduction.clone(),
        }
    }

    /// The settings that a session's agent is sent, but for what is sampled, which depends on the program.
    fn settings(&self) -> Settings {
        Settings {
            ring_count: RINGS,
            ring_bytes: RING_BYTES,
            seed: self.seed,
            follow_children: self.follow_children.into(),
            recorder_pid: std::process::id(),
            sources: Sources::NONE,
            stack_limit: self.stack_limit.min(MOST_FRAMES),
            patches: 0,
            looks_for_lost: 0,
            is_standing: self.standing.is_some().into(),
        }
    }
}

/// Why a collector could not be started.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The template.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No threads or descriptors.
    #[error("cannot start the recorder: {0}")]
    System(#[from] io::Error),
    /// The process that was to be recorded has ended.
    #[error("the process has ended")]
    Gone,
}

impl From<BeginError> for CollectorError {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::Output(error) => CollectorError::Output(error),
            BeginError::System(error) => CollectorError::System(error),
            BeginError::Gone => CollectorError::Gone,
        }
    }
}

impl Collector {
    /// Serves the agents that come to `socket`; if children are not followed, `only` this
    /// process's.
    ///
    /// # Errors
    /// [`CollectorError`].
    pub fn start(
        socket: Socket,
        options: &CollectorOptions,
        only: Option<Pid>,
    ) -> Result<Collector, CollectorError> {
        Collector::start_with(socket, options, only, |_| Ok(()))
    }

    /// As [`start`](Self::start), with a process that is invited first of all; beside it, the length of its segment.
    ///
    /// # Errors
    /// [`CollectorError`]; then there is no session.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn start_for(
        guest: Guest,
        socket: Socket,
        options: &CollectorOptions,
    ) -> Result<(Collector, u64), CollectorError> {
        let (only, mut bytes) = (Some(guest.pid), 0);
        let collector = Collector::start_with(socket, options, only, |admission| {
            bytes = admission.invite(guest)?;
            Ok(())
        })?;
        Ok((collector, bytes))
    }

    fn start_with(
        socket: Socket,
        options: &CollectorOptions,
        only: Option<Pid>,
        before: impl FnOnce(&mut Admission) -> Result<(), BeginError>,
    ) -> Result<Collector, CollectorError> {
        let anchor = Anchor::now();
        let progress = Arc::new(Progress::new(options.plan(anchor, only)));
        let stop = Arc::new(Wakeup::new()?);
        let switch = Arc::new(Switch::default());
        switch.set_paused(!options.schedule.delay.is_zero());
        let seen = options.follow_children.then(|| Arc::clone(&progress));
        let observer = ObserverHandle::start(options.counters, seen)?;
        let looks = Arc::new(Requests::default());
        let (told_stop, told_switch) = (Arc::clone(&stop), Arc::clone(&switch));
        let (receiver, handle) =
            Receiver::new(told_stop, told_switch, Arc::clone(&looks), observer)?;
        let wakeup = handle.wakeup();
        let desk = Arc::new(Desk::new(Arc::clone(&looks), Arc::clone(&wakeup)));
        let mut admission = Admission {
            sources: options.sources,
            rates: options.rates.clone(),
            settings: options.settings(),
            programs: Arc::default(),
            allocators: Arc::default(),
            files: options.files()?,
            standing: options.standing.clone(),
            max_size: options.max_size,
            looks_for_lost: options.looks_for_lost && options.format == Format::Lt,
            small_objects: options.small_objects,
            heap: options.output.heap().cloned(),
            only: only.filter(|_| !options.follow_children),
            anchor,
            symbolizer: Arc::new(Symbolizer::start()?),
            progress: Arc::clone(&progress),
            receiver: handle,
            desk: Arc::clone(&desk),
            snapshots: options.snapshots,
            release: Release {
                is_attached: false,
                progress: Arc::clone(&progress),
                stop: Arc::clone(&stop),
            },
        };
        before(&mut admission)?;
        let late_processes = LateProcesses::of(socket.path());
        let handshake = HandshakeServer::new(socket, Arc::clone(&stop));
        let serve = move || handshake.serve(&mut admission);
        let threads = Mutex::new(vec![
            threads::spawn("receiver", move || receiver.run())?,
            threads::spawn("door", serve)?,
        ]);
        let follows_children = options.follow_children;
        let collector = Collector {
            progress,
            stop,
            switch,
            desk,
            snapshots: options.snapshots,
            looks,
            wakeup,
            late_processes,
            follows_children,
            threads,
        };
        collector.follow(options.schedule)?;
        collector.take_snapshots(options.snapshots)?;
        Ok(collector)
    }

    /// Ends the recording when the schedule says so.
    fn follow(&self, schedule: Schedule) -> io::Result<()> {
        if schedule.is_empty() {
            return Ok(());
        }
        let (stop, switch) = (Arc::clone(&self.stop), Arc::clone(&self.switch));
        let progress = Arc::clone(&self.progress);
        let follow = move || {
            if schedule.follow(&switch, &stop) {
                progress.stop();
                stop.raise();
            }
        };
        let thread = threads::spawn("schedule", follow)?;
        self.threads().push(thread);
        Ok(())
    }

    /// Takes those snapshots that are due at some time.
    fn take_snapshots(&self, plan: SnapshotPlan) -> io::Result<()> {
        if plan.has_times() {
            let (desk, stop) = (Arc::clone(&self.desk), Arc::clone(&self.stop));
            let thread = threads::spawn("snapshots", move || plan.follow(&desk, &stop))?;
            self.threads().push(thread);
        }
        Ok(())
    }

    /// From now on nothing is sampled, in no process; what was sampled before is followed to its
    /// death. Agents know within some 20 ms.
    pub fn pause(&self) {
        self.switch.set_paused(true);
    }

    /// Undoes [`pause`](Self::pause), or comes before the end of the schedule's delay.
    pub fn resume(&self) {
        self.switch.set_paused(false);
    }

    /// Has a process looked through for lost blocks now; what is found will be in its trace, in place of what was found
    /// before. Nothing happens if it is not traced, or if processes are not [looked
    /// through](CollectorOptions::looks_for_lost). Returns at once.
    pub fn look_for_lost(&self, process: Pid) {
        self.looks.add(process);
        self.wakeup.raise();
    }

    /// How it goes.
    pub fn figures(&self) -> Figures {
        self.progress.figures()
    }

    /// What is being recorded. If `watches` is true, its traces are written sooner for a moment, so that they can be
    /// read while they grow.
    pub fn recorded(&self, watches: bool) -> Recorded {
        if watches {
            self.progress.watch();
        }
        self.progress.recorded()
    }

    /// Waits until no process is being traced and all traces are written, or until
    /// [`stop`](Self::stop); false when `deadline` came first.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        loop {
            if !self.progress.wait_for_silence(deadline) {
                return false;
            }
            if self.progress.stopping() || !self.follows_children {
                return true;
            }
            std::thread::sleep(USUAL_DELAY);
            // Who comes is awaited until it lives, so this is asked first.
            let is_awaited = self.progress.expects_any() || self.late_processes.are_expected();
            if !is_awaited && self.progress.live_count() == 0 {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return false;
            }
        }
    }

    /// Notes how the command has ended, before anybody is told who asks the system.
    pub(crate) fn command_has_ended(&self, pid: Pid, exit: Exit, usage: Option<Usage>) {
        self.progress.command_has_ended(pid, exit, usage);
    }

    /// Takes a snapshot of the heap of a process that is being traced, and waits until it is saved.
    ///
    /// # Errors
    /// [`SnapshotError`]; the process is as it was.
    pub fn snapshot(&self, pid: u32, wish: &SnapshotWish) -> Result<SavedSnapshot, SnapshotError> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        self.desk.take(raw.ok_or(SnapshotError::NotRecorded(pid))?, wish)
    }

    /// Has malloc's blocks of a process that is being traced sampled at another rate from now on. Each of its threads goes
    /// on at the rate of before until its next sample; of each sample the trace says by which rate it counts. Other
    /// processes, those that it starts included, keep theirs.
    ///
    /// # Errors
    /// [`RateError`]; then nothing has changed.
    pub fn change_rate(&self, pid: u32, rate: Rate) -> Result<RateChange, RateError> {
        change_rate(&self.desk, pid, rate)
    }

    /// Begins to take a snapshot, as [`snapshot`](Self::snapshot) does: what becomes of it comes later. So a process that
    /// has its recorder inside can be at a place where its heap is whole.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn begin_snapshot(
        &self,
        pid: u32,
        wish: SnapshotWish,
    ) -> io::Result<mpsc::Receiver<Result<SavedSnapshot, SnapshotError>>> {
        let (sender, receiver) = mpsc::channel();
        let desk = Arc::clone(&self.desk);
        threads::spawn("snapshot", move || {
            let pid_or_none = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let process = pid_or_none.ok_or(SnapshotError::NotRecorded(pid));
            // Whoever has asked may not wait any more.
            let _ = sender.send(process.and_then(|process| desk.take(process, &wish)));
        })?;
        Ok(receiver)
    }

    /// Takes a snapshot of each process with a heap of objects that is being traced, one after the other. What becomes of
    /// them is in the [`Outcome`].
    pub fn snapshot_all(&self, cause: &str) {
        self.desk.take_of_all(&self.snapshots.wish(cause));
    }

    /// Number of traced processes that have not ended.
    pub fn living_processes(&self) -> usize {
        self.progress.living_processes()
    }

    /// Ends all sessions and lets no new ones in. Returns at once.
    pub fn stop(&self) {
        self.progress.stop();
        self.stop.raise();
    }

    /// Waits for [`stop`](Self::stop), or the end of the schedule; false when `patience` was not enough.
    pub fn wait_for_stop(&self, patience: Duration) -> bool {
        self.stop.wait(Some(patience))
    }

    /// Readable after [`stop`](Self::stop).
    pub(crate) fn stopped(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }

    /// Ends all sessions, waits until their traces are written, and tells about them.
    pub fn finish(&self) -> Outcome {
        self.stop();
        self.join();
        self.progress.wait_for_all();
        let snapshots = self.desk.finish();
        Outcome { snapshots, ..self.progress.outcome() }
    }

    fn join(&self) {
        for thread in self.threads().drain(..) {
            // A panic has been printed, and the sessions' own threads go on.
            let _ = thread.join();
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So that the socket goes away with the collector.
impl Drop for Collector {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

#[cfg(test)]
mod heap_tests;
#[cfg(test)]
mod lt_tests;
#[cfg(test)]
mod tests;
