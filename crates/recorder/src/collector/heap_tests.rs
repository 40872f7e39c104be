//! What is live, as a heap counts it and as a trace of the same session has it.

use std::ffi::OsString;
use std::path::Path;

use lifetrace_trace::event::{Event, Source};
use lifetrace_trace::lt::{Item, Reader};
use lifetrace_transport::message::{
    AllocationKind, BacktraceDelta, Body, Frames, SampleId, SourceKind, ThreadId,
};
use lifetrace_transport::segment::LostReason;
use rustc_hash::FxHashMap;

use super::tests::Scene;
use super::*;
use crate::fake::FakeAgent;
use crate::heap::{Heap, Snapshot, Sum};

/// Backtrace, innermost first; heap; whether it is a growth; words of a block.
type Key = (Vec<String>, Source, bool, u64);
type Counts = FxHashMap<Key, (Sum, Sum)>;

fn both(heap: &Heap) -> Scene {
    let into = heap.clone();
    Scene::with_output("t.lt", move |options| {
        let Output::Files(files) = options.output.clone() else { unreachable!("as always") };
        options.format = Format::Lt;
        options.output = Output::Both(files, into);
    })
}

/// An agent that allocates and frees at random: threads, depths, sizes of which there are few.
struct Program<'a> {
    agent: &'a FakeAgent,
    random: u64,
    live: Vec<(u64, u32)>,
    next: u64,
    events: u64,
}

impl Program<'_> {
    fn new(agent: &FakeAgent) -> Program<'_> {
        Program { agent, random: 0x9e37_79b9_7f4a_7c15, live: Vec::new(), next: 0, events: 0 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            if self.live.is_empty() || self.below(5) < 3 {
                self.allocate();
            } else {
                let at = self.below(self.live.len() as u64) as usize;
                let (id, thread) = self.live.swap_remove(at);
                self.say(thread, Body::Release { id: SampleId(id) });
            }
        }
    }

    fn allocate(&mut self) {
        let (thread, managed) = (self.below(3) as u32, self.below(4) == 0);
        let frames: Vec<u64> =
            (0..self.below(5)).map(|at| 0x1000 * (at + 1) + self.random % 3).collect();
        let size = 8 + 16 * self.below(6);
        let body = Body::Allocation {
            id: SampleId(self.next),
            size,
            samples: 1,
            source: if managed { SourceKind::Minor } else { SourceKind::Malloc },
            kind: if !managed && self.below(4) == 0 {
                AllocationKind::Growth
            } else {
                AllocationKind::Plain
            },
            backtrace: BacktraceDelta {
                shared: 0,
                fresh: Frames::Words(&frames),
                truncated: false,
            },
        };
        self.live.push((self.next, thread));
        self.next += 1;
        self.say(thread, body);
    }

    /// A thread has one ring, so that its events stay in order.
    fn say(&mut self, thread: u32, body: Body<'_>) {
        self.events += 1;
        self.agent.say_as(ThreadId(thread), 0, body);
    }
}

/// What has been counted, once that is all of `events`.
fn settled(heap: &Heap, events: u64) -> Snapshot {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let snapshot = heap.snapshot(std::process::id());
        let blocks = snapshot.iter().flat_map(|it| &it.blocks);
        let counted: u64 = blocks.map(|it| it.allocated.blocks + it.freed.blocks).sum();
        if let Some(snapshot) = snapshot.filter(|_| counted == events) {
            return snapshot;
        }
        assert!(counted < events && Instant::now() < deadline, "{counted} of {events} events");
        std::thread::yield_now();
    }
}

fn counts(snapshot: &Snapshot) -> Counts {
    let of = |blocks: &crate::heap::Blocks| {
        let frames = snapshot.frames(blocks.backtrace);
        let names = frames.map(|(_, frame)| frame.locations[0].defname.to_string()).collect();
        let words = blocks.mean_bytes.div_ceil(8);
        ((names, blocks.source, blocks.is_growth, words), (blocks.allocated, blocks.freed))
    };
    snapshot.blocks.iter().map(of).collect()
}

