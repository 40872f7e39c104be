//! Agents that are played by this process, or by a child of it, against a real collector.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use lifetrace_trace::event::Event;
use lifetrace_trace::memtrace::Reader;
use lifetrace_transport::message::{Body, SampleId};
use lifetrace_transport::ring::Tail;
use lifetrace_transport::segment::LostReason;
use rustix::net::{SendFlags, send};

use super::*;
use crate::fake::{FakeAgent, allocation, knock};
use crate::outcome::{SessionEnd, SessionReport};
use crate::rate::Rate;

/// Where the child of [`child_that_dies`] finds the socket.
const CHILD_VARIABLE: &str = "LIFETRACE_TEST_SOCKET";

pub(super) struct Scene {
    directory: tempfile::TempDir,
    pub(super) collector: Collector,
    socket: PathBuf,
}

/// What most tests want; the output is a name that none should use.
pub(super) fn defaults() -> CollectorOptions {
    CollectorOptions {
        output: Output::Files("/no/such/folder/t.ctf".into()),
        format: Format::Memtrace,
        overwrite: false,
        sources: SourceChoice::Native,
        rates: Rates::all(Rate::EXACT),
        stack_limit: MOST_FRAMES,
        seed: 1,
        follow_children: true,
        schedule: Schedule::default(),
        max_size: None,
        counters: None,
        labels: Vec::new(),
        keep_empty: true,
        native_frames: false,
        small_objects: true,
        snapshots: crate::snapshots::SnapshotPlan::default(),
        looks_for_lost: false,
        standing: None,
        introduction: crate::plan::Introduction::default(),
    }
}

impl Scene {
    fn new() -> Scene {
        Scene::with_output("t.ctf", |_| {})
    }

    pub(super) fn with_output(output: &str, change: impl FnOnce(&mut CollectorOptions)) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let mut options = CollectorOptions {
            output: directory.path().join(output).into_os_string().into(),
            overwrite: false,
            rates: Rates::all(Rate::from_interval(4096).unwrap()),
            seed: 1,
            follow_children: true,
            ..defaults()
        };
        change(&mut options);
        Scene::start(directory, &options, None)
    }

    fn start(directory: tempfile::TempDir, options: &CollectorOptions, only: Option<Pid>) -> Scene {
        let socket = Socket::bind().unwrap();
        let path = socket.path().to_owned();
        let collector = Collector::start(socket, options, only).unwrap();
        Scene { directory, collector, socket: path }
    }

    pub(super) fn agent(&self) -> FakeAgent {
        FakeAgent::connect(&self.socket).expect("the agent is welcome")
    }

    /// Number of files that the collector has made.
    pub(super) fn files(&self) -> usize {
        std::fs::read_dir(self.directory.path()).unwrap().count()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn only_session(&self) -> SessionReport {
        let outcome = self.collector.finish();
        assert!(outcome.refusals.is_empty(), "{outcome:?}");
        let [session] = <[_; 1]>::try_from(outcome.sessions).unwrap();
        session
    }
}

/// The allocations' lengths in words, and the number of collections.
fn contents(path: &Path) -> (Vec<u64>, usize) {
    let mut reader = Reader::open(std::fs::File::open(path).unwrap()).unwrap();
    let (mut lengths, mut collections) = (Vec::new(), 0);
    while let Some((_, event)) = reader.next().unwrap() {
        match event {
            Event::Allocation(allocation) => lengths.push(allocation.length.0),
            Event::Collection(_) => collections += 1,
            Event::Promotion(_) => {}
        }
    }
    (lengths, collections)
}

#[test]
fn what_an_agent_says_is_in_the_trace() {
    let scene = Scene::new();
    let agent = scene.agent();
    agent.say(0, allocation(0, 80, &[0x10]));
    agent.say(3, allocation(1, 16, &[0x20]));
    agent.say(1, Body::Release { id: SampleId(0) });
    agent.segment.header().count_lost(LostReason::RingFull);
    let session = scene.only_session();
    assert_eq!(contents(&session.path), (vec![10, 2], 1));
    assert_eq!((session.samples, session.events, session.end), (2, 3, SessionEnd::Stopped));
    assert_eq!(session.lost, [(LostReason::RingFull, 1)]);
    assert_eq!(session.bytes, session.path.metadata().unwrap().len());
    assert_eq!(session.pid, std::process::id());
    assert!(agent.segment.header().stopped());
}

