//! What a process needs to be traced, made while its agent waits.

use std::io;
use std::iter::successors;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};

use std::time::Duration;

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Parent;
use lifetrace_trace::ids::{DomainId, Timestamp};
use lifetrace_transport::handshake::Origin;
use lifetrace_transport::segment::{Settings, Sources, segment_bytes};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, ioctl_fionbio as set_nonblocking};
use rustix::net::UCred;
use rustix::process::{Pid, PidfdFlags, geteuid, getpid, pidfd_open};
use rustix::system::uname;

use crate::clock::{Anchor, monotonic_now};
use crate::handshake::Host;
use crate::heap::Heap;
use crate::image::Image;
use crate::notice::Notice;
use crate::outcome::Refusal;
use crate::output::Names;
use crate::output_error::OutputError;
use crate::patch::{Allocators, Patches};
use crate::preface;
use crate::process::{ProcessImage, parent_of};
use crate::progress::Progress;
use crate::queue::queue;
use crate::rate::Rates;
use crate::receive::{Arrival, ReceiverHandle};
use crate::runtimes::{ManagedHeap, Programs, RUNTIMES, SourceChoice};
use crate::samplers::{Samplers, WORD_BITS};
use crate::scribe::{Assignment, Scribe};
use crate::session::Session;
use crate::shm::Segment;
use crate::snapshots::{self, Desk, NumbersSource, Registration, SnapshotPlan};
use crate::symbolizer::Symbolizer;
use crate::threads;
use crate::title::Title;

/// How long a program's first agent waits for the end of its process's previous image.
const SUCCESSION: Duration = Duration::from_millis(500);

/// When everything is sampled, targets wait for us: larger rings save them some of that.
pub(crate) const EXACT_RING_BYTES: u32 = 4 << 20;

/// Lets processes in.
pub(crate) struct Admission {
    pub(crate) sources: SourceChoice,
    pub(crate) rates: Rates,
    /// Of all sessions, but for what is sampled.
    pub(crate) settings: Settings,
    pub(crate) programs: Arc<Programs>,
    pub(crate) allocators: Arc<Allocators>,
    /// None if there are to be no files.
    pub(crate) names: Option<Names>,
    /// Whether processes are looked through for blocks to which nothing points.
    pub(crate) looks_for_lost: bool,
    /// Told of each session, if there is one.
    pub(crate) heap: Option<Heap>,
    /// The only process to be traced, if not all are.
    pub(crate) only: Option<Pid>,
    pub(crate) anchor: Anchor,
    pub(crate) symbolizer: Arc<Symbolizer>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) receiver: ReceiverHandle,
    pub(crate) desk: Arc<Desk>,
    /// Those that nobody asks for.
    pub(crate) snapshots: SnapshotPlan,
}

impl Host for Admission {
    fn take_in(&mut self, client: UCred, token: u64, connection: OwnedFd) {
        if set_nonblocking(&connection, false).is_ok() {
            self.desk.arrive(token, connection, client.pid);
        }
    }

    fn wake(&mut self) {
        self.receiver.wake();
    }

    /// Only of this user, or of root.
    fn hear(&mut self, client: UCred, connection: OwnedFd) {
        let may_ask = client.uid == geteuid() || client.uid.is_root();
        if may_ask && set_nonblocking(&connection, false).is_ok() {
            let desk = Arc::clone(&self.desk);
            // Without a thread the connection is closed, which is an answer.
            let _ = threads::spawn("request", move || snapshots::answer(&connection, &desk));
        }
    }

    fn admit(&mut self, client: UCred, origin: Origin) -> Option<(OwnedFd, u64)> {
        let pid = client.pid;
        if self.only.is_some_and(|only| only != pid) || !self.belongs(client) {
            return None;
        }
        self.end_earlier_image(pid);
        let process = self.introduce(ProcessImage::read(pid), origin);
        let program = process.called.name.clone();
        let begun = self.begin(process, origin);
        begun
            .inspect_err(|error| match error {
                BeginError::Gone => self.progress.miss(),
                _ => {
                    let pid = pid.as_raw_nonzero().get() as u32;
                    self.progress.refuse(Refusal { pid, program, reason: error.to_string() });
                }
            })
            .ok()
    }
}

impl Admission {
    /// A forked child was run as its parent was, whatever that calls itself by now.
    fn introduce(&self, process: ProcessImage, origin: Origin) -> ProcessImage {
        let parent = Some(process.parent).filter(|_| origin == Origin::Fork);
        let parent = parent.and_then(|parent| Pid::from_raw(i32::try_from(parent).ok()?));
        match parent.and_then(|parent| self.progress.called(parent)) {
            Some(called) => ProcessImage { called, ..process },
            None => process,
        }
    }

    /// Whether it is this user's process, or has been until it became another user: then it descends
    /// from us or from a traced process. Nobody else's traces are ours to write.
    fn belongs(&self, client: UCred) -> bool {
        let is_family = |pid: Pid| pid == getpid() || self.progress.has_session(pid);
        client.uid == geteuid()
            || successors(Some(client.pid), |&pid| parent_of(pid)).any(is_family)
    }

    /// A process that says hello again has executed another program. If there was nothing to say
    /// about the earlier one, its trace is removed first, since it leaves its name to the new one.
    fn end_earlier_image(&self, pid: Pid) {
        if self.progress.has_session(pid) {
            let (answer, inbox) = sync_channel(1);
            self.receiver.send(Arrival::Replaced(pid, answer));
            if inbox.recv_timeout(SUCCESSION) == Ok(false) {
                self.progress.wait_for_end_of(pid, SUCCESSION);
            }
        }
    }

