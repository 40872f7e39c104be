//! Messages in, the events that a reader of the trace sees out.

use std::cell::RefCell;
use std::rc::Rc;

use lifetrace_trace::event::{Event, GROWTH, TraceInfo, growth_location};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp};
use lifetrace_trace::memtrace::Reader;
use lifetrace_transport::message::{AllocationKind, Frames, Module, ThreadId};
use lifetrace_transport::sources::Sources;

use super::*;
use crate::samplers::tests::NATIVE;
use crate::sink::Memtrace;

/// A trace in memory.
#[derive(Clone, Default)]
pub(super) struct Output(Rc<RefCell<Vec<u8>>>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Outermost frame first: names joined by spaces.
type Seen = (u64, String);

pub(super) struct Scene {
    pub(super) assembler: Assembler,
    output: Output,
    time: u64,
}

impl Scene {
    fn new() -> Scene {
        let begin = |output: Output, info: &TraceInfo| -> Box<dyn Sink> {
            Box::new(Memtrace::begin(output, info).unwrap())
        };
        Scene::with(NATIVE, begin)
    }

    pub(super) fn with(
        sources: Sources,
        begin: impl FnOnce(Output, &TraceInfo) -> Box<dyn Sink>,
    ) -> Scene {
        let process = ProcessImage::read(rustix::process::getpid());
        let info = TraceInfo {
            sample_rate: 1.0,
            word_bits: 64,
            executable_name: "test".into(),
            host_name: "host".into(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        let symbolizer = Arc::new(Symbolizer::start().unwrap());
        let output = Output::default();
        let sink = begin(output.clone(), &info);
        let samplers = Samplers::of(&sources);
        let assembler = Assembler::new(sink, Anchor::now(), samplers, symbolizer, process);
        Scene { assembler, output, time: crate::clock::monotonic_now().0 }
    }

    pub(super) fn say(&mut self, thread: u32, body: Body<'_>) {
        self.time += 1000;
        let time = MonotonicNanos(self.time);
        self.assembler.apply(&Message { time, thread: ThreadId(thread), body }).unwrap();
    }

    /// `fresh` is innermost first, as on the wire.
    fn allocate(&mut self, thread: u32, id: u64, shared: u32, fresh: &[u64], truncated: bool) {
        let backtrace = BacktraceDelta { shared, fresh: Frames::Words(fresh), truncated };
        let source = SourceKind::Malloc;
        let (id, size) = (SampleId(id), 10);
        self.say(
            thread,
            Body::Allocation {
                id,
                size,
                samples: 1,
                source,
                kind: AllocationKind::Plain,
                backtrace,
            },
        );
    }

    fn load(&mut self, start: u64, end: u64, path: &str) {
        let (bias, path) = (start, path.as_bytes());
        self.say(0, Body::ModuleLoaded(Module { bias, start, end, build_id: b"\x01", path }));
    }

    pub(super) fn trace(self) -> Vec<u8> {
        self.trace_until(MonotonicNanos(0))
    }

    fn trace_until(self, end: MonotonicNanos) -> Vec<u8> {
        self.assembler.finish(end).unwrap();
        self.output.0.take()
    }

    /// The backtraces of all allocations, with their lengths in words.
    fn allocations(self) -> Vec<Seen> {
        let trace = self.trace();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let mut seen = Vec::new();
        let mut backtraces = Vec::new();
        while let Some((_, event)) = reader.next().unwrap() {
            if let Event::Allocation(allocation) = event {
                backtraces.push((allocation.length.0, allocation.backtrace.to_vec()));
            }
        }
        for (length, codes) in backtraces {
            let names = codes.iter().flat_map(|&code| reader.locations(code));
            let names: Vec<_> = names.map(|location| location.defname.to_string()).collect();
            seen.push((length, names.join(" ")));
        }
        seen
    }
}

#[test]
fn frames_are_named_by_their_calls_outermost_first() {
    let mut scene = Scene::new();
    scene.load(0x1000, 0x2000, "/no/liba.so");
    scene.load(0x5000, 0x6000, "/no/libb.so.1");
    scene.allocate(1, 0, 0, &[0x1011, 0x5021, 0x2000, 0x9001], false);
    let expected = "0x9000 liba.so+0xfff libb.so.1+0x20 liba.so+0x10";
    assert_eq!(scene.allocations(), [(2, expected.into())]);
}

#[test]
fn each_thread_has_its_own_previous_backtrace() {
    let mut scene = Scene::new();
    scene.allocate(1, 0, 0, &[0x13, 0x12, 0x11], false);
    scene.allocate(2, 1, 0, &[0x22, 0x21], false);
    scene.allocate(1, 2, 2, &[0x14], false);
    scene.allocate(2, 3, 1, &[0x24, 0x23], false);
    scene.allocate(2, 4, 3, &[], false);
    scene.allocate(2, 5, 1, &[], false);
    scene.allocate(2, 6, 0, &[0x31], false);
    let seen: Vec<String> = scene.allocations().into_iter().map(|(_, names)| names).collect();
    assert_eq!(
        seen,
        [
            "0x10 0x11 0x12",
            "0x20 0x21",
            "0x10 0x11 0x13",
            "0x20 0x22 0x23",
            "0x20 0x22 0x23",
            "0x20",
            "0x30"
        ]
    );
}

#[test]
fn a_truncated_backtrace_says_so_at_its_root() {
    let mut scene = Scene::new();
    scene.allocate(1, 0, 0, &[0x12, 0x11], true);
    scene.allocate(1, 1, 1, &[0x13], true);
    scene.allocate(1, 2, 1, &[0x14], false);
    let seen: Vec<String> = scene.allocations().into_iter().map(|(_, names)| names).collect();
    let marker = "[truncated backtrace]";
    assert_eq!(
        seen,
        [format!("{marker} 0x10 0x11"), format!("{marker} 0x10 0x12"), "0x10 0x13".into()]
    );
}

#[test]
fn a_delta_to_frames_that_were_never_sent_is_survived() {
    let mut scene = Scene::new();
    scene.allocate(1, 0, 40, &[0x11], false);
    scene.allocate(1, 1, u32::MAX, &[0x12], false);
    scene.allocate(1, 2, 0, &[0x22, 0x21], false);
    let seen: Vec<String> = scene.allocations().into_iter().map(|(_, names)| names).collect();
    let marker = "[truncated backtrace]";
    assert_eq!(seen, [format!("{marker} 0x10"), format!("{marker} 0x10 0x11"), "0x20 0x21".into()]);
}

#[test]
fn modules_at_the_same_place_do_not_mix() {
    let mut scene = Scene::new();
    scene.load(0x1000, 0x2000, "/no/liba.so");
    scene.allocate(1, 0, 0, &[0x1101], false);
    scene.say(1, Body::ModuleUnloaded { start: 0x1000 });
    scene.allocate(1, 1, 0, &[0x1101], false);
    scene.load(0x1000, 0x2000, "/no/libb.so");
    scene.allocate(1, 2, 0, &[0x1101], false);
    let seen: Vec<String> = scene.allocations().into_iter().map(|(_, names)| names).collect();
    assert_eq!(seen, ["liba.so+0x100", "0x1100", "libb.so+0x100"]);
}

#[test]
fn lives_are_joined_by_ids() {
    let mut scene = Scene::new();
    scene.allocate(1, 100, 0, &[0x11], false);
    scene.allocate(2, 50, 0, &[0x11], false);
    for id in [7, 50, 50] {
        scene.say(3, Body::Release { id: SampleId(id) });
    }
    for id in [50, 100] {
        scene.say(3, Body::Promotion { id: SampleId(id) });
    }
    scene.say(1, Body::Exiting);
    assert_eq!(scene.assembler.counts(), Counts { samples: 2, allocated: 32, events: 4 });
    let trace = scene.trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut events = Vec::new();
    while let Some((_, event)) = reader.next().unwrap() {
        events.push(match event {
            Event::Allocation(allocation) => format!("+{}", allocation.id.0),
            Event::Promotion(id) => format!("^{}", id.0),
            Event::Collection(id) => format!("-{}", id.0),
        });
    }
    assert_eq!(events, ["+0", "+1", "-1", "^0"]);
}

#[test]
fn bytes_become_whole_words() {
    let mut scene = Scene::new();
    for (id, size) in [0u64, 1, 8, 9, u64::MAX].into_iter().enumerate() {
        let backtrace = BacktraceDelta { shared: 0, fresh: Frames::Words(&[]), truncated: false };
        let (id, source) = (SampleId(id as u64), SourceKind::Malloc);
        scene.say(
            1,
            Body::Allocation {
                id,
                size,
                samples: 1,
                source,
                kind: AllocationKind::Plain,
                backtrace,
            },
        );
    }
    let lengths: Vec<u64> = scene.allocations().into_iter().map(|(length, _)| length).collect();
    assert_eq!(lengths, [0, 1, 1, 2, 1 << 61]);
}

#[test]
fn notices_are_kept_for_the_user() {
    let mut scene = Scene::new();
    for _ in 0..2 {
        scene.say(1, Body::Notice { code: b"own-allocator" });
    }
    assert_eq!(scene.assembler.notices(), [Notice::OwnAllocator]);
}

/// A format that has room for facts and nothing else.
#[derive(Clone, Default)]
struct Facts(Rc<RefCell<Vec<Fact>>>);

impl Sink for Facts {
    fn switch(&mut self, _thread: ids::ThreadId) {}

    fn allocation(
        &mut self,
        _time: Timestamp,
        _birth: &Birth<'_>,
        _locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        Ok(AllocationId(0))
    }

    fn promotion(&mut self, _time: Timestamp, _id: AllocationId) -> io::Result<()> {
        Ok(())
    }

    fn collection(&mut self, _time: Timestamp, _id: AllocationId) -> io::Result<()> {
        Ok(())
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) -> io::Result<()> {
        self.0.borrow_mut().push(fact.clone());
        Ok(())
    }

    fn flush(&mut self, _time: Timestamp) -> io::Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, _time: Timestamp) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn facts_reach_the_sink_and_counters_have_the_allocators_totals() {
    let facts = Facts::default();
    let mut scene = Scene::new();
    scene.assembler.sink = Box::new(facts.clone());
    let counters = Counters { resident: Some(Bytes(4096)), ..Counters::default() };
    scene.load(0x1000, 0x2000, "/no/liba.so");
    scene.assembler.fact(MonotonicNanos(scene.time), &Fact::Counters(counters)).unwrap();
    scene.say(1, Body::AllocatorTotals { in_use: 70, held: 90 });
    scene.assembler.fact(MonotonicNanos(scene.time), &Fact::Counters(counters)).unwrap();
    let module = fact::Module {
        number: 0,
        start: 0x1000,
        end: 0x2000,
        bias: 0x1000,
        build_id: vec![1],
        path: "/no/liba.so".into(),
    };
    let (in_use, held) = (Some(Bytes(70)), Some(Bytes(90)));
    let joined = Counters { allocator_in_use: in_use, allocator_held: held, ..counters };
    let expected = [Fact::Module(module), Fact::Counters(counters), Fact::Counters(joined)];
    assert_eq!(*facts.0.borrow(), expected);
}

/// More places than are kept, in backtraces that go on.
#[test]
fn backtraces_survive_the_renewal_of_places() {
    const COUNT: u64 = 200_000;
    let mut scene = Scene::new();
    scene.allocate(1, 0, 0, &[0x13, 0x12, 0x11], false);
    for id in 1..COUNT {
        scene.allocate(2, id, 0, &[0x10_0001 + id * 16], false);
    }
    scene.allocate(1, COUNT, 2, &[0x15, 0x14], false);
    let seen = scene.allocations();
    assert_eq!(seen[0].1, "0x10 0x11 0x12");
    assert_eq!(seen[COUNT as usize - 1].1, format!("{:#x}", 0x10_0000 + (COUNT - 1) * 16));
    assert_eq!(seen[COUNT as usize].1, "0x10 0x11 0x13 0x14");
}

#[test]
fn a_thread_number_that_comes_again_is_another_thread() {
    let mut scene = Scene::new();
    scene.allocate(1, 0, 0, &[0x12, 0x11], false);
    scene.say(1, Body::ThreadEnded);
    scene.allocate(1, 1, 0, &[0x21], false);
    let seen: Vec<String> = scene.allocations().into_iter().map(|(_, names)| names).collect();
    assert_eq!(seen, ["0x10 0x11", "0x20"]);
}

#[test]
fn a_trace_without_events_is_as_long_as_the_process_lived() {
    let scene = Scene::new();
    let end = MonotonicNanos(scene.time + 3_000_000_000);
    let expected = scene.assembler.anchor.wall(end);
    let trace = scene.trace_until(end);
    let mut reader = Reader::open(&trace[..]).unwrap();
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.end_time(), expected);
}

#[test]
fn a_growth_has_one_more_frame_and_leaves_the_next_backtrace_alone() {
    let mut scene = Scene::new();
    scene.allocate(1, 1, 0, &[0x20, 0x10], false);
    let fresh = [];
    let backtrace = BacktraceDelta { shared: 2, fresh: Frames::Words(&fresh), truncated: false };
    let (id, source) = (SampleId(2), SourceKind::Malloc);
    scene.say(
        1,
        Body::Allocation {
            id,
            size: 8,
            samples: 1,
            source,
            kind: AllocationKind::Growth,
            backtrace,
        },
    );
    scene.allocate(1, 3, 2, &[], false);

    let trace = scene.trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut seen = Vec::new();
    while let Some((_, event)) = reader.next().unwrap() {
        let Event::Allocation(allocation) = event else { continue };
        seen.push((allocation.is_growth(), allocation.backtrace.len(), allocation.common_prefix));
    }
    assert_eq!(seen, [(false, 2, 0), (true, 3, 2), (false, 2, 2)]);
    assert_eq!(reader.locations(GROWTH), [growth_location()]);
}