#[test]
fn waiting_has_its_deadline() {
    let scene = Scene::new();
    let _agent = scene.agent();
    assert!(!scene.collector.wait(Some(Instant::now() + Duration::from_millis(1))));
    assert_eq!(scene.collector.living_processes(), 1);
}

#[test]
fn the_trace_says_what_it_is_of() {
    let scene = Scene::new();
    let _agent = scene.agent();
    let session = scene.only_session();
    let reader = Reader::open(std::fs::File::open(&session.path).unwrap()).unwrap();
    let info = reader.info();
    assert_eq!(info.pid, u64::from(std::process::id()));
    assert_eq!(info.executable_name, std::env::current_exe().unwrap().to_str().unwrap());
    assert_eq!(info.sample_rate, Rate::from_interval(4096).unwrap().per_word());
    assert_eq!((info.word_bits, info.context.as_deref()), (64, Some(&*session.command_line)));
}

#[test]
fn more_than_the_rings_can_hold() {
    const COUNT: u64 = 20_000;
    let scene = Scene::new();
    let agent = scene.agent();
    let frames: Vec<u64> = (0..100).collect();
    for id in 0..COUNT {
        agent.say(id as usize % 4, allocation(id, 8, &frames));
        agent.say(id as usize % 4, Body::Release { id: SampleId(id) });
    }
    let session = scene.only_session();
    let (lengths, collections) = contents(&session.path);
    assert_eq!((lengths.len() as u64, collections as u64), (COUNT, COUNT));
}

#[test]
fn visitors_that_say_nothing_or_nonsense_stop_nobody() {
    let scene = Scene::new();
    let _silent = knock(&scene.socket);
    let garbage = knock(&scene.socket);
    send(&garbage, b"potato", SendFlags::empty()).unwrap();
    drop(knock(&scene.socket));
    scene.agent().say(0, allocation(0, 8, &[]));
    assert_eq!(scene.only_session().samples, 1);
}

#[test]
fn a_process_that_executes_another_program_gets_another_trace() {
    let scene = Scene::new();
    scene.agent().say(0, allocation(0, 8, &[]));
    scene.agent().say(0, allocation(0, 16, &[]));
    let sessions = scene.collector.finish().sessions;
    let [first, second] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((first.end, second.end), (SessionEnd::Exec, SessionEnd::Stopped));
    assert_eq!((&first.path, &second.path), (&scene.path("t.ctf"), &scene.path("t.2.ctf")));
    assert_eq!((contents(&first.path).0, contents(&second.path).0), (vec![1], vec![2]));
}

#[test]
fn a_program_that_only_starts_another_leaves_no_trace() {
    let scene = Scene::new();
    let _wrapper = scene.agent();
    scene.agent().say(0, allocation(0, 16, &[]));
    let session = scene.only_session();
    assert_eq!((session.path, session.samples), (scene.path("t.ctf"), 1));
}

#[test]
fn a_damaged_ring_costs_only_what_comes_after() {
    let scene = Scene::new();
    let agent = scene.agent();
    agent.say(0, allocation(0, 8, &[]));
    agent.say(1, allocation(1, 8, &[]));
    agent.segment.damage(0);
    agent.segment.damage(2);
    assert!(scene.collector.wait(Some(Instant::now() + Duration::from_secs(60))));
    let session = scene.only_session();
    assert_eq!(session.end, SessionEnd::Damaged);
    assert!(contents(&session.path).0.contains(&1));
}

#[test]
fn a_message_that_is_none_is_damage() {
    let scene = Scene::new();
    let agent = scene.agent();
    agent.say(0, allocation(0, 8, &[]));
    assert!(agent.segment.push(0, b"potato", Tail::EMPTY));
    assert!(scene.collector.wait(Some(Instant::now() + Duration::from_secs(60))));
    let session = scene.only_session();
    assert_eq!((session.end, session.samples), (SessionEnd::Damaged, 1));
}

