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
use lifetrace_transport::handshake::{Origin, Unheard};
use lifetrace_transport::segment::{Settings, Sources, segment_bytes};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, ioctl_fionbio as set_nonblocking};
use rustix::process::{Pid, PidfdFlags, Uid, geteuid, getpid, pidfd_open};
use rustix::system::uname;

use crate::clock::{Anchor, monotonic_now};
use crate::files::Files;
use crate::handshake::Host;
use crate::heap::Heap;
use crate::image::Image;
use crate::late;
use crate::notice::Notice;
use crate::outcome::Refusal;
use crate::output_error::OutputError;
use crate::patch::{Allocators, Patches};
use crate::peer::Peer;
use crate::preface;
use crate::process::{ProcessImage, parent_of};
use crate::progress::Progress;
use crate::queue::queue;
use crate::rate::Rates;
use crate::receive::{Arrival, ReceiverHandle};
use crate::requests::{self, Release};
use crate::runtimes::{ManagedHeap, Programs, RUNTIMES, SourceChoice};
use crate::samplers::{Samplers, WORD_BITS};
use crate::scribe::{Assignment, Scribe};
use crate::session::Session;
use crate::shm::Segment;
use crate::snapshots::{Desk, NumbersSource, Registration, SnapshotPlan};
use crate::standing::{Event, Standing};
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
    pub(crate) files: Files,
    /// Whether processes are looked through for blocks to which nothing points.
    pub(crate) looks_for_lost: bool,
    /// Whether small blocks are wanted for which a runtime has an allocator of its own.
    pub(crate) small_objects: bool,
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
    pub(crate) release: Release,
    /// If it is a standing recorder.
    pub(crate) standing: Option<Standing>,
    /// Greatest length of a trace, in bytes.
    pub(crate) max_size: Option<u64>,
}

/// A process that runs, and is to be recorded from now on.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) pid: Pid,
    /// An empty anonymous file that the process has open, for its segment.
    pub(crate) memory: OwnedFd,
    pub(crate) patches: Patches,
    /// It may be ended for a system call that it does not expect: what it forks is left alone.
    pub(crate) is_filtered: bool,
}

/// How a process has come to have a session.
enum Entrance {
    Hello(Origin),
    Invited(Guest),
}

impl Host for Admission {
    fn take_in(&mut self, client: Peer, token: u64, connection: OwnedFd) {
        if set_nonblocking(&connection, false).is_ok() {
            self.desk.arrive(token, connection, client.pid);
        }
    }

    fn wake(&mut self) {
        self.receiver.wake();
    }

    /// Only of this user, or of root.
    fn hear(&mut self, client: Peer, connection: OwnedFd) {
        let may_ask = client.uid == geteuid() || client.uid.is_root();
        if may_ask && set_nonblocking(&connection, false).is_ok() {
            let (desk, release) = (Arc::clone(&self.desk), self.release.clone());
            // Without a thread the connection is closed, which is an answer.
            let _ =
                threads::spawn("request", move || requests::answer(&connection, &desk, &release));
        }
    }

    fn give_up(&mut self, client: Peer) {
        self.receiver.send(Arrival::Returned(client.pid));
    }

    fn refuse_unseen(&mut self, user: Uid) {
        self.tell(Event::Unseen { user: user.as_raw() });
    }

    fn refuse_version(&mut self, client: Peer, version: u32) {
        self.tell(Event::OtherVersion { pid: number(client.pid), version });
    }

    fn admit(&mut self, client: Peer, origin: Origin) -> Option<(OwnedFd, u64)> {
        let pid = client.pid;
        if self.only.is_some_and(|only| only != pid) {
            return None;
        }
        if !self.belongs(client) {
            self.tell(Event::Stranger { pid: number(pid), user: client.uid.as_raw() });
            return None;
        }
        match origin {
            Origin::Late(_) => self.end_earlier_session(pid),
            Origin::Exec | Origin::Fork => self.end_earlier_image(pid),
        }
        let process = self.introduce(ProcessImage::read(pid), origin);
        let program = process.called.name.clone();
        let begun = self.begin(process, Entrance::Hello(origin));
        begun
            .inspect_err(|error| match error {
                BeginError::Gone => self.progress.miss(),
                _ => {
                    let refusal = Refusal { pid: number(pid), program, reason: error.to_string() };
                    self.tell(Event::Refused(refusal.clone()));
                    self.progress.refuse(refusal);
                }
            })
            .ok()
    }
}