    fn begin(
        &mut self,
        process: ProcessImage,
        origin: Origin,
    ) -> Result<(OwnedFd, u64), BeginError> {
        let pid = process.pid;
        let begun = monotonic_now();
        let (handle, image) = (handle_of(pid)?, Image::of(pid));
        let (mut settings, notice) = self.settle(&process);
        let allocator = self.allocator_of(&process, settings.sources, origin);
        settings.patches = allocator.list.len() as u32;
        let (segment, descriptor) = Segment::create(settings, &allocator.list)?;
        let name = pid.as_raw_nonzero().to_string();
        let create = |names: &mut Names| names.create(&process.called.name, &name);
        let (path, file) = self.names.as_mut().map(create).transpose()?.unzip();
        let (failed, title) = (Arc::new(AtomicBool::new(false)), Title::of(&process));
        let (queue, inbox) = queue();
        let queue = Arc::new(queue);
        let last_numbers = Arc::new(OnceLock::new());
        let samplers = Samplers::of(&settings.sources);
        let info = trace_info(&process, samplers.first_rate(), self.anchor.wall(begun));
        let path = path.unwrap_or_default();
        let slot = self.progress.enter(pid, process.parent, process.called.clone(), &path);
        let heap = self.heap.as_ref().map(|heap| heap.enter(&info));
        let registration = Registration {
            pid,
            segment: segment.mapping(),
            sources: settings.sources,
            called: process.called.name.clone(),
            executable: process.executable.clone(),
            trace: path.clone(),
            taken: 0,
            numbers: NumbersSource {
                queue: Arc::downgrade(&queue),
                last: Arc::clone(&last_numbers),
            },
        };
        let assignment = Assignment {
            file,
            heap,
            parent: self.parent_of(&process),
            info,
            samplers,
            notice,
            wanted: self.sources,
            programs: self.sources.depends_on_program().then(|| Arc::clone(&self.programs)),
            allocators: samples_malloc(settings.sources, process.pid)
                .then(|| Arc::clone(&self.allocators)),
            has_unhooked: allocator.is_unhooked,
            path,
            process,
            anchor: self.anchor,
            symbolizer: Arc::clone(&self.symbolizer),
            failed: Arc::clone(&failed),
            last_numbers: self.snapshots.is_unasked().then_some(last_numbers),
        };
        threads::spawn(format!("trace {name}"), move || Scribe::run(assignment, &inbox, slot))?;
        self.desk.register(registration, segment.header(), &self.snapshots)?;
        let mut session = Session::new(image, title, handle, segment, queue, failed);
        if self.heap.is_none() {
            session.gather();
        }
        self.receiver.send(Arrival::Session(Box::new(session)));
        Ok((descriptor, segment_bytes(&settings) as u64))
    }

    /// What is sampled of a process, and what is to be told about that.
    fn settle(&self, process: &ProcessImage) -> (Settings, Option<Notice>) {
        let program = process.executable_file.as_ref();
        let program = program.filter(|_| self.sources.depends_on_program());
        let libraries = || process.libraries();
        let none = [ManagedHeap::None; RUNTIMES.len()];
        let heaps = program.map_or(none, |program| self.programs.heaps(program, libraries));
        let (sources, notice) = self.sources.settle(&heaps, &self.rates);
        let is_looked_through = self.looks_for_lost && samples_malloc(sources, process.pid);
        let looks_for_lost = is_looked_through.into();
        let mut settings = Settings { sources, looks_for_lost, ..self.settings };
        if settings.exact() {
            settings.ring_bytes = EXACT_RING_BYTES;
        }
        (settings, notice)
    }

    /// How the allocator is hooked that the program has in itself. A forked child has its parent's code, as it
    /// has been patched.
    fn allocator_of(&self, process: &ProcessImage, sources: Sources, origin: Origin) -> Patches {
        if !samples_malloc(sources, process.pid) {
            return Patches::default();
        }
        let patches = self.allocators.patches(process);
        match origin {
            Origin::Exec => patches,
            Origin::Fork => Patches { list: Vec::new(), ..patches },
        }
    }

    fn parent_of(&self, process: &ProcessImage) -> Option<Parent> {
        let pid = Pid::from_raw(i32::try_from(process.parent).ok()?)?;
        Some(preface::parent(process.parent, &self.progress.trace_of(pid)?))
    }
}

/// Whether blocks are to be sampled that a program gets from its allocator; what has us linked in reports
/// them itself.
fn samples_malloc(sources: Sources, pid: Pid) -> bool {
    sources.has_malloc() && pid != getpid()
}

/// What is readable when the process has ended. Its own end nobody sees; and a sandbox may know no such
/// descriptors.
fn handle_of(pid: Pid) -> Result<OwnedFd, BeginError> {
    if pid == getpid() {
        let never = eventfd(0, EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
        return Ok(never);
    }
    pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH => BeginError::Gone,
        error => BeginError::System(error.into()),
    })
}

#[derive(Debug, thiserror::Error)]
enum BeginError {
    /// There is nothing to trace.
    #[error("the process has ended")]
    Gone,
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot set up a session: {0}")]
    System(#[from] io::Error),
}

fn trace_info(process: &ProcessImage, sample_rate: f64, start_time: Timestamp) -> TraceInfo {
    TraceInfo {
        sample_rate,
        word_bits: WORD_BITS,
        executable_name: process.executable.to_string_lossy().into_owned(),
        host_name: uname().nodename().to_string_lossy().into_owned(),
        runtime_params: String::new(),
        pid: process.pid.as_raw_nonzero().get() as u64,
        start_time,
        initial_domain: DomainId(0),
        context: Some(process.command_line()).filter(|line| !line.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_is_no_failure() {
        assert!(handle_of(getpid()).is_ok());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        child.wait().unwrap();
        assert!(matches!(handle_of(pid), Err(BeginError::Gone)));
    }
}