#[test]
fn a_full_disk_stops_the_agent_and_nothing_else() {
    let scene =
        Scene::with_output("unused", |options| options.output = OsString::from("/dev/full").into());
    let agent = scene.agent();
    while !agent.segment.header().stopped() {
        std::thread::yield_now();
    }
    agent.say(0, allocation(0, 8, &[]));
    let session = scene.only_session();
    assert_eq!(session.error.unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!((session.samples, session.bytes), (0, 0));
}

#[test]
fn a_file_that_exists_is_a_refusal() {
    let scene = Scene::new();
    std::fs::write(scene.path("t.ctf"), "precious").unwrap();
    assert!(FakeAgent::connect(&scene.socket).is_none());
    let outcome = scene.collector.finish();
    assert!(outcome.sessions.is_empty());
    assert!(outcome.refusals[0].reason.contains("-f"), "{outcome:?}");
    assert_eq!(std::fs::read(scene.path("t.ctf")).unwrap(), b"precious");
}

#[test]
fn strangers_are_not_traced_when_children_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let options = CollectorOptions {
        output: directory.path().join("t.ctf").into_os_string().into(),
        overwrite: false,
        rates: Rates::all(Rate::EXACT),
        seed: 1,
        follow_children: false,
        ..defaults()
    };
    let scene = Scene::start(directory, &options, rustix::process::getppid());
    assert!(FakeAgent::connect(&scene.socket).is_none());
    let outcome = scene.collector.finish();
    assert!(outcome.sessions.is_empty() && outcome.refusals.is_empty(), "{outcome:?}");
}

#[test]
fn events_are_in_the_file_within_seconds() {
    let scene = Scene::new();
    let agent = scene.agent();
    agent.say(0, allocation(0, 8, &[]));
    let deadline = Instant::now() + Duration::from_secs(60);
    while contents_so_far(&scene.path("t.ctf")) == 0 {
        assert!(Instant::now() < deadline, "no event has been written");
        std::thread::yield_now();
    }
}

/// The number of events in a trace that is still being written.
fn contents_so_far(path: &Path) -> usize {
    let Ok(bytes) = std::fs::read(path) else { return 0 };
    let Ok(mut reader) = Reader::open(&bytes[..]) else { return 0 };
    let mut count = 0;
    while let Ok(Some(_)) = reader.next() {
        count += 1;
    }
    count
}

/// Plays the process that dies when it finds the variable that says so; see below.
#[test]
fn child_that_dies() {
    let Some(socket) = std::env::var_os(CHILD_VARIABLE) else { return };
    let agent = FakeAgent::connect(Path::new(&socket)).unwrap();
    for id in 0..1000 {
        agent.say(id as usize % 4, allocation(id, 8, &[id]));
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn a_process_that_dies_leaves_all_that_it_said() {
    let scene = Scene::with_output("%p.ctf", |_| {});
    let pid = play_the_child(&scene);
    let session = scene.only_session();
    assert_eq!((session.pid, session.parent), (pid, std::process::id()));
    assert_eq!((session.end, session.samples), (SessionEnd::Died, 1000));
    assert_eq!(session.path, scene.path(&format!("{pid}.ctf")));
    assert_eq!(contents(&session.path).0.len(), 1000);
}

/// Runs [`child_that_dies`] to its end, and gives its process id.
pub(super) fn play_the_child(scene: &Scene) -> u32 {
    let living = scene.collector.progress.live_count();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "collector::tests::child_that_dies"]).env(CHILD_VARIABLE, &scene.socket);
    let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    wait_until(|| scene.collector.progress.live_count() == living);
    pid
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come to pass");
        std::thread::yield_now();
    }
}

#[test]
fn a_pause_reaches_the_agents_that_are_there_and_those_that_come() {
    let scene = Scene::with_output("%p.ctf", |_| {});
    let first = scene.agent();
    assert!(!first.segment.header().paused());
    scene.collector.pause();
    wait_until(|| first.segment.header().paused());
    assert!(scene.agent().segment.header().paused());
    scene.collector.resume();
    assert!(!scene.agent().segment.header().paused());
}

#[test]
fn a_delayed_recording_begins_paused() {
    let delay = Duration::from_millis(50);
    let scene = Scene::with_output("t.ctf", |options| {
        options.schedule = Schedule { delay, duration: None };
    });
    let agent = scene.agent();
    let was_paused = agent.segment.header().paused();
    wait_until(|| !agent.segment.header().paused());
    let session = scene.only_session();
    let reader = Reader::open(std::fs::File::open(&session.path).unwrap()).unwrap();
    // On a machine that was busy for so long, the agent may have come after the delay.
    assert_eq!(was_paused, reader.info().runtime_params.starts_with("sampling began 0.0"));
}

