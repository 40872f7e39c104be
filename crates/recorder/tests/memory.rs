//! What the recorder takes of memory, however long and odd the recording: 64 MiB.
//!
//! An agent that is played by this process says what a large program would say in days. It has
//! thousands of threads, half of which end without a word; deep stacks; code that is made as it runs,
//! at ever new addresses; libraries without build ids that come and go. All that this process allocates
//! is counted, the agent's own little included.
//!
//! `LIFETRACE_FLOOD` is the number of samples, 1 million if it is not set.

use std::collections::VecDeque;

use lifetrace_recorder::{
    Collector, CollectorOptions, Format, Output, Rate, Rates, Schedule, Socket, SourceChoice,
};
use lifetrace_transport::message::{
    AllocationKind, BacktraceDelta, Body, Frames, Module, SampleId, SourceKind, ThreadId,
};

use fake::FakeAgent;

#[allow(dead_code, reason = "shared with the library's own tests")]
#[path = "../src/clock.rs"]
mod clock;
#[allow(dead_code, reason = "shared with another test")]
mod counting;
#[allow(dead_code, reason = "shared with the library's own tests")]
#[path = "../src/fake.rs"]
mod fake;
#[allow(dead_code, reason = "shared with the library's own tests")]
#[path = "../src/shm.rs"]
mod shm;

/// The promise, less what the segment, stacks of threads and the program itself take.
const MOST: usize = 52 << 20;

const THREADS: u32 = 4000;
const DEEP: usize = 2000;
/// Samples between two generations of threads.
const GENERATION: u64 = 100_000;
/// Blocks that are alive at a time, as in a heap of 100 GB at the default interval.
const LIVE: usize = 200_000;

#[test]
fn days_of_recording_fit_into_64_mib() {
    let samples = std::env::var("LIFETRACE_FLOOD").map_or(1_000_000, |text| text.parse().unwrap());
    let socket = Socket::bind().unwrap();
    let path = socket.path().to_owned();
    let collector = Collector::start(socket, &options(), None).unwrap();
    let agent = FakeAgent::connect(&path).expect("the agent is welcome");
    Flood::new(&agent).run(samples);
    let outcome = collector.finish();
    assert_eq!(outcome.sessions[0].samples, samples);
    let peak = counting::peak();
    println!("{samples} samples, peak {:.1} MiB", peak as f64 / (1 << 20) as f64);
    assert!(peak < MOST, "{peak} bytes");
}

fn options() -> CollectorOptions {
    CollectorOptions {
        output: Output::Files("/dev/null".into()),
        format: Format::Lt,
        labels: Vec::new(),
        keep_empty: true,
        native_frames: false,
        small_objects: true,
        snapshots: lifetrace_recorder::SnapshotPlan::default(),
        looks_for_lost: false,
        standing: None,
        introduction: lifetrace_recorder::Introduction::default(),
        overwrite: false,
        sources: SourceChoice::Native,
        rates: Rates::all(Rate::from_interval(512 << 10).unwrap()),
        stack_limit: 8192,
        seed: 1,
        follow_children: true,
        schedule: Schedule::default(),
        max_size: None,
        counters: Some(std::time::Duration::from_millis(100)),
    }
}

/// What the agent says, and what it must remember for that.
struct Flood<'a> {
    agent: &'a FakeAgent,
    live: VecDeque<u64>,
    first_thread: u32,
    /// Grows: the next address at which code is made.
    fresh: u64,
}

impl Flood<'_> {
    fn new(agent: &FakeAgent) -> Flood<'_> {
        Flood { agent, live: VecDeque::with_capacity(LIVE + 1), first_thread: 1, fresh: 1 << 40 }
    }

    fn run(&mut self, samples: u64) {
        for id in 0..samples {
            if id % GENERATION == 0 {
                self.begin_generation();
            }
            if id % 1000 == 0 {
                self.replace_library(id / 1000);
            }
            let thread = self.first_thread + (id % u64::from(THREADS)) as u32;
            self.allocate(ThreadId(thread), id);
            self.live.push_back(id);
            if self.live.len() > LIVE
                && let Some(oldest) = self.live.pop_front()
            {
                self.say(ThreadId(thread), Body::Release { id: SampleId(oldest) });
            }
        }
    }

    /// New threads, each with a deep stack; of the old ones, every other one says goodbye.
    fn begin_generation(&mut self) {
        let old = self.first_thread..self.first_thread + THREADS;
        for thread in old.clone().step_by(2) {
            self.say(ThreadId(thread), Body::ThreadEnded);
        }
        self.first_thread = old.end;
        for thread in old.end..old.end + THREADS {
            self.say(ThreadId(thread), Body::ThreadStarted { os_id: u32::MAX });
        }
    }

    /// Loads a library in the place of the last one.
    fn replace_library(&mut self, number: u64) {
        let path = format!("/no/such/library-{number}.so");
        let (start, end, bias) = (0x10_0000, 0x20_0000, 0x10_0000);
        let module = Module { bias, start, end, build_id: b"", path: path.as_bytes() };
        self.say(ThreadId(self.first_thread), Body::ModuleUnloaded { start });
        self.say(ThreadId(self.first_thread), Body::ModuleLoaded(module));
    }

    /// A thread's first backtrace is deep; later ones share most of it.
    fn allocate(&mut self, thread: ThreadId, id: u64) {
        let is_first = id % GENERATION < u64::from(THREADS);
        let mut frames = vec![self.fresh, self.fresh + 8, 0x10_0010 + id % 16];
        self.fresh += 16;
        let shared = if is_first { 0 } else { (DEEP - frames.len()) as u32 };
        if is_first {
            frames.extend((frames.len()..DEEP).map(|depth| 0x5000_0000 + depth as u64 * 16));
        }
        let fresh = Frames::Words(&frames);
        let backtrace = BacktraceDelta { shared, fresh, truncated: false };
        let (id, source) = (SampleId(id), SourceKind::Malloc);
        let body = Body::Allocation {
            id,
            size: 64,
            samples: 1,
            source,
            kind: AllocationKind::Plain,
            backtrace,
        };
        self.say(thread, body);
    }

    fn say(&self, thread: ThreadId, body: Body<'_>) {
        self.agent.say_as(thread, thread.0 as usize % 4, body);
    }
}