/// What a trace says of each backtrace: how many blocks were allocated and freed.
fn counts_of_trace(path: &Path) -> Counts {
    let mut reader = Reader::open(std::fs::File::open(path).unwrap()).unwrap();
    let (mut counts, mut born) = (Counts::default(), FxHashMap::default());
    while let Some((_, item)) = reader.next().unwrap() {
        let Item::Event(event) = item else { continue };
        match event {
            Event::Allocation(allocation) => {
                let (id, source) = (allocation.id, allocation.source);
                let birth = reader.birth().unwrap();
                let bytes = birth.size.bytes(64).0;
                let codes = reader.backtrace().iter().rev();
                let names: Vec<_> =
                    codes.map(|&code| reader.locations(code)[0].defname.to_string()).collect();
                let is_growth = birth.is_growth;
                let key = (names, source, is_growth, bytes.div_ceil(8));
                counts.entry(key.clone()).or_default().0.add(bytes);
                born.insert(id, (key, bytes));
            }
            Event::Collection(id) => {
                let (key, bytes) = &born[&id];
                counts.get_mut(key).unwrap().1.add(*bytes);
            }
            Event::Promotion(_) => {}
        }
    }
    counts
}

#[test]
fn a_heap_counts_what_the_trace_has() {
    let heap = Heap::new();
    let scene = both(&heap);
    let agent = scene.agent();
    let mut program = Program::new(&agent);
    program.run(20_000);
    let snapshot = settled(&heap, program.events);
    let session = scene.only_session();
    let (counted, traced) = (counts(&snapshot), counts_of_trace(&session.path));
    assert!(counted.len() > 100 && counted.keys().any(|key| key.1 == Source::Minor && !key.2));
    assert_eq!(counted.len(), snapshot.blocks.len(), "a kind is there twice");
    assert_eq!(counted, traced);
    let live: u64 =
        counted.values().map(|(allocated, freed)| allocated.blocks - freed.blocks).sum();
    assert_eq!(live, program.live.len() as u64);
    assert_eq!(heap.snapshots().len(), 0, "the session is over");
}

#[test]
fn what_happened_between_two_snapshots() {
    let heap = Heap::new();
    let scene = both(&heap);
    let agent = scene.agent();
    let mut program = Program::new(&agent);
    program.run(3000);
    let first = settled(&heap, program.events);
    program.run(3000);
    let second = settled(&heap, program.events);
    let between = counts(&second.since(&first).unwrap());
    let (before, after) = (counts(&first), counts(&second));
    for (key, (allocated, freed)) in between {
        let (allocated_before, freed_before) = before.get(&key).copied().unwrap_or_default();
        assert_eq!(after[&key], (sum(allocated_before, allocated), sum(freed_before, freed)));
    }
    let nothing = second.since(&second).unwrap();
    assert!(nothing.blocks.iter().all(|it| it.allocated.blocks + it.freed.blocks == 0));
    assert!(first.since(&second).is_none(), "the other way round");
}

fn sum(one: Sum, other: Sum) -> Sum {
    Sum { blocks: one.blocks + other.blocks, bytes: one.bytes + other.bytes }
}

#[test]
fn a_heap_alone_leaves_no_file() {
    let heap = Heap::new();
    let into = heap.clone();
    let scene = Scene::with_output("unused", |options| options.output = Output::Heap(into));
    let agent = scene.agent();
    let mut program = Program::new(&agent);
    program.run(1000);
    agent.segment.header().count_lost(LostReason::RingFull);
    let snapshot = settled(&heap, program.events);
    assert_eq!(snapshot.live_samples(), program.live.len() as u64);
    assert_eq!(snapshot.samplers.len(), 1);
    assert_eq!(*snapshot.executable, *std::env::current_exe().unwrap());
    assert!(snapshot.from <= snapshot.until);
    let files = scene.files();
    let session = scene.only_session();
    assert_eq!((files, session.path.as_os_str()), (0, "".as_ref()));
    assert_eq!((session.events, session.bytes), (program.events, 0));
    assert!(session.error.is_none());
}

#[test]
fn no_template_is_needed_for_a_heap_alone() {
    let options = |output| CollectorOptions { output, ..super::tests::defaults() };
    let nowhere = OsString::from("/no/such/folder/%p.lt");
    let program = "sh";
    assert!(options(Output::Heap(Heap::new())).check(program).is_ok());
    assert!(options(Output::Both(nowhere, Heap::new())).check(program).is_err());
}