impl Admission {
    /// Tells whoever runs a standing recorder.
    fn tell(&self, event: Event) {
        self.standing.iter().for_each(|standing| standing.tell(event.clone()));
    }

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
    fn belongs(&self, client: Peer) -> bool {
        let is_family = |pid: Pid| pid == getpid() || self.progress.has_session(pid);
        client.uid == geteuid()
            || self.standing.as_ref().is_some_and(|it| it.admits.includes(client.uid.as_raw()))
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

    /// Makes a session for a process that runs and has not asked for one; the length of its segment.
    ///
    /// # Errors
    /// [`BeginError`].
    pub(crate) fn invite(&mut self, guest: Guest) -> Result<u64, BeginError> {
        let process = ProcessImage::read(guest.pid);
        self.release.is_attached = true;
        let (_, bytes) = self.begin(process, Entrance::Invited(guest))?;
        Ok(bytes)
    }

    /// A program says hello again that has given up an earlier session, in which nothing more will be said.
    fn end_earlier_session(&self, pid: Pid) {
        if self.progress.has_session(pid) {
            self.receiver.send(Arrival::Returned(pid));
        }
    }

    fn begin(
        &mut self,
        process: ProcessImage,
        entrance: Entrance,
    ) -> Result<(OwnedFd, u64), BeginError> {
        let pid = process.pid;
        let begun = monotonic_now();
        let (handle, image) = (handle_of(pid)?, Image::of(pid));
        let (mut settings, notice) = match &entrance {
            Entrance::Hello(origin) => self.settle(&process, *origin),
            Entrance::Invited(_) => self.settle(&process, Origin::Exec),
        };
        if matches!(&entrance, Entrance::Invited(guest) if guest.is_filtered) {
            settings.follow_children = 0;
        }
        let late = match &entrance {
            Entrance::Hello(origin) => late::notice(*origin),
            Entrance::Invited(_) => Some(Notice::BeganLate(process.age)),
        };
        let is_late = late.is_some();
        let (allocator, memory) = match entrance {
            Entrance::Hello(origin) => {
                (self.allocator_of(&process, settings.sources, origin), None)
            }
            Entrance::Invited(guest) => (guest.patches, Some(guest.memory)),
        };
        settings.patches = allocator.list.len() as u32;
        let (segment, descriptor) = match memory {
            None => Segment::create(settings, &allocator.list)?,
            Some(memory) => Segment::create_in(memory, settings, &allocator.list)?,
        };
        if !self.small_objects {
            segment.header().leave_small_objects_out();
        }
        let name = pid.as_raw_nonzero().to_string();
        let begun_at = self.anchor.wall(begun);
        let opened = self.files.open(&process.called.name, pid, begun_at, self.max_size)?;
        let (path, destination) = opened.unzip();
        let (failed, title) = (Arc::new(AtomicBool::new(false)), Title::of(&process));
        let (queue, inbox) = queue();
        let queue = Arc::new(queue);
        let last_numbers = Arc::new(OnceLock::new());
        let samplers = Samplers::of(&settings.sources);
        let info = trace_info(&process, samplers.first_rate(), begun_at);
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
            destination,
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
            late,
            awaits_runtime: (is_late || self.release.is_attached)
                && settings.sources.managed().is_some(),
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
    fn settle(&self, process: &ProcessImage, origin: Origin) -> (Settings, Option<Notice>) {
        let program = process.executable_file.as_ref();
        let program = program.filter(|_| self.sources.depends_on_program());
        let libraries = || process.libraries();
        let none = [ManagedHeap::None; RUNTIMES.len()];
        let heaps = program.map_or(none, |program| self.programs.heaps(program, libraries));
        let (mut sources, notice) = self.sources.settle(&heaps, &self.rates);
        let is_deaf = matches!(origin, Origin::Late(late) if !late.can_begin_managed);
        if is_deaf && sources.managed().is_some() {
            let native = SourceChoice::Native;
            let has_mappings = self.sources.has_mappings();
            let late = if has_mappings { native.and_mappings() } else { native };
            sources = late.settle(&none, &self.rates).0;
        }
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
            // It had its patches from the recorder before.
            Origin::Late(late) if late.unheard != Unheard::NEVER_HEARD => {
                Patches { list: Vec::new(), ..patches }
            }
            // Its threads may be in the functions that would be patched.
            Origin::Late(_) => Patches {
                is_unhooked: patches.is_unhooked || !patches.list.is_empty(),
                list: Vec::new(),
            },
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

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get() as u32
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
pub(crate) enum BeginError {
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
