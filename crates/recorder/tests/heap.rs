//! What a heap takes of memory does not depend on how much has been allocated and freed, nor on how many
//! different sizes there were; and it can be looked at all the while.

use std::sync::atomic::{AtomicBool, Ordering};

use lifetrace_recorder::heap::{Heap, Snapshot};
use lifetrace_recorder::{
    Collector, CollectorOptions, Format, Introduction, MOST_FRAMES, Output, Rate, Rates, Schedule,
    Socket, SourceChoice,
};
use lifetrace_transport::message::{Body, SampleId};

use fake::{FakeAgent, allocation};

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

const BACKTRACES: u64 = 20;
const LIVE: u64 = 1000;
const FEW: u64 = 100_000;
const MANY: u64 = 1_000_000;

/// What may be there besides the tables, in bytes: a snapshot that is being looked at.
const SLACK: usize = 1 << 20;

fn options(heap: &Heap) -> CollectorOptions {
    CollectorOptions {
        output: Output::Heap(heap.clone()),
        format: Format::default(),
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
        snapshots: lifetrace_recorder::SnapshotPlan::default(),
        looks_for_lost: false,
        standing: None,
        introduction: Introduction::default(),
    }
}

/// Blocks from `samples`, each of another size, of which a thousand are alive at a time.
fn say(agent: &FakeAgent, samples: std::ops::Range<u64>) {
    for id in samples {
        let size = 1 + id.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 16);
        agent.say(0, allocation(id, size, &[0x1000 + id % BACKTRACES, 0x99]));
        if let Some(old) = id.checked_sub(LIVE) {
            agent.say(0, Body::Release { id: SampleId(old) });
        }
    }
}

fn allocated(snapshot: &Snapshot) -> u64 {
    snapshot.blocks.iter().map(|it| it.allocated.blocks).sum()
}

/// Waits until so many blocks are counted.
fn wait(heap: &Heap, samples: u64) {
    while heap.snapshot(std::process::id()).is_none_or(|it| allocated(&it) < samples) {
        std::thread::yield_now();
    }
}

#[test]
fn a_million_blocks_that_die_leave_nothing() {
    let heap = Heap::new();
    let socket = Socket::bind().unwrap();
    let path = socket.path().to_owned();
    let collector = Collector::start(socket, &options(&heap), None).unwrap();
    let agent = FakeAgent::connect(&path).expect("the agent is welcome");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&heap, &is_over));
        say(&agent, 0..FEW);
        wait(&heap, FEW);
        let few = counting::now();
        say(&agent, FEW..MANY);
        wait(&heap, MANY);
        let many = counting::now();
        is_over.store(true, Ordering::Relaxed);
        let looks = watcher.join().unwrap();
        println!("{FEW} samples: {few} bytes, {MANY}: {many}; {looks} looks meanwhile");
        assert!(many < few + SLACK, "{few} bytes after {FEW} samples, {many} after {MANY}");
        assert!(looks > 10);
    });
    let outcome = collector.finish();
    assert_eq!(outcome.sessions[0].samples, MANY);
}

/// Looks again and again; what it sees is consistent, and says how often it has looked.
fn watch(heap: &Heap, is_over: &AtomicBool) -> u64 {
    let (mut looks, mut seen) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let Some(snapshot) = heap.snapshot(std::process::id()) else { continue };
        for blocks in &snapshot.blocks {
            assert!(blocks.freed.blocks <= blocks.allocated.blocks, "{blocks:?}");
        }
        let live = snapshot.live_samples();
        assert!(live <= LIVE + 1, "{live} blocks are live");
        assert!(allocated(&snapshot) >= seen);
        seen = allocated(&snapshot);
        looks += 1;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    looks
}