#[test]
fn a_recording_ends_after_its_duration() {
    let duration = Some(Duration::from_millis(50));
    let scene = Scene::with_output("t.ctf", |options| {
        options.schedule = Schedule { duration, ..Schedule::default() };
    });
    let agent = scene.agent();
    agent.say(0, allocation(0, 8, &[]));
    assert!(scene.collector.wait(Some(Instant::now() + Duration::from_secs(60))));
    wait_until(|| agent.segment.header().stopped());
    assert_eq!(scene.only_session().samples, 1);
}

#[test]
fn a_trace_is_never_longer_than_it_may_be() {
    const LIMIT: u64 = 100_000;
    let scene = Scene::with_output("t.ctf", |options| options.max_size = Some(LIMIT));
    let agent = scene.agent();
    let mut id = 0;
    while !agent.segment.header().stopped() {
        let frames: Vec<u64> = (0..100).map(|depth| id * 1000 + depth).collect();
        agent.say(0, allocation(id, 8, &frames));
        id += 1;
    }
    let session = scene.only_session();
    assert!(session.is_full && session.error.is_none(), "{session:?}");
    assert!(session.bytes > LIMIT / 2 && session.bytes <= LIMIT, "{session:?}");
    assert_eq!(session.path.metadata().unwrap().len(), session.bytes);
    let (lengths, _) = contents(&session.path);
    assert!(lengths.len() > 10 && (lengths.len() as u64) < id);
}

/// An agent that waits for room in a ring when a recording ends has lost nothing that belongs to it.
#[test]
fn what_is_lost_after_the_end_is_not_counted() {
    let scene = Scene::with_output("t.ctf", |options| options.max_size = Some(10_000));
    let agent = scene.agent();
    let header = agent.segment.header();
    header.count_lost(LostReason::RingFull);
    while !header.stopped() {
        agent.say(0, allocation(0, 8, &[]));
    }
    header.count_lost(LostReason::RingFull);
    assert_eq!(scene.only_session().lost, [(LostReason::RingFull, 1)]);
}

#[test]
fn how_it_goes_can_be_asked() {
    let scene = Scene::with_output("t.ctf", |options| {
        options.counters = Some(Duration::from_millis(5));
    });
    let agent = scene.agent();
    agent.say(0, allocation(0, 8, &[]));
    agent.segment.header().count_lost(LostReason::RingFull);
    wait_until(|| {
        let figures = scene.collector.figures();
        let has_all = figures.resident > 0 && figures.lost == 1;
        has_all && (figures.processes, figures.samples) == (1, 1)
    });
    scene.only_session();
}

/// What the agents of this release and of the next ones say, byte by byte: as long as docs/collector.md promises it, they are
/// served. Whoever raises the version serves the last release's agents as well, and adds its hello here.
#[test]
fn agents_of_promised_versions_are_served_and_others_are_told_of() {
    const PROMISED: [u32; 1] = [21];
    let (events, inbox) = mpsc::sync_channel(9);
    let scene = Scene::with_output("t.%p.ctf", |options| {
        options.standing = Some(Standing { admits: crate::standing::Admits::Own, events });
    });
    let hello = |version: u32, payload: u64| {
        let head = [0x4c54_4841u32, version].map(u32::to_le_bytes).concat();
        [head, payload.to_le_bytes().to_vec()].concat()
    };
    let answer = |hello: &[u8]| {
        let connection = knock(&scene.socket);
        send(&connection, hello, SendFlags::empty()).unwrap();
        let mut bytes = [0; 64];
        let received =
            rustix::net::recv(&connection, &mut bytes[..], rustix::net::RecvFlags::empty());
        bytes[..received.unwrap().0].to_vec()
    };
    for version in PROMISED {
        // A fresh program, a forked child, and two that were unheard for 7 ms.
        for payload in [0, 1, 4 | 7 << 8, 5 | 7 << 8] {
            let welcome = answer(&hello(version, payload));
            assert_eq!(welcome.len(), 16, "version {version} is not served");
            assert_eq!(welcome[..8], hello(version, 0)[..8]);
            assert_ne!(welcome[8..], [0; 8]);
        }
    }
    assert!(inbox.try_recv().is_err());
    assert!(answer(&hello(7, 0)).is_empty() && answer(b"GET / HTTP/1.1\r\n").is_empty());
    let told = inbox.recv().unwrap();
    let pid = std::process::id();
    assert!(
        matches!(told, crate::standing::Event::OtherVersion { version: 7, pid: it } if it == pid)
    );
    assert!(inbox.try_recv().is_err());
}
